"""Shared tiles of what a kernel reads and writes: the arrays of a block's tile, for as long as the kernel runs.

before: for (t) { barrier; B[i] = f(A[i - 1], A[i + 1]); barrier; A[i] = f(B[i - 1], B[i + 1]); }
after:  A_tile[..] = A[..]; B_tile[..] = B[..]; barrier;
        for (t) { B_tile[..] = f(A_tile[..], ..); barrier; A_tile[..] = f(B_tile[..], ..); barrier; }
        A[..] = A_tile[..]; B[..] = B_tile[..];

Filled is what the block reads before it writes it, drained is what it writes: as the schedule is legal, no other block
of the launch writes the former, nor uses the latter. Grosser et al. 2013 keep the values of split tiles like that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf

import islpy as isl

from polytile.ir.cell_layout import Layout
from polytile.ir.isl_util import maps
from polytile.ir.loop_places import HOST_LOOP, LabelledLoop
from polytile.ir.memory import Space
from polytile.ir.place_quotients import without_place_quotients
from polytile.ir.plan import Owner, Placement
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences
from polytile.scheduling.promotion.bank_conflicts import WarpReads, lane_steps, layout_for
from polytile.scheduling.promotion.footprint_boxes import IN, OUT, Box, box_around, box_elements
from polytile.scheduling.promotion.reference_tiles import (
    USES,
    Footprint,
    Reference,
    ReferenceTile,
    cell_text,
    copy_of,
    references_in,
    with_names,
)
from polytile.tuning import PromotionTuning

WRITES = (AccessKind.WRITE, AccessKind.MAY_WRITE)
MOST_PIECES = 6  # of what is filled: each is a condition of every element


@dataclass(frozen=True, slots=True)
class UpdatedTile:
    """A tile of an array that a kernel reads and writes, what is copied of it, `{ [place] -> A[..] }`, and how the
    lanes of warps read it."""

    tile: ReferenceTile
    filled: isl.Map = field(compare=False)
    drained: isl.Map = field(compare=False)
    reads: tuple[WarpReads, ...]

    @property
    def layout(self) -> Layout:
        return layout_for(self.tile.box, self.reads, self.tile.array.element.size)

    @property
    def bytes(self) -> int:
        return self.layout.size(self.tile.box.extents) * self.tile.array.element.size


def updated_tiles(
    scop: Scop,
    loops: Sequence[LabelledLoop],
    arrays: Collection[str],
    taken: Collection[tuple[str, int]],
    dependences: Dependences,
    shared_memory: int,
    tuning: PromotionTuning,
) -> Iterator[UpdatedTile]:
    """Tiles of arrays that the first of the loops, the whole kernel, reads and writes, in no more memory than there is,
    most used elements first."""
    whole = loops[0]
    references = references_in(scop, whole)
    if any(part.dim(isl.dim_type.div) for r in references for part in r.access.relation.get_basic_maps()):
        return  # kernels with cells have linear subscripts
    everything = [r for r in references if r.access.array in arrays]
    found: list[UpdatedTile] = []
    for array in dict.fromkeys(r.access.array for r in everything):
        own = [r for r in everything if r.access.array == array]
        if {True, False} <= {r.access.writes for r in own} and not any(r.use in taken for r in own):
            tile = _tile(scop, whole, own, dependences.of(array))
            found += [tile] if tile is not None and _reuse(tile) >= tuning.tile_updates else []
    for tile in sorted(found, key=lambda each: -_reuse(each)):
        if tile.bytes <= shared_memory:
            shared_memory -= tile.bytes
            yield tile


def _reuse(tile: UpdatedTile) -> float:
    return inf if tile.tile.reuse is None else float(tile.tile.reuse)


def _tile(
    scop: Scop, whole: LabelledLoop, references: Sequence[Reference], dependences: ArrayDependences
) -> UpdatedTile | None:
    """The tile of these references to an array, which are all in the kernel; none where no box has constant extents, or
    nothing is read that the tile itself wrote."""
    accesses = [found for r in references if (found := _accesses(r, whole, scop)) is not None]
    if len(accesses) < len(references):
        return None
    box = box_around(_united([a.full for a in accesses]))
    kept = _Kept(tuple(accesses), dependences, sum(role == HOST_LOOP for role in whole.roles))
    if box is None or all(kept.covered(a).is_empty() for a in accesses):
        return None
    there = _places(whole)
    filled, drained = (m.gist_domain(there) for m in (_with_few_pieces(kept, box, scop), kept.written(*WRITES)))
    footprints = tuple(Footprint(a.reference, a.full, a.full_executions) for a in accesses)
    tile = ReferenceTile(scop.array(references[0].access.array), whole, Owner.BLOCK, footprints, box)
    reads = [lane_steps(r, whole) for r in references]
    warps = tuple(WarpReads(step, whole.kernel.sizes) for step in reads if step is not None)
    return UpdatedTile(tile, filled, drained, warps)


def _places(whole: LabelledLoop) -> isl.Set:
    """Where blocks run anything."""
    found = [without_place_quotients(placed.reverse()).domain() for placed in maps(whole.places(Owner.BLOCK))]
    return reduce(lambda total, part: total.union(part), found).coalesce()


def _accesses(reference: Reference, whole: LabelledLoop, scop: Scop) -> _Accesses | None:
    placed = reference.placed(whole.places(Owner.BLOCK))
    if placed is None:
        return None
    executions = with_names(placed.intersect_domain(reference.instances).reverse(), whole, Owner.BLOCK)
    executions = without_place_quotients(executions)
    domain = reference.statement.domain.intersect_params(scop.context)
    return _Accesses(reference, executions, executions.gist_range(domain))


def _united(parts: Sequence[isl.Map]) -> isl.Map:
    return reduce(lambda total, part: total.union(part), parts).coalesce()


def _with_few_pieces(kept: _Kept, box: Box, scop: Scop) -> isl.Map:
    """What must be filled, or more, where that has fewer conditions: what a tile fills that no domain cuts, with what
    nothing ever writes; or the whole box. No block of a launch may write what others fill."""
    exact, written = kept.filled, kept.written(*WRITES)
    if _is_simple(exact):
        return exact
    array = frozenset((kept.accesses[0].reference.access.array,))
    used, changed = (scop.accesses(*kinds, arrays=array).intersect_params(scop.context) for kinds in (USES, WRITES))
    space = exact.range().get_space()
    known, constant = used.range().extract_set(space), used.range().subtract(changed.range()).extract_set(space)
    inside = box_elements(box)
    full = kept.full.filled.union(inside.intersect_range(constant))
    for candidate in (full.intersect(inside), inside):
        found = candidate.intersect_range(known.coalesce()).coalesce()
        if _is_simple(found) and exact.is_subset(found) and _is_apart(found, written, kept.hosts):
            return found
    return exact


def _is_simple(elements: isl.Map) -> bool:
    parts = elements.get_basic_maps()
    return len(parts) <= MOST_PIECES and all(part.dim(isl.dim_type.div) == 0 for part in parts)


def _is_apart(filled: isl.Map, written: isl.Map, hosts: int) -> bool:
    """Whether no block fills what another one of the same launch writes."""
    both = filled.apply_range(written.reverse())
    for k in range(hosts):
        both = both.equate(IN, k, OUT, k)
    return bool(both.is_subset(isl.Map.identity(both.get_space())))


@dataclass(frozen=True, slots=True)
class _Accesses:
    """What a reference uses at each place: `executions`, `{ [place] -> S[i] }`, and `full_executions`, those of tiles
    that the bounds of the domain do not cut."""

    reference: Reference
    executions: isl.Map = field(compare=False)
    full_executions: isl.Map = field(compare=False)
    unbounded: bool = False

    @property
    def relation(self) -> isl.Map:
        access = self.reference.access.relation
        return access.gist_domain(access.domain()) if self.unbounded else access

    @property
    def kind(self) -> AccessKind:
        return self.reference.access.kind

    @property
    def elements(self) -> isl.Map:
        return self.executions.apply_range(self.relation)

    @property
    def full(self) -> isl.Map:
        return replace(self, executions=self.full_executions, unbounded=True).elements

    @property
    def by_execution(self) -> isl.Map:
        """`{ [place] -> [S[i] -> A[e]] }`."""
        return self.executions.apply_range(self.relation.domain_map().reverse())


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the accesses of a tile find in it, and what they leave there."""

    accesses: tuple[_Accesses, ...]
    dependences: ArrayDependences
    hosts: int

    @property
    def full(self) -> _Kept:
        """The same of tiles that the bounds of domains do not cut."""
        full = tuple(replace(a, executions=a.full_executions, unbounded=True) for a in self.accesses)
        return replace(self, accesses=full)

    def written(self, *kinds: AccessKind) -> isl.Map:
        none = isl.Map.empty(self.accesses[0].elements.get_space())
        return _united([none, *(a.elements for a in self.accesses if a.kind in kinds)])

    @property
    def filled(self) -> isl.Map:
        """What is read, or may be drained, but was not written in the tile before."""
        missing = [self._read_from_outside(a) for a in self.accesses if a.kind is AccessKind.READ]
        unsure = self.written(AccessKind.MAY_WRITE).subtract(self.written(AccessKind.WRITE))
        return _united([unsure, *missing])

    def _read_from_outside(self, access: _Accesses) -> isl.Map:
        left = isl.UnionMap.from_map(access.by_execution).subtract(self.covered(access))
        return _united([isl.Map.empty(access.elements.get_space()), *(m.range_factor_range() for m in maps(left))])

    def covered(self, access: _Accesses) -> isl.UnionMap:
        """`{ [place] -> [S[i] -> A[e]] }`: the reads that find what the tile wrote itself."""
        total = isl.UnionMap("{ }")
        if access.kind is not AccessKind.READ or not self.dependences.exact:
            return total
        element = isl.UnionSet.identity(isl.UnionSet.from_set(access.elements.range()))
        reads = isl.UnionMap.from_map(access.by_execution)
        flow = self.dependences.flow.intersect_range(isl.UnionSet.from_set(access.executions.range()))
        for writer in (a for a in self.accesses if a.kind is AccessKind.WRITE):
            written = isl.UnionMap.from_map(writer.by_execution)
            total = total.union(written.apply_range(flow.product(element)))
        return total.intersect(reads)


def updated_placement(name: str, updated: UpdatedTile) -> Placement:
    """The placement of a tile."""
    tile = updated.tile
    return Placement(
        name,
        tile.array.name,
        tile.uses,
        tile.loop.label,
        Space.SHARED,
        Owner.BLOCK,
        cell_text(tile),
        tile.box.extents,
        updated.layout,
        fill=copy_of(tile, updated.filled),
        drain=copy_of(tile, updated.drained),
    )
