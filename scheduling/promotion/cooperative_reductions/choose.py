"""Which lanes of partial results are threads of a block, and how these combine what they hold.

    before: thread[8,32]: U[i, j] -> [i, j] adds to part[i][j mod 32]; C[i] -> [i, 0] reads part[i][0..31]
    found:  the lane is the thread along x: each thread holds its part, and 32 neighbours combine theirs by shuffles
"""

from __future__ import annotations

from enum import Enum
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Access
from polytile.ir.expr_trees import walk
from polytile.ir.partial_results import Combination, Privatised
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.machine import SEGMENT_SIZES, WARP_SIZE
from polytile.scheduling.analysis.instance_map import KernelPlace, places

_OUT = isl.dim_type.out


class CombineMethod(Enum):
    """How the threads that hold partial results combine them."""

    SHUFFLE = "shuffle"  # a segment of a warp, at once
    WARPS = "warps"  # each warp at once, then one warp those of all, through shared memory
    THROUGH_SHARED = "through shared memory"  # through shared memory, one thread adding them up
    STORE = "store"  # each thread for itself, to be added up by another kernel


@dataclass(frozen=True, slots=True)
class CooperationPlan:
    """The way of one statement that uses partial results, which `initial` starts; `axes` are the thread dimensions of
    its lanes, in their order."""

    statement: str
    combine: Combination
    way: CombineMethod
    axes: tuple[int, ...]
    threads: tuple[int, ...]
    initial: str = ""

    @property
    def lanes(self) -> int:
        return prod(self.combine.sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        """Return what each iterator counts for in the number of a thread, which neighbouring threads count up."""
        return tuple(
            prod(s for s, other in zip(self.combine.sizes, self.axes, strict=True) if other > axis)
            for axis in self.axes
        )


def plans(scop: Scop, schedule: MappedSchedule) -> list[CooperationPlan]:
    """Return the plans of the combinations whose partial results belong to threads of the block that they run in."""
    if not scop.privatised:
        return []
    found: list[CooperationPlan | None] = []
    for place in places(schedule):
        found += [_plan(scop, s, place) for s in scop.statements if s.combine is not None]
        found += [_stored(scop, made, place) for made in scop.privatised if made.combine is None]
    return [p for p in found if p is not None]


def _plan(scop: Scop, statement: Statement, place: KernelPlace) -> CooperationPlan | None:
    combine, threads = statement.combine, place.threads
    assert combine is not None
    context, only = scop.context, frozenset((combine.array,))
    own = isl.UnionMap.from_map(_reads(statement)).intersect_domain(statement.domain).intersect_params(context)
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=only).intersect_params(context)
    users = own.union(writes).domain()
    if own.is_empty() or not threads or not users.is_subset(place.domain):
        return None
    holders = isl.Map.from_union_map(writes.reverse().apply_range(place.thread))
    axes = _axes(combine, holders, len(threads))
    if axes is None or not _at_lane_zero(own, holders, place, axes, len(threads)):
        return None
    return CooperationPlan(statement.name, combine, _way(combine, axes, threads), axes, threads)


def _stored(scop: Scop, made: Privatised, place: KernelPlace) -> CooperationPlan | None:
    """Plan the storage of chunks without partial results, which one thread makes and another kernel uses."""
    if made.finish is None:
        return None
    finish, only, array = scop.statement(made.finish), frozenset((made.partial,)), scop.array(made.partial)
    read = next(n for s in finish.body for n in walk(s) if isinstance(n, Access) and n.array == made.partial)
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=only).intersect_params(scop.context)
    elsewhere = isl.UnionSet.from_set(finish.domain).intersect_params(scop.context).is_disjoint(place.domain)
    if not elsewhere or not writes.domain().is_subset(place.domain):
        return None
    if not writes.reverse().apply_range(place.thread).is_single_valued():
        return None
    combine = Combination(made.op, made.partial, read.subscripts, (), "", array.element)
    return CooperationPlan(finish.name, combine, CombineMethod.STORE, (), place.threads, made.initial)


def _reads(statement: Statement) -> isl.Map:
    """Return the reads of the partial results, as one map."""
    assert statement.combine is not None
    relations = [a.relation for a in statement.relations(AccessKind.READ) if a.array == statement.combine.array]
    total = relations[0]
    for relation in relations[1:]:
        total = total.union(relation)
    return total


def _axes(combine: Combination, holders: isl.Map, rank: int) -> tuple[int, ...] | None:
    """Return for each iterator the thread dimension that equals it, wherever the element is written."""
    first, place = len(combine.subscripts), holders.dim(_OUT) - rank
    axes = []
    for lane in range(len(combine.sizes)):
        equal = (holders.equate(isl.dim_type.in_, first + lane, _OUT, place + axis) for axis in range(rank))
        axis = next((k for k, same in enumerate(equal) if holders.is_subset(same)), None)
        if axis is None:
            return None
        axes.append(axis)
    return tuple(axes) if len(set(axes)) == len(axes) else None


def _at_lane_zero(own: isl.UnionMap, holders: isl.Map, place: KernelPlace, axes: tuple[int, ...], rank: int) -> bool:
    """Return whether the statement runs in the first of the threads that have partial results, in their block and row.
    """
    here = isl.Map.from_union_map(place.thread.intersect_domain(own.domain()))
    there = isl.Map.from_union_map(own.apply_range(isl.UnionMap.from_map(holders)))
    first = here.dim(_OUT) - rank
    for axis in sorted(axes, reverse=True):
        if not here.is_subset(here.fix_val(_OUT, first + axis, isl.Val(0))):
            return False
        here, there = (m.project_out(_OUT, first + axis, 1) for m in (here, there))
    return bool(there.is_subset(here))


def _way(combine: Combination, axes: tuple[int, ...], threads: tuple[int, ...]) -> CombineMethod:
    """Choose how threads combine: neighbouring threads in segments of warps shuffle."""
    rank, count, lanes = len(threads), len(axes), prod(combine.sizes)
    sizes = dict(zip(axes, combine.sizes, strict=True))
    neighbours = set(axes) == set(range(rank - count, rank))
    full = all(sizes[axis] == threads[axis] for axis in axes if axis > rank - count)
    if not neighbours or not full or (count == 1 and threads[-1] % min(lanes, WARP_SIZE)):
        return CombineMethod.THROUGH_SHARED
    if lanes in SEGMENT_SIZES:
        return CombineMethod.SHUFFLE
    warps = lanes // WARP_SIZE
    whole = lanes % WARP_SIZE == 0 and (warps in SEGMENT_SIZES) and warps <= threads[-1]
    return CombineMethod.WARPS if whole else CombineMethod.THROUGH_SHARED
