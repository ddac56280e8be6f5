"""The proof that a mapped schedule runs every dependent pair of instances in order.

One recursion over the tree carries the pairs that nothing above has ordered yet. On the host, serial bands and
sequences order pairs. Blocks of a launch order nothing. Inside a block, a serial band or a sequence orders a pair when
the two instances run in the same thread, or when a barrier stands between its iterations or children. What is left at
a leaf, or runs the wrong way, is a violation, of which one pair is shown. Since "runs before" is transitive, it
suffices to prove the dependences of dependences.py, which leave out pairs that others imply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import IllegalSchedule, Location, UserError
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import (
    OverBudgetError,
    are_many,
    budget,
    maps,
    mark_name,
    sample,
    sets,
    values_at,
    without_conditions,
)
from polytile.ir.schedule import (
    BLOCK,
    KERNEL,
    SYNC,
    MappedSchedule,
    Path,
    check_marks,
    nodes,
    nodes_below,
    path_of,
    thread_sizes,
)
from polytile.ir.scop import Scop, Statement
from polytile.ir.thread_map import thread_map
from polytile.scheduling.analysis.dependences import Dependences

REVERSED = "the schedule runs them in the other order"
BLOCKS = "the schedule runs them in different blocks of one launch, which are unordered"
THREADS = "the schedule runs them in different threads with no barrier between"
UNORDERED = "the schedule leaves their order open"


@dataclass(frozen=True, slots=True)
class Violation:
    """Dependent pairs that the schedule does not keep, and what it does to them instead."""

    pairs: isl.UnionMap = field(compare=False)
    why: str
    path: Path


@dataclass(frozen=True, slots=True)
class BarrierReason:
    """A dependence that the barrier of the `sync` mark at `path` keeps."""

    path: Path
    source: str
    sink: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What was shown. `proven` is False when the operation budget ran out first; `facts` is for a reader."""

    proven: bool
    dependences: int  # basic maps proven
    barriers: tuple[BarrierReason, ...] = ()
    facts: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.proven:
            return "legality: not proven within the budget"
        return f"legality: proven for {self.dependences} dependence relations"


@dataclass
class _Walk:
    """One pass over a mapped tree. Collects violations instead of raising, so that barrier insertion can use it too,
    which looks for those `between_threads` alone. Statements that are `dealt_out` run in no known thread. Of pairs
    in `both_directions` one is the other way around. Reasons for barriers are for those who ask (`explained`)."""

    between_threads: bool = False
    explained: bool = False
    both_directions: bool = False
    dealt_out: isl.UnionSet | None = None
    violations: list[Violation] = field(default_factory=list)
    barriers: list[BarrierReason] = field(default_factory=list)

    def node(self, node: isl.ScheduleNode, pairs: isl.UnionMap, threads: isl.MultiUnionPwAff | None, role: str) -> None:
        """Visit a node with the pairs that it has to order.

        `threads` maps instances to their thread inside a kernel (None on the host, and where a kernel has one); `role`
        is the mark above.
        """
        if pairs.is_empty():
            return
        kind = node.get_type()
        if kind == isl.schedule_node_type.leaf:
            self._violation(pairs, UNORDERED, node)
        elif kind == isl.schedule_node_type.band:
            self._band(node, pairs, threads, role)
        elif kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            self._children(node, pairs, threads, role)
        elif kind == isl.schedule_node_type.filter:
            own = node.filter_get_filter()
            self.node(node.child(0), pairs.intersect_domain(own).intersect_range(own), threads, "")
        else:
            name = mark_name(node) or ""
            self.node(node.child(0), pairs, self._threads(node, pairs) if name == KERNEL else threads, name)

    def _threads(self, kernel: isl.ScheduleNode, pairs: isl.UnionMap) -> isl.MultiUnionPwAff | None:
        """Return which thread runs each instance; None where one thread runs them all, in the order of the tree as the
        host would."""
        if self.dealt_out is None and not any(thread_sizes(node) for node in nodes_below(kernel)):
            return None
        known = without_conditions(thread_map(kernel))
        if self.dealt_out is not None:
            return known.intersect_domain(kernel.get_domain().universe().subtract(self.dealt_out.universe()))
        return known.gist(kernel.get_domain()) if are_many(pairs) else known

    def _band(
        self, node: isl.ScheduleNode, pairs: isl.UnionMap, threads: isl.MultiUnionPwAff | None, role: str
    ) -> None:
        if node.band_n_member() == 0:
            return self.node(node.child(0), pairs, threads, "")
        partial = values_at(node, pairs)
        same = at_once(pairs, partial)
        if role == BLOCK:
            if not self.between_threads:
                self._violation(pairs.subtract(same), BLOCKS, node)
        else:
            if not self.between_threads and not self.both_directions:
                self._violation(_backward(pairs, partial), REVERSED, node)
            if threads is not None:
                self._inside(node, lambda some: _forward(some, partial), pairs, threads, role)
        self.node(node.child(0), same, threads, "")

    def _children(
        self, node: isl.ScheduleNode, pairs: isl.UnionMap, threads: isl.MultiUnionPwAff | None, role: str
    ) -> None:
        filters = [node.child(i).filter_get_filter() for i in range(node.n_children())]
        ordered = node.get_type() == isl.schedule_node_type.sequence
        names = [{str(s.get_tuple_name()) for s in sets(own)} for own in filters]
        for i, source in enumerate(filters):
            leaving = pairs.intersect_domain(source)
            if leaving.is_empty():
                continue
            self.node(node.child(i).child(0), leaving.intersect_range(source), threads, "")  # as behind the filter
            reached = {str(m.get_tuple_name(isl.dim_type.out)) for m in maps(leaving)}
            for j, sink in enumerate(filters):
                if i == j or names[j].isdisjoint(reached) or self._is_kept(ordered, i, j, threads):
                    continue
                between = leaving.intersect_range(sink)
                if between.is_empty():
                    continue
                if not ordered:
                    self._violation(between, UNORDERED, node)
                elif j < i:
                    self._violation(between, REVERSED, node)
                elif threads is not None:
                    self._inside(node, lambda some: some, between, threads, role)

    def _is_kept(self, ordered: bool, source: int, sink: int, threads: isl.MultiUnionPwAff | None) -> bool:
        """Return whether nothing can be wrong with pairs of two children.

        The host runs one after the other, and of pairs in both directions one is looked at.
        """
        return ordered and (threads is None if source < sink else self.both_directions)

    def _inside(
        self,
        node: isl.ScheduleNode,
        ordered: Callable[[isl.UnionMap], isl.UnionMap],
        pairs: isl.UnionMap,
        threads: isl.MultiUnionPwAff,
        role: str,
    ) -> None:
        """Check pairs of one block, of which this node runs those that are `ordered` one after the other.

        They run in one thread, or across a barrier. The reason for a barrier are the first two statements with a pair
        that crosses threads.
        """
        if role != SYNC:
            pairs = ordered(pairs)
            return self._violation(pairs.subtract(at_once(pairs, threads)), THREADS, node)
        for m in maps(pairs) if self.explained else ():
            own = ordered(isl.UnionMap.from_map(m))
            if not own.subtract(at_once(own, threads)).is_empty():
                source, sink = (str(m.get_tuple_name(kind)) for kind in (isl.dim_type.in_, isl.dim_type.out))
                self.barriers.append(BarrierReason(path_of(node.parent()), source, sink))
                return

    def _violation(self, pairs: isl.UnionMap, why: str, node: isl.ScheduleNode) -> None:
        if not pairs.is_empty():
            self.violations.append(Violation(pairs, why, path_of(node)))


