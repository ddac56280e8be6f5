"""The proof that storage inside kernels carries the right values.

A mapped schedule runs each instance of the Scop in one or more executions, and these use cells: of device memory, of a
block's shared memory, of a thread's registers. Whatever chose them, two things are shown for the accesses to cells:

- any two executions that use one cell, of which one writes, are in an order that the GPU keeps (legality.py);
- each execution reads what an execution of the right instance wrote: the flow of values over the cells, in the mapped
  order, is the flow of the Scop; where instances set and read several elements, also that each read finds its own.

Executions that repeat an instance (overlapped tiles) need nothing else: those that do not own a result write to cells
of their block only, and the last writer of each cell that is seen afterwards is compared as one more read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Literal
from polytile.ir.isl_util import sets, union_of
from polytile.ir.memory import Space, Storage, constant_extents
from polytile.ir.schedule import has_sets
from polytile.ir.scop import AccessKind, Array, Origin
from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.conflicting_elements import conflicting_elements, same_cell
from polytile.scheduling.analysis.elements_of_cells import other_elements
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.instance_map import (
    KernelPlace,
    cells,
    flow_within_blocks,
    kept_subscripts,
    places,
)
from polytile.scheduling.analysis.reduced_schedules import flow_by_location
from polytile.scheduling.analysis.set_children import children_that_meet
from polytile.scheduling.proof.legality import unordered

AT_ONCE = "one instance needs both of two elements that share a cell"
ANOTHER = "a read finds another element in its cell"


@dataclass(frozen=True, slots=True)
class Realisation:
    """How one array's accesses are carried out under a mapped tree over executions.

    `instances` says which instance an execution runs, `{ S[b, t, i] -> S[t, i] }`; the others map executions to cells.
    `conditions` are the Scop's accesses that these are; `alone`: those that share a cell are of one thread. `free` are
    pairs of updates of one element that may come in any order, as they are indivisible where threads do not order them
    (proof/atomics.py).
    """

    tree: isl.Schedule = field(compare=False)
    instances: isl.UnionMap = field(compare=False)
    reads: isl.UnionMap = field(compare=False)
    writes: isl.UnionMap = field(compare=False)
    may_writes: isl.UnionMap = field(compare=False)
    conditions: tuple[isl.UnionMap, ...] = field(default=(), compare=False)
    alone: bool = False
    free: isl.UnionMap | None = field(default=None, compare=False)

    def in_some_order(self, pairs: isl.UnionMap) -> isl.UnionMap:
        """Return the pairs whose order counts: all but those that are `free`."""
        return pairs if self.free is None else pairs.subtract(self.free)


@dataclass(frozen=True, slots=True)
class Failure:
    """What storage does to an array's values: the pairs are of executions, or of a source instance and a reader."""

    array: str
    pairs: isl.UnionMap = field(compare=False)
    why: str


def wrong_values(array: str, passed: isl.UnionMap, found: Realisation) -> list[Failure]:
    """Return where the cells of `found` lose or mix up values; `passed` is the Scop's flow, from instance to instance.

    Raises OverBudgetError where isl loses sources of reads (checked_flow.py).
    """
    if found.reads.union(found.writes).union(found.may_writes).is_empty():
        return []
    users = found.reads.union(found.writes).union(found.may_writes).domain()
    order = found.tree.intersect_domain(users)
    over_cells = _flow_over_cells(found, order, found.reads, found.may_writes)
    failures: list[Failure] = []
    if not found.alone or has_sets(order):
        failures += _unordered(array, found, order, over_cells)
    readers = found.instances.intersect_domain(found.reads.domain())
    # isl takes up to ten times as long to compare what leaves equalities to be found
    wanted = passed.apply_range(readers.reverse()).detect_equalities()
    given = found.in_some_order(over_cells.apply_domain(found.instances)).detect_equalities()
    if not wanted.is_subset(given):
        failures.append(Failure(array, wanted.subtract(given), "a value does not arrive"))
    if not given.is_subset(wanted):
        failures.append(Failure(array, given.subtract(wanted), "another value arrives"))
    return failures


def _flow_over_cells(
    found: Realisation, order: isl.Schedule, sinks: isl.UnionMap, may: isl.UnionMap
) -> isl.UnionMap:
    if has_sets(order):  # which are no times
        return flow(sinks, found.writes, may, order, conditions=found.conditions).get_may_dependence()
    times = order.get_map().detect_equalities()
    parts = flow_by_location(sinks, found.writes, may, times, conditions=found.conditions)
    return union_of((part.get_may_dependence() for part in parts), times.get_space())


def _unordered(
    array: str, found: Realisation, order: isl.Schedule, over_cells: isl.UnionMap
) -> Iterator[Failure]:
    """Yield executions that use one cell, in no order that the GPU keeps.

    A thread keeps that of its own, of all but sets.
    """
    written = found.writes.union(found.may_writes)
    false = _flow_over_cells(found, order, written, found.may_writes.union(found.reads))
    meeting = children_that_meet(order, written.union(found.reads), written)
    pairs = found.in_some_order(over_cells.union(false).union(meeting))
    yield from (Failure(array, v.pairs, v.why) for v in unordered(found.tree, pairs))


def wrong_homes(run: Executions, homes: Mapping[int, Mapping[str, Storage]]) -> list[Failure]:
    """Return where arrays that are stored inside one kernel (`homes`, by kernel number) lose values."""
    if not any(homes.values()):
        return []
    by_kernel = {place.kernel: place for place in places(run.schedule)}
    failures: list[Failure] = []
    for kernel, found in homes.items():
        for name, home in found.items():
            failures += _wrong_home(run, by_kernel[kernel], run.scop.array(name), home)
    return failures


