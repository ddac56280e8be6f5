"""The proof that a block may keep an array in a tile for a whole launch, from what its blocks use alone.

The tree without the tile is legal: executions that meet in an element are in an order that the GPU keeps. A tile of a
block for its whole kernel, with all uses of the array there, changes no value if for each block

- every element that it uses has a cell of its own, within the extents;
- each read finds its element filled, or surely written by the block before;
- it drains what it writes, and of all that it drains nothing that it may have left unset: what it filled and did not
  write goes back as it was;
- it fills elements that there are, and no other block of the launch fills or drains what it drains.

Then what memory holds is the same before each launch, by induction: in a launch, the values of an element change by the
uses of one block, the cell takes part in them as the element would, in the same order, and the drain brings it back.
What nobody writes in a launch has the same value before and behind it, whether a block brings it back or not.

before: the values of A through cells, over all launches and blocks: minutes for tiles of many steps
after:  { [h, b] -> A[i] } read, written, filled, drained: some hundredths of a second
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.bounding_box import bounding_box
from polytile.ir.isl_util import maps
from polytile.ir.loop_places import HOST_LOOP, LabelledLoop
from polytile.ir.place_quotients import without_place_quotients
from polytile.ir.plan import WHOLE_KERNEL, Copy, KernelPlan, Owner, Placement, relation
from polytile.ir.scop import AccessKind, AccessRelation, Scop
from polytile.scheduling.analysis.dependences import array_values
from polytile.scheduling.proof.storage import Failure

IN = isl.dim_type.in_
READ, WRITE, MAY_WRITE = AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE
Loops = dict[tuple[int, str], LabelledLoop]


def keeps_whole_kernel(scop: Scop, plan: KernelPlan, placement: Placement, loops: Loops) -> bool:
    """Return whether a placement is of the kind that this proof is about."""
    whole = loops.get((plan.kernel, WHOLE_KERNEL))
    plain = all((c.at, c.ahead, c.mode) == (WHOLE_KERNEL, 0, "plain") for c in placement.copies)
    ours = placement.level == WHOLE_KERNEL and placement.owner is Owner.BLOCK and bool(placement.copies)
    if whole is None or not plain or not ours or placement.through or len(plan.placed(placement.array)) > 1:
        return False
    statements = {m.get_tuple_name(IN) for m in maps(whole.iterations)}
    uses = [(s.name, n) for s in scop.statements for n, _ in _accesses(s.accesses, placement.array)]
    return not placement.uses or all(use in placement.uses for use in uses if use[0] in statements)


def _accesses(accesses: tuple[AccessRelation, ...], array: str) -> Iterator[tuple[int, AccessRelation]]:
    """Yield the accesses to an array that read or write, with their numbers."""
    kinds = (READ, WRITE, MAY_WRITE)
    return ((n, a) for n, a in enumerate(accesses) if a.array == array and a.kind in kinds)


def wrong_kernel_tile(scop: Scop, placement: Placement, whole: LabelledLoop) -> list[Failure]:
    """Return why such a placement is not proven to keep the array's values; empty is the proof."""
    return list(_Tile.of(scop, placement, whole).failures())


@dataclass(frozen=True, slots=True)
class _Use:
    """An access at each place, `{ [place] -> [S[i] -> A[e]] }`."""

    kind: AccessKind
    pairs: isl.Map = field(compare=False)

    @property
    def elements(self) -> isl.Map:
        return self.pairs.range_factor_range()