@memoized
def at_once(pairs: isl.UnionMap, values: isl.MultiUnionPwAff) -> isl.UnionMap:
    """Return the pairs of instances that have the same values."""
    return pairs.eq_at_multi_union_pw_aff(values)


@memoized
def _forward(pairs: isl.UnionMap, values: isl.MultiUnionPwAff) -> isl.UnionMap:
    return pairs.lex_lt_at_multi_union_pw_aff(values)


@memoized
def _backward(pairs: isl.UnionMap, values: isl.MultiUnionPwAff) -> isl.UnionMap:
    return pairs.lex_gt_at_multi_union_pw_aff(values)


def unordered(
    tree: isl.Schedule,
    pairs: isl.UnionMap,
    dealt_out: isl.UnionSet | None = None,
    *,
    both_directions: bool = False,
) -> tuple[Violation, ...]:
    """Return the pairs of instances that a mapped tree does not order; empty when it keeps them all.

    Any thread of the block may run each instance that is `dealt_out`. Of pairs in `both_directions` either one may run
    before the other.
    """
    walk = _Walk(both_directions=both_directions, dealt_out=dealt_out)
    walk.node(tree.get_root(), pairs, None, "")
    return tuple(walk.violations)


def missing_barriers(tree: isl.Schedule, dependences: isl.UnionMap) -> set[Path]:
    """Return where dependent instances of one block run in different threads with nothing between them."""
    walk = _Walk(between_threads=True)
    walk.node(tree.get_root(), dependences, None, "")
    return {v.path for v in walk.violations if v.why == THREADS}


def require_mapped(scop: Scop, tree: isl.Schedule) -> None:
    """Raise UserError when the marks of a tree are not those of a mapped schedule."""
    try:
        check_marks(tree)
    except UserError as error:
        raise UserError(error.message, location=scop.location, hint=error.hint) from None


