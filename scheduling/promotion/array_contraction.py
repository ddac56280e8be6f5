"""Contraction: arrays of the SCoP's own that one thread, or one block, uses alone move out of device memory.

before: kernel { t_x[i][j] = A[i][j]; B[i][j] = t_x[i][j] * t_x[i][j]; }      t_x in device memory
after:  kernel { double t; t = A[i][j]; B[i][j] = t * t; }                    t in a register

An array shrinks to the dimensions of constant extent, or to none, when the flow of values over the smaller storage,
computed anew in the mapped order, is exactly the flow that it had. So what is proven of the schedule still holds.
Mostly cells hold one element at a time, and nothing needs to be computed (analysis/injective_storage.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import islpy as isl

from polytile.ir.expr import Literal
from polytile.ir.external_functions import addressed_arrays
from polytile.ir.isl_util import OverBudgetError, maps, sets
from polytile.ir.memory import Space, Storage
from polytile.ir.schedule import MappedSchedule, has_sets
from polytile.ir.scop import AccessKind, Array, Origin, Scop
from polytile.scheduling.analysis.checked_flow import are_doubted
from polytile.scheduling.analysis.checked_flow import flow as checked_flow
from polytile.scheduling.analysis.conflicting_elements import conflicting_elements, same_cell
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.elements_of_cells import other_elements
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.injective_storage import holds_one_at_a_time
from polytile.scheduling.analysis.instance_map import KernelPlace, cells, kept_subscripts, places, stays
from polytile.scheduling.analysis.set_children import children_that_meet

MOST_PRIVATE_ELEMENTS = 64  # of one array, in registers or local memory of a thread
SOME_SIZE = 1000  # larger than most tiles
MOST_TURNS = 4  # of threads over a dimension whose elements they keep: in registers, as so short loops are unrolled


def contract(
    run: Executions,
    shared_left: int,
    only: frozenset[str] | None = None,
    known: Mapping[str, Storage | None] | None = None,
) -> dict[int, dict[str, Storage]]:
    """Choose the storage of arrays that need no device memory, by kernel number and array.

    At most `shared_left` bytes of shared memory are used in all. With `only`, other arrays are left out; `known` is the
    storage of arrays that one thread uses alone, and None for arrays that have none of that kind.
    """
    placed: dict[int, dict[str, Storage]] = {}
    scop, dependences, schedule = run.scop, run.dependences, run.schedule
    own = [a for a in scop.arrays if a.origin is not Origin.EXTERNAL and not a.fields]
    passed = addressed_arrays(scop.statements)
    own = [a for a in own if a.name not in passed and (only is None or a.name in only)]
    if not own:
        return placed
    kernels = places(schedule)
    for array in own:
        place = _only_place(_users(scop, array), kernels)
        unset = dependences.of(array.name).uninitialised.intersect_params(scop.context)
        if place is None or not unset.is_empty():
            continue
        if known and array.name in known:
            storage = known[array.name]
        else:
            storage = _private(scop, dependences, schedule, array, place)
        if storage is None and (storage := _shared(scop, dependences, array, place)) is not None:
            size = array.element.size * _elements(storage)
            if size > shared_left:
                continue
            shared_left -= size
        if storage is not None:
            placed.setdefault(place.kernel, {})[array.name] = storage
    return placed


def same_private_home(array: str, before: Executions, after: Executions) -> bool:
    """Return whether both have the same facts about whether, and how, one thread has an array to itself.

    These are how, where and in which order the array is accessed, and the flow through it.
    """
    scop, other = before.scop, after.scop
    own = scop.array(array)
    if scop.context is not other.context or own != other.array(array):
        return False
    flow, after_flow = (run.dependences.of(array).flow for run in (before, after))
    if flow is not after_flow and not flow.is_equal(after_flow):
        return False
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    users = _users(scop, own)
    same = (_accesses(scop, own, kind).is_equal(_accesses(other, own, kind)) for kind in kinds)
    if not users.is_equal(_users(other, own)) or not all(same):
        return False
    return _same_places(users, before.schedule, after.schedule) and _same_order(users, before.schedule, after.schedule)


def _same_places(users: isl.UnionSet, before: MappedSchedule, after: MappedSchedule) -> bool:
    """Return whether one kernel has all the instances in both schedules, each in the same thread of the same block."""
    one, other = (_only_place(users, places(schedule)) for schedule in (before, after))
    if one is None or other is None or (one.kernel, one.threads) != (other.kernel, other.threads):
        return False
    return bool(one.thread.intersect_domain(users).is_equal(other.thread.intersect_domain(users)))


def _same_order(users: isl.UnionSet, before: MappedSchedule, after: MappedSchedule) -> bool:
    """Return whether both schedules run the instances at the same times.

    Those of sets, which have no order, never do.
    """
    trees = [schedule.tree.intersect_domain(users) for schedule in (before, after)]
    if any(map(has_sets, trees)):
        return False
    return bool(trees[0].get_map().is_equal(trees[1].get_map()))


def _users(scop: Scop, array: Array) -> isl.UnionSet:
    """Return the instances of all statements that mention an array, be it in a branch that never runs."""
    users = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        if any(a.array == array.name for a in statement.accesses):
            users = users.union(isl.UnionSet.from_set(statement.domain.intersect_params(scop.context)))
    return users


def _only_place(users: isl.UnionSet, kernels: tuple[KernelPlace, ...]) -> KernelPlace | None:
    """Return the kernel that all users of an array are in, or None."""
    return None if users.is_empty() else next((p for p in kernels if users.is_subset(p.domain)), None)


def _accesses(scop: Scop, array: Array, *kinds: AccessKind) -> isl.UnionMap:
    return scop.accesses(*kinds, arrays=frozenset((array.name,))).intersect_params(scop.context)


def _constant_dimensions(array: Array) -> tuple[int, ...]:
    return tuple(i for i, extent in enumerate(array.extents) if isinstance(extent, Literal))


def _elements(storage: Storage) -> int:
    return prod(int(e.text) for e in storage.extents if isinstance(e, Literal))


def _storage(array: Array, space: Space, keeps: tuple[int, ...], strides: tuple[int, ...] = ()) -> Storage:
    extents = tuple(array.extents[i] for i in keeps)
    if strides:
        sizes = zip(_constants(array, keeps), strides, strict=True)
        extents = tuple(Literal(str(-(-extent // stride))) for extent, stride in sizes)
    return Storage(array.name, space, array.element, extents, array.name, keeps, strides)


def _constants(array: Array, dimensions: tuple[int, ...]) -> list[int]:
    return [int(e.text) for i in dimensions if isinstance(e := array.extents[i], Literal)]


def _private(
    scop: Scop, dependences: Dependences, schedule: MappedSchedule, array: Array, place: KernelPlace
) -> Storage | None:
    flow = dependences.of(array.name).values.flow.intersect_params(scop.context)
    if not stays(flow, place.thread):
        return None
    for storage in _private_storages(array, place.threads):
        few = _elements(storage) <= MOST_PRIVATE_ELEMENTS
        try:
            if few and _keeps_flow(scop, dependences, schedule, array, place.thread, storage):
                return storage
        except OverBudgetError:  # isl loses sources
            return None
    return None


def _private_storages(array: Array, threads: tuple[int, ...]) -> Iterator[Storage]:
    """Yield the candidates for private storage, smallest first.

    They are one element; those of one dimension that are few, or that threads take in turns; those of all constant
    ones.
    """
    constant = _constant_dimensions(array)
    yield _storage(array, Space.PRIVATE, ())
    for dimension, extent in zip(constant, _constants(array, constant), strict=True):
        if 1 < extent <= MOST_TURNS and len(constant) > 1:
            yield _storage(array, Space.PRIVATE, (dimension,))
        for size in sorted(set(threads), reverse=True):
            if 1 < size < extent <= size * MOST_TURNS:
                yield _storage(array, Space.PRIVATE, (dimension,), (size,))
    if constant:
        yield _storage(array, Space.PRIVATE, constant)


def _keeps_flow(
    scop: Scop,
    dependences: Dependences,
    schedule: MappedSchedule,
    array: Array,
    place: isl.UnionMap,
    storage: Storage,
) -> bool:
    """Return whether each read still sees the write that it saw, with the smaller storage and in the mapped order."""
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    accesses = [_accesses(scop, array, kind) for kind in kinds]
    every = accesses[0].union(accesses[1]).union(accesses[2])
    tree, known = schedule.tree.intersect_domain(every.domain()), dependences.of(array.name)
    kept = kept_subscripts(array.name, storage.keeps or (), array.rank, storage.strides)
    ordered = known.exact and known.free is None and not schedule.relaxed and not has_sets(tree)
    if ordered and not are_doubted(accesses) and holds_one_at_a_time(tree, place, every, kept):
        return True
    reads, must, may = (cells(a, place, storage.keeps or (), array.rank, storage.strides) for a in accesses)
    used_cells = reads.union(must).union(may)
    if not children_that_meet(tree, used_cells, must.union(may)).is_empty():
        return False
    flow = known.values.flow.intersect_params(scop.context)
    same = same_cell(array, storage.keeps or (), storage.strides)
    if not conflicting_elements(scop, array, same).is_empty():
        return False
    if not other_elements(tree, place, accesses, kept).is_empty():
        return False
    if _loses_flow_of_first((reads, must, may), tree, accesses, flow):
        return False
    found = checked_flow(reads, must, may, tree, conditions=accesses)
    return bool(found.get_may_dependence().is_equal(flow))


def _loses_flow_of_first(
    used: tuple[isl.UnionMap, ...], tree: isl.Schedule, accesses: Sequence[isl.UnionMap], flow: isl.UnionMap
) -> bool:
    """Return whether reads of the first thread's first cell see other writes, for some sizes.

    isl finds the flow through one cell in a fifth of the time that all take, with numbers for sizes in much less, and
    storage that is too small mostly loses values there, too.
    """
    first, sizes = _first_cell(used[0].range()), _some_sizes(used[0])
    reads, must, may = (a.intersect_range(first).intersect_params(sizes).detect_equalities() for a in used)
    users = reads.union(must).union(may).domain()
    try:
        found = checked_flow(reads, must, may, tree.intersect_domain(users), conditions=accesses)
    except OverBudgetError:  # isl loses sources
        return False
    return not found.get_may_dependence().is_subset(flow)  # a reader's flow through other cells is not found here


def _some_sizes(reads: isl.UnionMap) -> isl.Set:
    """Fix one number for all parameters, where that is possible; else return all parameters that are used."""
    point = isl.Set.universe(reads.get_space().params())
    for k in range(point.dim(isl.dim_type.param)):
        point = point.fix_val(isl.dim_type.param, k, isl.Val(SOME_SIZE))
    return reads.params() if reads.intersect_params(point).is_empty() else point


def _first_cell(cells: isl.UnionSet) -> isl.UnionSet:
    """Return the cell at the origin of these, be it one of them or not."""
    origin = isl.UnionSet("{ }")
    for own in sets(cells):
        point = isl.Set.universe(own.get_space())
        for k in range(point.dim(isl.dim_type.set)):
            point = point.fix_val(isl.dim_type.set, k, isl.Val(0))
        origin = origin.union(isl.UnionSet.from_set(point))
    return origin


def _shared(scop: Scop, dependences: Dependences, array: Array, place: KernelPlace) -> Storage | None:
    """Return a copy in shared memory, when values stay in a block and no two elements that a block uses would meet."""
    keeps = _constant_dimensions(array)
    flow = dependences.of(array.name).values.flow.intersect_params(scop.context)
    if not keeps or not stays(flow, place.block):
        return None
    accesses = _accesses(scop, array, AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    used = place.block.reverse().apply_range(accesses)
    together = used.reverse().apply_range(used).intersect(same_cell(array, keeps))
    if not all(m.is_subset(isl.Map.identity(m.get_space())) for m in maps(together)):
        return None
    return _storage(array, Space.SHARED, keeps)