def _wrong_home(run: Executions, place: KernelPlace, array: Array, home: Storage) -> list[Failure]:
    scop, known = run.scop, run.dependences.of(array.name)
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    accesses = [
        scop.accesses(kind, arrays=frozenset((array.name,))).intersect_params(scop.context) for kind in kinds
    ]
    users = accesses[0].union(accesses[1]).union(accesses[2]).domain()
    outside = users.subtract(place.domain)
    if not outside.is_empty() or array.origin is Origin.EXTERNAL:
        return [Failure(array.name, isl.UnionSet.identity(outside), "it is used outside the kernel")]
    if not known.uninitialised.intersect_params(scop.context).is_empty():
        return [Failure(array.name, isl.UnionSet.identity(known.uninitialised.domain()), "it is read unwritten")]
    if not _has_all_cells(array, home):
        return [Failure(array.name, isl.UnionSet.identity(users), "there are fewer cells than it uses")]
    where = place.block if home.space is Space.SHARED else place.thread
    keeps = tuple(range(array.rank)) if home.keeps is None else home.keeps
    if not conflicting_elements(scop, array, same_cell(array, keeps, home.strides)).is_empty():
        return [Failure(array.name, isl.UnionSet.identity(users), AT_ONCE)]
    kept = kept_subscripts(array.name, keeps, array.rank, home.strides)
    mixed = other_elements(run.schedule.tree, where, accesses, kept)
    if not mixed.is_empty():
        return [Failure(array.name, mixed, ANOTHER)]
    reads, writes, may = (cells(a, where, keeps, array.rank, home.strides) for a in accesses)
    alone, tree = home.space is Space.PRIVATE, run.schedule.tree.intersect_domain(users)
    free = known.free and known.free.union(known.free.reverse()).intersect_params(scop.context)
    realised = Realisation(tree, isl.UnionSet.identity(users), reads, writes, may, tuple(accesses), alone, free)
    return wrong_values(array.name, known.flow.intersect_params(scop.context), realised)


def _has_all_cells(array: Array, home: Storage) -> bool:
    """Return whether the storage has a cell for each value of the subscripts that it keeps."""
    keeps = tuple(range(array.rank)) if home.keeps is None else home.keeps
    sizes, strides = constant_extents(home), home.strides or (1,) * len(keeps)
    extents = [array.extents[k] for k in keeps]
    if len(sizes) != len(keeps) or not all(isinstance(e, Literal) for e in extents):
        return False
    wanted = [int(e.text) for e in extents if isinstance(e, Literal)]
    return all(-(-extent // stride) <= size for extent, stride, size in zip(wanted, strides, sizes, strict=True))


def wrong_forwarding(run: Executions, copies: Mapping[int, Mapping[str, Storage]]) -> list[Failure]:
    """Return where blocks' copies of arrays in device memory lose values (`copies`, by kernel number).

    What a kernel reads of the array must come from its own writes, by the cells of the copy.
    """
    by_kernel = {place.kernel: place for place in places(run.schedule)} if any(copies.values()) else {}
    failures: list[Failure] = []
    for kernel, found in copies.items():
        for name, copy in found.items():
            failures += _wrongly_forwarded(run, by_kernel[kernel], run.scop.array(name), copy)
    return failures


def _is_copy(copy: Storage) -> bool:
    """Return whether shared memory has an element for each remainder, by powers of two: generated code masks bits."""
    sizes = constant_extents(copy)
    powers = all(size > 0 and not size & (size - 1) for size in sizes)
    return copy.space is Space.SHARED and sizes == copy.moduli and len(copy.keeps or ()) == len(sizes) > 0 and powers


def _wrongly_forwarded(run: Executions, place: KernelPlace, array: Array, copy: Storage) -> list[Failure]:
    scop, passed = run.scop, flow_within_blocks(run.scop, run.dependences, array.name, place)
    if passed is None:
        return [Failure(array.name, isl.UnionSet.identity(place.domain), "not all that is read is from the block")]
    if copy.keeps is None or not _is_copy(copy):
        return [Failure(array.name, isl.UnionSet.identity(place.domain), "its copy has no element for each remainder")]
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    here = [scop.accesses(k, arrays=frozenset((array.name,))).intersect_domain(place.domain) for k in kinds]
    accesses = [a.intersect_params(scop.context) for a in here]
    lows = (s.dim_min_val(k) for a in accesses for s in sets(a.range()) for k in copy.keeps)
    if not all(low.is_int() and low.is_nonneg() for low in lows):
        return [Failure(array.name, isl.UnionSet.identity(place.domain), "its subscripts may be negative")]
    if not conflicting_elements(scop, array, same_cell(array, copy.keeps, moduli=copy.moduli)).is_empty():
        return [Failure(array.name, isl.UnionSet.identity(place.domain), AT_ONCE)]
    kept = kept_subscripts(array.name, copy.keeps, array.rank, moduli=copy.moduli)
    mixed = other_elements(run.schedule.tree, place.block, accesses, kept)
    if not mixed.is_empty():
        return [Failure(array.name, mixed, ANOTHER)]
    reads, writes, may = (cells(a, place.block, copy.keeps, array.rank, moduli=copy.moduli) for a in accesses)
    users = accesses[0].union(accesses[1]).union(accesses[2]).domain()
    same = isl.UnionSet.identity(users)
    order = run.schedule.tree.intersect_domain(users)
    return wrong_values(array.name, passed, Realisation(order, same, reads, writes, may, tuple(accesses)))