def prove(scop: Scop, dependences: Dependences, schedule: MappedSchedule, max_operations: int = 0) -> Proof:
    """Prove that `schedule` executes each instance of the Scop once and keeps every dependence.

    Raises UserError when the tree is not a mapped schedule of this Scop, IllegalSchedule with one counterexample
    when it breaks a dependence. The Proof is not proven when `max_operations` isl operations did not suffice.
    """
    require_mapped(scop, schedule.tree)
    walk = _Walk(explained=True)
    needed = _needed(scop, dependences, schedule).intersect_params(scop.context)
    try:
        with budget(max_operations):
            _check_domain(scop, schedule.tree)
            walk.node(schedule.tree.get_root(), needed, None, "")
    except OverBudgetError:
        return Proof(False, 0)
    if walk.violations:
        raise illegal(scop, dependences, walk.violations[0])
    relations = sum(m.n_basic_map() for m in maps(needed))
    relaxed = f"reductions that may change their order: {', '.join(schedule.relaxed) or 'none'}"
    return Proof(True, relations, tuple(walk.barriers), ("each instance runs once", relaxed))


def _needed(scop: Scop, dependences: Dependences, schedule: MappedSchedule) -> isl.UnionMap:
    """Return the dependences that a schedule must keep: those of a relaxed reduction to itself may go."""
    relaxed = isl.UnionSet.empty(scop.context.get_space().params())
    for name in schedule.relaxed:
        relaxed = relaxed.union(isl.UnionSet.from_set(scop.statement(name).domain))
    if relaxed.is_empty():
        return dependences.all
    own = dependences.reductions.intersect_domain(relaxed).intersect_range(relaxed)
    total = isl.UnionMap.empty(scop.context.get_space().params())
    for found in dependences.by_array:
        through = {s.name for s in scop.statements if s.reduction is not None and s.reduction.array == found.array}
        kept = found.all.subtract(own) if through & set(schedule.relaxed) else found.all
        total = total.union(kept)
    return total


def _check_domain(scop: Scop, tree: isl.Schedule) -> None:
    """Check that each instance runs once.

    The tree's domain is the Scop's, filters split it, bands are defined all over it.
    """
    wanted = scop.domain.intersect_params(scop.context)
    if not tree.get_domain().intersect_params(scop.context).is_equal(wanted):
        raise _incomplete(f"the schedule does not execute exactly the instances of {scop.name}", scop)
    for node in nodes(tree):
        kind = node.get_type()
        if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            _check_partition(scop, node)
        elif kind == isl.schedule_node_type.filter:
            _check_filter(scop, node)
        elif kind == isl.schedule_node_type.band and node.band_n_member() > 0:
            covered = node.band_get_partial_schedule().domain()
            if not node.get_domain().intersect_params(scop.context).is_subset(covered):
                raise _incomplete("a band of the schedule leaves out instances", scop)


def _incomplete(message: str, scop: Scop) -> IllegalSchedule:
    hint = "start from a file that --save-schedule wrote, and keep each instance in it exactly once"
    return IllegalSchedule(message, location=scop.location, hint=hint)


def _check_filter(scop: Scop, node: isl.ScheduleNode) -> None:
    """Check that a filter leaves out instances only where its siblings have them."""
    if node.parent().get_type() in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        return
    if not node.get_domain().intersect_params(scop.context).is_subset(node.filter_get_filter()):
        raise _incomplete("a filter of the schedule leaves out instances", scop)


def _check_partition(scop: Scop, node: isl.ScheduleNode) -> None:
    seen = isl.UnionSet.empty(node.get_domain().get_space())
    for i in range(node.n_children()):
        own = node.child(i).filter_get_filter().intersect(node.get_domain())
        if not own.is_disjoint(seen):
            raise _incomplete("two filters of the schedule share instances", scop)
        seen = seen.union(own)
    if not node.get_domain().intersect_params(scop.context).is_subset(seen):
        raise _incomplete("the filters of the schedule leave out instances", scop)


def illegal(scop: Scop, dependences: Dependences, violation: Violation) -> IllegalSchedule:
    """Build the error for a violation, with one pair of instances in source terms."""
    found = sample(violation.pairs)
    assert found is not None, "a violation has a pair"
    source, at, sink, then, parameters = found
    first, second = scop.statement(source), scop.statement(sink)
    where = ", ".join(f"{n}={v}" for n, v in parameters.items())
    arrays = " and ".join(dependences.arrays_between(source, sink)) or "memory"
    return IllegalSchedule(
        f"illegal schedule: {instance(first, at)} must run before {instance(second, then)}, through {arrays}"
        f"{f' (with {where})' if where else ''}, but {violation.why}",
        location=_located(first, scop),
        hint="this pair is one counterexample; there may be more",
    )


def _located(statement: Statement, scop: Scop) -> Location:
    return statement.location if statement.location.line else scop.location


def instance(statement: Statement, values: tuple[int, ...]) -> str:
    """Format an instance as `S1 (lu.c:34) at i=1, j=0`."""
    at = ", ".join(f"{n}={v}" for n, v in zip(statement.iterators, values, strict=True))
    place = f" ({statement.location.short})" if statement.location.line else ""
    return f"{statement.name}{place}{f' at {at}' if at else ''}"