@dataclass(frozen=True, slots=True)
class _Tile:
    """All relations are `{ [place] -> A[e] }`, from places where the kernel runs, or, of copies, that their elements
    name: blocks that run nothing else may copy. `hosts` of the coordinates of a place tell launches apart."""

    scop: Scop
    placement: Placement
    hosts: int
    flow: isl.UnionMap = field(compare=False)  # of values, from instance to instance; a part of it
    uses: tuple[_Use, ...]
    filled: isl.Map = field(compare=False)
    drained: isl.Map = field(compare=False)

    @classmethod
    def of(cls, scop: Scop, placement: Placement, whole: LabelledLoop) -> _Tile:
        uses = []
        for placed in maps(whole.places(Owner.BLOCK)):
            statement = scop.statement(placed.get_tuple_name(IN))
            domain = statement.domain.intersect_params(scop.context)
            executions = without_place_quotients(placed.intersect_domain(domain).reverse())
            for _, access in _accesses(statement.accesses, placement.array):
                uses.append(_Use(access.kind, executions.apply_range(access.relation.domain_map().reverse())))
        hosts = sum(role == HOST_LOOP for role in whole.roles)
        copied = [_copied(placement, copy) for copy in (placement.fill, placement.drain)]
        known = array_values(scop, placement.array)
        flow = known.flow if known.exact else isl.UnionMap("{ }")
        return cls(scop, placement, hosts, flow, tuple(uses), *copied)

    def _used(self, *kinds: AccessKind) -> isl.Map:
        total = isl.Map.empty(self.filled.get_space())
        for use in self.uses:
            total = total.union(use.elements) if use.kind in kinds else total
        return total.coalesce()

    def failures(self) -> Iterator[Failure]:
        written, sure = self._used(WRITE, MAY_WRITE), self._used(WRITE)
        used = self._used(READ).union(written)
        yield from self._without_cells(used.union(self.filled).union(self.drained))
        for use in self.uses:
            if use.kind is READ:
                yield from self._wrong("what is read was never written there", self._unset(use))
        yield from self._wrong("what is written is not drained", written.subtract(self.drained))
        unset = self.drained.subtract(sure).subtract(self.filled)
        yield from self._wrong("what is drained was neither filled nor surely written there", unset)
        yield from self._wrong("there is no such element to fill with", self._outside(self.filled))
        met = self._met_by_others(self.drained, self.drained.union(self.filled))
        yield from self._wrong("another block uses what is drained", met)

    def _wrong(self, why: str, wrong: isl.Map) -> Iterator[Failure]:
        if not wrong.is_empty():
            yield Failure(self.placement.array, isl.UnionMap.from_map(wrong), why)

    def _without_cells(self, used: isl.Map) -> Iterator[Failure]:
        name, cell = self.placement.name, relation(self.placement.cell)
        found = used.wrap()
        yield from self._wrong(f"an element has no cell of {name}", found.subtract(cell.domain()).unwrap())
        cells = cell.intersect_domain(found)
        box = isl.Set.universe(cells.range().get_space())
        for k, extent in enumerate(self.placement.extents):
            box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
            box = box.upper_bound_val(isl.dim_type.set, k, isl.Val(extent - 1))
        outside = cells.subtract_range(box).domain().unwrap()
        yield from self._wrong(f"a cell of {name} is outside of its extents", outside)
        owned = cells.curry().range_reverse().uncurry()  # { [[place] -> cell] -> A[e] }
        if not owned.is_single_valued():
            yield from self._wrong(f"two elements have one cell of {name}", used)

    def _unset(self, read: _Use) -> isl.Map:
        """Return what a reference reads that the block has neither filled nor surely written before."""
        filled = self.filled.apply_range(read.pairs.range().unwrap().range_map().reverse())
        left = isl.UnionMap.from_map(read.pairs.subtract(filled))
        element = isl.UnionSet.identity(isl.UnionSet.from_set(read.elements.range()))
        for use in self.uses:
            if use.kind is WRITE and not left.is_empty():
                written = isl.UnionMap.from_map(use.pairs)
                left = left.subtract(written.apply_range(self.flow.product(element)))
        return left.range_factor_range().extract_map(read.elements.get_space())

    def _outside(self, elements: isl.Map) -> isl.Map:
        """Return the elements beyond all that is used anywhere: there may be none."""
        one = frozenset((self.placement.array,))
        used = self.scop.accesses(READ, WRITE, MAY_WRITE, arrays=one).intersect_params(self.scop.context).range()
        return elements.subtract_range(bounding_box(used.extract_set(elements.range().get_space())))

    def _met_by_others(self, mine: isl.Map, theirs: isl.Map) -> isl.Map:
        """Return what blocks use that others of their launch use as well."""
        rank = mine.dim(IN)
        own, other = ([f"{letter}{k}" for k in range(rank)] for letter in "pq")
        same = [f"p{k} = q{k}" for k in range(self.hosts)]
        apart = " or ".join(f"p{k} {sign} q{k}" for k in range(self.hosts, rank) for sign in "<>") or "false"
        text = f"{{ [{', '.join(own)}] -> [{', '.join(other)}] : {' and '.join([*same, f'({apart})'])} }}"
        return mine.intersect(isl.Map(text).apply_range(theirs))


def _copied(placement: Placement, copy: Copy | None) -> isl.Map:
    if copy is None:
        return isl.Map.empty(relation(placement.cell).domain().unwrap().get_space())
    return relation(copy.elements)
