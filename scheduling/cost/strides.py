"""How an array's elements lie to one another when one loop advances: next to each other, at one place, or apart.

Threads of a warp differ in the loop mapped to thread.x; a request is coalesced when that loop moves each access by
at most one element of the innermost dimension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import islpy as isl

from polytile.ir.expr import Call
from polytile.ir.expr_trees import walk
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import CONTEXT, affine_rank, band_members, is_constant, maps, mark_name, sets, times_at
from polytile.ir.libm import is_long
from polytile.ir.schedule import BLOCK, thread_sizes
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement
from polytile.scheduling.analysis.affine_references import Reference, magnitude, references
from polytile.scheduling.cost.array_layout import stride

DEPTH_WEIGHT = 16  # how much more often an access runs for each loop around it, as a guess


def mapped_cost(scop: Scop, kernel: isl.ScheduleNode) -> Counter[str]:
    """Guess the memory time of one mapped kernel, to compare schedules of the same program.

    By array and for the rest (""): every access counts once for each instance, more when a warp's request is not
    coalesced, more again when few threads share the work; and every launch counts, and functions that one thread
    computes.
    """
    cost = Counter({"": LAUNCH * DEPTH_WEIGHT ** _host_loops(kernel)})
    for leaf in _leaves(kernel):
        cost.update(_leaf_cost(scop, leaf, _thread_band(leaf)))
    return cost


COALESCED, IN_LINES, APART = 0, 3, 4  # how far the elements of a request lie from one another, as a cost
NEAR = 4  # elements between those of neighbouring lanes, of which a line of 128 bytes holds at least four
STRIDED = 8  # a request of 32 lines against one of 4 to 8
LAUNCH = DEPTH_WEIGHT**2  # a launch takes about as long as one access to each element of a matrix
FEW_THREADS = {0: 64, 1: 8}  # by the number of loops that run in parallel
FUNCTION = 4  # accesses that take one thread as long as a function of C's library


def few_threads(tree: isl.Schedule) -> bool:
    """Return whether a part of a mapped tree runs on one thread or on those of a single parallel loop."""
    return any((_thread_band(leaf) or (0, 0))[1] < 2 for leaf in _leaves(tree.get_root()))


def has_serial_part(tree: isl.Schedule) -> bool:
    """Return whether a part of a mapped tree runs on one thread."""
    return any(_thread_band(leaf) is None for leaf in _leaves(tree.get_root()))


def narrow_statements(tree: isl.Schedule) -> int:
    """Count the statements that run on one thread or on those of a single parallel loop."""
    return sum(
        len(sets(leaf.get_domain())) for leaf in _leaves(tree.get_root()) if (_thread_band(leaf) or (0, 0))[1] < 2
    )


def _thread_band(leaf: isl.ScheduleNode) -> tuple[int, int] | None:
    """Return (the schedule dimension along x, the number of parallel loops) of the thread band above a leaf.

    A block band over other iterators than the thread band's is parallelism of its own; the tiles of the same loops
    are not.
    """
    node = leaf
    along_x, threads, within = 0, 0, frozenset[str]()
    while node.has_parent():
        node = node.parent()
        if sizes := thread_sizes(node):
            along_x, threads = int(node.get_schedule_depth()) + len(sizes) - 1, len(sizes)
            within = _iterators(node.child(0))
        elif mark_name(node) == BLOCK and threads:
            blocks = int(node.child(0).band_n_member())
            own = within <= _iterators(node.child(0))
            return along_x, max(blocks, threads) if own else blocks + threads
    return (along_x, threads) if threads else None


def _host_loops(kernel: isl.ScheduleNode) -> int:
    """Count the loops that launch a kernel."""
    loops = 0
    while kernel.has_parent():
        kernel = kernel.parent()
        if kernel.get_type() == isl.schedule_node_type.band:
            loops += sum(not is_constant(member) for member in band_members(kernel))
    return loops


def _iterators(band: isl.ScheduleNode) -> frozenset[str]:
    """Return what the members of a band depend on, as `S1:0` for iterator 0 of S1."""
    found: set[str] = set()

    def visit(value: isl.PwAff) -> None:
        name = value.get_domain_space().get_tuple_name(isl.dim_type.set)
        rank = value.dim(isl.dim_type.in_)
        found.update(f"{name}:{i}" for i in range(rank) if value.involves_dims(isl.dim_type.in_, i, 1))

    for member in band_members(band):
        member.foreach_pw_aff(visit)
    return frozenset(found)


def _leaf_cost(scop: Scop, leaf: isl.ScheduleNode, threads: tuple[int, int] | None) -> Counter[str]:
    order = times_at(leaf)
    cost: Counter[str] = Counter()
    for mapped in maps(order):
        statement = scop.statement(mapped.get_tuple_name(isl.dim_type.in_))
        instances = DEPTH_WEIGHT ** max(map(affine_rank, mapped.domain().get_basic_sets()), default=0)
        requests = None if threads is None else _Requests(scop, mapped, threads[0])
        few = FEW_THREADS.get(threads[1] if threads else 0, 1)
        for access in statement.relations(AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE):
            coalesced = requests is None or requests.scattered(access) == COALESCED
            cost[access.array] += instances * few * (1 if coalesced else STRIDED)
        if threads is None:
            cost[""] += instances * few * FUNCTION * _functions(statement)
    return cost


def _functions(statement: Statement) -> int:
    return sum(isinstance(n, Call) and is_long(n.function) for part in statement.body for n in walk(part))


def strided_accesses(scop: Scop, band: isl.ScheduleNode, members: Sequence[int]) -> dict[int, int]:
    """Count, for each member, the accesses below `band` that are not coalesced when it runs along a warp.

    Counts are weighted: those of which several threads of a warp find their elements in a line of a cache count for a
    little less.
    """
    first = int(band.get_schedule_depth())
    cost = dict.fromkeys(members, 0)
    for leaf in _leaves(band):
        depth = int(leaf.get_schedule_depth())
        order = times_at(leaf)
        places = {member: first + member for member in members if first + member < depth}
        for mapped in maps(order):
            statement = scop.statement(mapped.get_tuple_name(isl.dim_type.in_))
            accesses = list(statement.relations(AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE))
            for member, position in places.items():
                requests = _Requests(scop, mapped, position)
                apart = sum(requests.scattered(access) for access in accesses)
                cost[member] += apart * DEPTH_WEIGHT**depth
    return cost


def _leaves(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    if node.n_children() == 0 or node.get_type() == isl.schedule_node_type.leaf:
        return [node]
    return [leaf for i in range(node.n_children()) for leaf in _leaves(node.child(i))]


def _step(depth: int, position: int) -> isl.Map:
    """Return the points of time one step apart along a dimension, `{ [t, x] -> [t, x + 1] }`."""
    times = isl.Space.set_alloc(CONTEXT, 0, depth)
    total = isl.Map.universe(times.map_from_set())
    for k in range(depth):
        if k != position:
            total = total.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    along = isl.Constraint.equality_alloc(isl.LocalSpace.from_space(total.get_space()))
    along = along.set_coefficient_val(isl.dim_type.in_, position, isl.Val(1))
    along = along.set_coefficient_val(isl.dim_type.out, position, isl.Val(-1))
    return total.add_constraint(along.set_constant_val(isl.Val(1)))


@memoized
def thread_distance(mapped: isl.Map, position: int) -> tuple[int, ...] | None:
    """Find how far the iterators of neighbouring threads are apart, for a statement in time, `{ S[i] -> [t] }`; None
    where that differs, or there are none."""
    rank = mapped.dim(isl.dim_type.in_)
    step = _step(mapped.dim(isl.dim_type.out), position)
    distances = mapped.apply_range(step).apply_range(mapped.reverse()).deltas()
    if distances.is_empty():
        return None
    hull = isl.Set.from_basic_set(distances.affine_hull())
    values = [hull.plain_get_val_if_fixed(isl.dim_type.set, k) for k in range(rank)]
    return tuple(int(v.to_python()) for v in values) if all(v.is_int() for v in values) else None


class _Requests:
    """The requests of a warp for the accesses of one statement, `{ S[i] -> [t] }` in time, whose threads differ in one
    dimension of it. Accesses that differ by constants, as in a stencil, make the same requests elsewhere."""

    def __init__(self, scop: Scop, mapped: isl.Map, position: int) -> None:
        self._mapped, self._position = mapped, position
        self._distance = thread_distance(mapped, position)
        statement = scop.statement(mapped.get_tuple_name(isl.dim_type.in_))
        self._references = {id(r.access): r for r in references(scop, statement)}
        self._known: dict[object, int] = {}

    def scattered(self, access: AccessRelation) -> int:
        """Return COALESCED where neighbouring threads reach neighbouring elements or one, IN_LINES where they reach
        elements that are near each other, or APART."""
        reference = self._references.get(id(access))
        if reference is None:
            return COALESCED  # a scalar that travels by value
        key = reference.base, reference.field, reference.linear
        if key not in self._known:
            self._known[key] = self._of(reference)
        return self._known[key]

    def _of(self, reference: Reference) -> int:
        if self._distance is None or not reference.exact or any(f.floors for f in reference.linear.forms if f):
            step = _step(self._mapped.dim(isl.dim_type.out), self._position)
            return _scattered(self._mapped.reverse().apply_range(reference.access.relation), step)
        apart = stride(reference, self._distance)
        if apart is None or magnitude(apart) > NEAR:
            return APART
        return COALESCED if magnitude(apart) <= 1 else IN_LINES


def _scattered(touched: isl.Map, step: isl.Map) -> int:
    rank = touched.dim(isl.dim_type.out)
    if rank == 0:
        return COALESCED
    moves = step.apply_domain(touched).apply_range(touched).deltas()
    for i in range(rank - 1):
        if not moves.plain_is_empty() and not moves.is_subset(_plane(moves, i, 0, 0)):
            return APART
    if moves.is_subset(_plane(moves, rank - 1, -1, 1)):
        return COALESCED
    return IN_LINES if moves.is_subset(_plane(moves, rank - 1, -NEAR, NEAR)) else APART


def _plane(like: isl.Set, dim: int, low: int, high: int) -> isl.Set:
    plane = isl.Set.universe(like.get_space())
    return plane.lower_bound_val(isl.dim_type.set, dim, low).upper_bound_val(isl.dim_type.set, dim, high)
