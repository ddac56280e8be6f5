"""The proof that placements carry the right values: one theorem for tiles, rings of planes, accumulators, halos.

Every execution of a mapped tree, copies included (ir/copy_tree.py), reads and writes locations: elements in device
memory, and cells that a block, warp or thread has. For each array that is placed it is shown:

- *values*: each read finds, over locations and in the mapped order, what the instance wrote that the source's order
  says, for the very element. Each element has a first write before everything and, where it is seen afterwards, a last
  read; copies are wires, which pass on what they read;
- *order*: two executions that meet in a location, of which one writes, are in an order that the GPU keeps
  (legality.py). Copies that are dealt out are in no known thread, so that only barriers keep them.
  What is in registers is used by one thread, or by a warp whose lanes run copies and products together, as matrix
  instructions do: the tree's order is theirs;
- *space*: cells lie within their extents, and nothing is read that nobody wrote;
- *asynchronous copies*: from its start to its landing nobody else uses the cell, nor changes the element.

before: S1[i, j, k] reads what S1[i, j, k - 1] wrote, and before_A[i, k]
after:  S1[i, j, k] reads what A_tile_fill[bi, bj, k0, i, k] wrote, and that read before_A[i, k]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.copy_tree import LANDING, CopyRun, CopyTree, with_copies
from polytile.ir.gpu_ops import require
from polytile.ir.isl_util import OverBudgetError, budget, maps, union_of
from polytile.ir.loop_places import LabelledLoop, labelled_loops
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner, Placement
from polytile.ir.schedule import has_sets
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.reduced_schedules import flow_by_location
from polytile.scheduling.proof.kernel_tiles import keeps_whole_kernel, wrong_kernel_tile
from polytile.scheduling.proof.legality import UNORDERED, unordered
from polytile.scheduling.proof.locations import MAY_WRITE, WRITE, Locations, locations, source_locations
from polytile.scheduling.proof.storage import Failure
from polytile.scheduling.proof.unchanged_values import unchanged

MAX_COPIES_OF_COPIES = 8  # that a value goes through on its way
DOUBTED_OPERATIONS = 10_000_000  # of isl, where a part of the proof has failed that does not always have to hold


def wrong_placements(
    scop: Scop, tree: isl.Schedule, plans: Sequence[KernelPlan], instances: isl.UnionMap | None = None
) -> list[Failure]:
    """Return what the placements change of the values of their arrays; empty is the proof that they keep them.

    The mapped tree runs the Scop's instances; where blocks repeat what others compute, it runs executions, of the
    instances that `instances` tells, `{ S[b, t, i] -> S[t, i] }`. Raises InternalError for plans that do not fit it.
    """
    for placement in (p for plan in plans for p in plan.placements):
        _check_uses(scop, placement)
    there = tree.get_domain().intersect_params(scop.context)
    tree = tree.intersect_domain(there)
    plans, doubts = (plans, []) if instances is not None else _not_kernel_tiles(scop, tree, plans)
    if not any(plan.placements for plan in plans):
        return []
    found = with_copies(tree, plans)
    carried = isl.UnionSet.identity(there.universe()) if instances is None else instances
    arrays = dict.fromkeys(placement.array for plan in plans for placement in plan.placements)
    try:
        with budget(DOUBTED_OPERATIONS) if doubts else nullcontext():
            return [f for array in arrays for f in _Theorem.about(scop, carried, plans, found, array).failures()]
    except OverBudgetError:
        if not doubts:
            raise
        return doubts


def _not_kernel_tiles(
    scop: Scop, tree: isl.Schedule, plans: Sequence[KernelPlan]
) -> tuple[list[KernelPlan], list[Failure]]:
    """Return the plans without kernel tiles that change no value (kernel_tiles.py), and why others may change some."""
    loops, left, doubts = labelled_loops(tree), [], []
    for plan in plans:
        kept = []
        for placement in plan.placements:
            ours = keeps_whole_kernel(scop, plan, placement, loops)
            wrong = wrong_kernel_tile(scop, placement, loops[plan.kernel, WHOLE_KERNEL]) if ours else []
            kept += [placement] if wrong or not ours else []
            doubts += wrong
        left.append(replace(plan, placements=tuple(kept)))
    return left, doubts


def _check_uses(scop: Scop, placement: Placement) -> None:
    require(any(a.name == placement.array for a in scop.arrays), f"{placement.name} is of no array of {scop.name}")
    for name, number in placement.uses:
        accesses = next((s.accesses for s in scop.statements if s.name == name), ())
        known = 0 <= number < len(accesses) and accesses[number].array == placement.array
        require(known, f"{placement.name}: access {number} of {name} is none to {placement.array}")


@dataclass(frozen=True, slots=True)
class _Theorem:
    """What is to be shown about one array."""

    scop: Scop
    instances: isl.UnionMap
    copies: CopyTree
    array: str
    used: Locations

    @classmethod
    def about(
        cls, scop: Scop, instances: isl.UnionMap, plans: Sequence[KernelPlan], copies: CopyTree, array: str
    ) -> _Theorem:
        return cls(scop, instances, copies, array, locations(scop, instances, plans, copies, array))

    def failures(self) -> Iterator[Failure]:
        for why, wrong in self.used.problems:
            yield self._failure(isl.UnionSet.identity(wrong), why)
        order = self.used.order(self.copies.tree)
        times = _times(order)
        flow = _Flow.over(self.used, times)
        yield from self._compared(flow)
        yield from self._order(order, times, flow)
        yield from self._landings(flow)

    def _failure(self, pairs: isl.UnionMap, why: str) -> Failure:
        return Failure(self.array, pairs, why)

    def _compared(self, flow: _Flow) -> Iterator[Failure]:
        if not flow.unset.is_empty():
            yield self._failure(flow.unset, "what is read was never written there")
        if not flow.mixed.is_empty():
            yield self._failure(flow.mixed, "another element is in the cell")
        given, followed = _without(unchanged(flow.values, self.used), self.used.copies)
        if not followed:
            yield self._failure(given.intersect_domain(self.used.copies), "a value goes through copies without end")
        outside = isl.UnionSet.identity(self.used.before.union(self.used.after))
        same = self.instances.union(outside)
        source = source_locations(self.scop, self.array)
        known = _Flow.over(source, _times(source.order(self.scop.schedule))).values
        elements = isl.UnionSet.identity(self.used.elements)
        wanted = known.apply_range(same.reverse().product(elements))
        given = given.detect_equalities()  # else isl takes a third of a refusal to subtract
        given = given.apply_domain(same).intersect_range(wanted.range())
        if not given.is_subset(wanted):
            yield self._failure(_pairs(given.subtract(wanted)), "another value arrives")
        if self.used.may_writes.is_empty():  # then each read finds one value or nothing, and wants one
            return
        wanted = wanted.intersect_range(self.used.wanted)
        if not wanted.is_subset(given):
            yield self._failure(_pairs(wanted.subtract(given)), "a value does not arrive")

    def _order(self, order: isl.Schedule, times: isl.UnionMap, flow: _Flow) -> Iterator[Failure]:
        """Yield executions that meet in a location in no order that the GPU keeps.

        A thread keeps its own, except in sets.
        """
        yield from self._unordered(order, times, flow, self.used.shared)
        if has_sets(order):
            found = self._unordered(order, times, flow, self.used.private)
            yield from (failure for failure in found if failure.why == UNORDERED)

    def _unordered(
        self, order: isl.Schedule, times: isl.UnionMap, flow: _Flow, where: isl.UnionSet
    ) -> Iterator[Failure]:
        """Yield executions that no order of the GPU separates.

        Mostly all pairs are in order. Where one is not, its location may have been overwritten in between: one such
        location is looked at first, then all.
        """
        used, starts = self.used, _starts(self.copies, self.array)  # with its landing, each start is one copy
        found = unordered(order, _meetings(used, where), used.dealt_out, both_directions=True)
        doubts = [v for v in found if not _are_one(v.pairs, starts)]
        if not doubts:
            return
        for part in (*(_one_location(used, where, v.pairs) for v in doubts), where):
            pairs = flow.through(part).union(_conflicts(used, times, part)).subtract(starts).detect_equalities()
            if found := unordered(order, pairs, used.dealt_out):
                yield from (self._failure(v.pairs, v.why) for v in found)
                return

    def _landings(self, flow: _Flow) -> Iterator[Failure]:
        """Yield asynchronous copies that conflict with other accesses before they complete."""
        for landing in (r for r in self.copies.runs if r.kind == LANDING and r.placement.array == self.array):
            starts = _starts(self.copies, self.array).intersect_range(landing.domain)
            expected, found = flow.pairs.apply_range(starts), flow.pairs.intersect_range(landing.domain)
            if not found.is_equal(expected):
                changed = found.subtract(expected).union(expected.subtract(found))
                yield self._failure(changed, "the element changes while it is copied")
            met = self._met(landing).subtract(starts.reverse())
            if not met.is_empty():
                yield self._failure(met, "the cell is in use while it is filled")

    def _met(self, landing: CopyRun) -> isl.UnionMap:
        """Return the executions that use the cell of a copy in the iterations from its start to its landing, start
        included."""
        cells = self.used.writes.intersect_domain(landing.domain).subtract_range(self.used.elements)
        users = self.used.reads.union(self.used.writes).union(self.used.may_writes).subtract_domain(landing.domain)
        place = landing.loop.coordinates
        early = landing.early * landing.copy.ahead
        now = ", ".join([*place[:-1], "now"])
        window = f"{place[-1]} - {early} <= now <= {place[-1]} - {landing.early}"
        way = isl.UnionMap(f"{{ [{', '.join(place)}] -> [{now}] : {window} }}")
        meanwhile = landing.places(landing.loop, Owner.BLOCK).apply_range(way)
        near = meanwhile.apply_range(self._iterations(landing.loop).reverse())
        return cells.apply_range(users.reverse()).intersect(near)

    def _iterations(self, loop: LabelledLoop) -> isl.UnionMap:
        """Return the iteration of a loop that each execution runs in."""
        total = loop.iterations
        for run in (r for r in self.copies.runs if r.placement.array == self.array and r.reaches(loop)):
            total = total.union(run.iterations(loop))
        return total


def _starts(copies: CopyTree, array: str) -> isl.UnionMap:
    """Return the relation from each asynchronous copy that runs early to its landing."""
    total = isl.UnionMap("{ }")
    for run in (r for r in copies.runs if r.kind == LANDING and r.placement.array == array):
        same = maps(isl.UnionSet.identity(run.domain))
        start = run.name.removesuffix(f"_{LANDING}")
        for m in same:
            total = total.union(isl.UnionMap.from_map(m.set_tuple_name(isl.dim_type.in_, start)))
    return total


@dataclass(frozen=True, slots=True)
class _Flow:
    """Who wrote what each read finds: `values`, `{ S0[i] -> [S1[j] -> A[i]] }`, and `by_location`, the same with the
    location; `unset` are reads that find nothing, `mixed` elements for which another one is found."""

    values: isl.UnionMap
    by_location: isl.UnionMap
    unset: isl.UnionMap
    mixed: isl.UnionMap

    @classmethod
    def over(cls, used: Locations, times: isl.UnionMap) -> _Flow:
        found = flow_by_location(used.reads, used.writes, used.may_writes, times, used.kills, used.conditions)
        full = union_of((part.get_full_may_dependence() for part in found), times.get_space())
        unset = union_of((part.get_may_no_source() for part in found), times.get_space())
        readers = used.read_elements
        by_element = readers.domain().unwrap().domain_map().range_product(readers)
        return cls(full.apply_range(by_element), full, unset, _mixed(full, used))

    @property
    def pairs(self) -> isl.UnionMap:
        return self.by_location.range_factor_domain()

    def through(self, where: isl.UnionSet) -> isl.UnionMap:
        """Return the pairs of executions that pass values through these locations."""
        return self.by_location.uncurry().intersect_range(where).domain().unwrap()


def _mixed(full: isl.UnionMap, used: Locations) -> isl.UnionMap:
    """Return what is written as one element and read as another, `{ A[i] -> A[j] }`.

    Where each instance writes one element, its name says which, and the values tell.
    """
    if used.routes[WRITE].union(used.routes[MAY_WRITE]).domain().unwrap().is_single_valued():
        return isl.UnionMap("{ }")
    met = full.uncurry()  # [writer -> reader] -> location
    pair, at = met.domain_map(), met.range_map()
    written = pair.range_factor_domain().range_product(at).apply_range(used.written_elements)
    read = pair.range_factor_range().range_product(at).apply_range(used.read_elements)
    both = written.reverse().apply_range(read)
    return both.subtract(isl.UnionSet.identity(both.domain()))


def _times(order: isl.Schedule) -> isl.UnionMap:
    """Return when each execution runs.

    With the order as a map, isl finds the flow over tiles in a tenth of the time.
    """
    return order.get_map().detect_equalities()


def _meetings(used: Locations, where: isl.UnionSet) -> isl.UnionMap:
    """Return all pairs, in both directions, that use one of these locations, and one of them writes.

    Each is also paired with itself. What comes before and after the tree is the first and the last child of a sequence
    of the host, which orders it.
    """
    outside = used.before.union(used.after).universe()
    writes, reads = (
        a.subtract_domain(outside).intersect_range(where) for a in (used.writes.union(used.may_writes), used.reads)
    )
    written = writes.apply_range(writes.reverse()).detect_equalities()
    read = writes.apply_range(reads.reverse()).detect_equalities()
    return written.union(read).union(read.reverse())


def _one_location(used: Locations, where: isl.UnionSet, pairs: isl.UnionMap) -> isl.UnionSet:
    """Return a location where executions of such a pair meet."""
    users = used.reads.union(used.writes).union(used.may_writes).intersect_range(where)
    pair = isl.UnionMap.from_map(isl.Map.from_basic_map(pairs.sample()))
    both = users.intersect_domain(pair.domain()).range().intersect(users.intersect_domain(pair.range()).range())
    return isl.UnionSet.from_set(isl.Set.from_basic_set(both.sample()))


def _are_one(pairs: isl.UnionMap, starts: isl.UnionMap) -> bool:
    """Return whether these are executions with themselves, or starts and landings of one copy."""
    same = isl.UnionSet.identity(pairs.domain().universe())
    return bool(pairs.is_subset(same.union(starts).union(starts.reverse())))


def _conflicts(used: Locations, times: isl.UnionMap, where: isl.UnionSet) -> isl.UnionMap:
    """Return the relation from each use of these locations to the writes after it, up to the next certain one."""
    reads, writes, may = (a.intersect_range(where) for a in (used.reads, used.writes, used.may_writes))
    found = flow_by_location(writes.union(may), writes, may.union(reads), times, conditions=used.conditions)
    return union_of((part.get_may_dependence() for part in found), times.get_space())


def _without(values: isl.UnionMap, copies: isl.UnionSet) -> tuple[isl.UnionMap, bool]:
    """Replace what copies read by its origin in the flow, and tell whether it could be followed to the end.

    before: before_A[i] -> A_tile_fill[b, i]; A_tile_fill[b, i] -> S0[i]
    after:  before_A[i] -> S0[i]
    """
    readers = values.range().unwrap()
    into = values.range_factor_domain().intersect_range(copies)
    kept = values.intersect_range(readers.subtract_domain(copies).wrap())
    for _ in range(MAX_COPIES_OF_COPIES):
        copied = kept.intersect_domain(copies)
        if copied.is_empty():
            return kept, True
        kept = kept.subtract_domain(copies).union(into.apply_range(copied))
    return kept, kept.intersect_domain(copies).is_empty()


def _pairs(values: isl.UnionMap) -> isl.UnionMap:
    return values.range_factor_domain()
