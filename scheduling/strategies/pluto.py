"""The classic strategy: isl's Pluto-style scheduler, with coincidence, under a budget [Verdoolaege et al. 2013].

Its result is a schedule tree of permutable bands with coincident members; mapping.py gives it to blocks and threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_time_limit import in_bounded_time
from polytile.ir.isl_util import CONTEXT, OverBudgetError, are_many, budget, transform_node, values_at
from polytile.ir.schedule import nodes_below
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.band_rewriting import Member, insert_band, members_of
from polytile.scheduling.strategies.index_set_splitting import split_schedule

SECONDS = 4  # of processor time, for one schedule
SECONDS_INEXACT = 1  # where all conflicts count as dependences: isl gets through these at once, or not at all
GAVE_UP = "isl's scheduler gave up"  # what a note says of a schedule that took longer
CANNOT_CARRY = "unable to carry dependences"  # what isl fails with
NOT_ASKED = "isl's scheduler is not asked"  # and of one that would
MOST_INEXACT = 3000  # such relations: each takes isl a third of a millisecond before it starts
FEW_RELATIONS = 40  # basic maps of dependences, for which isl never takes long


class _NotAskedError(OverBudgetError):
    """There are so many relations that isl would not end in time."""


@dataclass(frozen=True, slots=True)
class BandTree:
    """A tree of permutable bands, not yet mapped."""

    fusion: str  # "fused", "distributed", "original order" or "split index sets"
    tree: isl.Schedule = field(compare=False)
    notes: tuple[str, ...] = ()


@contextmanager
def _scheduler_options(*, distribute: bool) -> Iterator[None]:
    """Set isl's options for outer parallelism first and bands as deep as possible.

    isl keeps these in its context, so they are put back.
    """
    outer, depth = CONTEXT.get_schedule_outer_coincidence(), CONTEXT.get_schedule_maximize_band_depth()
    components = CONTEXT.get_schedule_serialize_sccs()
    CONTEXT.set_schedule_outer_coincidence(1)
    CONTEXT.set_schedule_maximize_band_depth(1)
    CONTEXT.set_schedule_serialize_sccs(int(distribute))
    try:
        yield
    finally:
        CONTEXT.set_schedule_outer_coincidence(outer)
        CONTEXT.set_schedule_maximize_band_depth(depth)
        CONTEXT.set_schedule_serialize_sccs(components)


def band_trees(scop: Scop, dependences: Dependences, max_operations: int) -> list[BandTree]:
    """Schedule trees of permutable bands for the Scop: as isl fuses it, and with one tree per strongly connected
    component of the dependences; then the original order; then over split index sets, where these leave more than one
    serial loop around a statement.

    Components come first, as isl fuses what it has made of them: where they use up `max_operations`, the original order
    is the only tree; where only fusion does, the components and the original order are left.
    """
    original = original_order(scop, dependences)
    found: list[BandTree] = []
    try:
        for fusion in ("distributed", "fused"):
            tree = _bounded_schedule(scop, dependences, max_operations, distribute=fusion == "distributed")
            found.insert(0, BandTree(fusion, _with_copies(scop, dependences, tree)))
    except _NotAskedError as reason:
        note = f"{NOT_ASKED}, as {reason}; the original loop order is used"
        return [BandTree("original order", original, (note,))]
    except OverBudgetError:
        limits = f"{max_operations} operations or {_seconds(dependences)} s"
        if not found:
            note = f"{GAVE_UP} after {limits}; the original loop order is used"
            return [BandTree("original order", original, (note,))]
        notes = (f"{GAVE_UP} fusing loops after {limits}",)
        return [*(replace(one, notes=notes) for one in found), BandTree("original order", original, notes)]
    found.append(BandTree("original order", original))
    try:
        with budget(max_operations):
            split = split_schedule(scop, dependences.all.intersect_params(scop.context), [c.tree for c in found])
    except OverBudgetError:
        return found
    if split is not None:
        tree = mark_coincident(_with_copies(scop, dependences, split), dependences.all)
        found.append(BandTree("split index sets", tree))
    return found


def is_unscheduled(notes: Iterable[str]) -> bool:
    """Return whether notes say that isl found no schedule in time, or was not asked for one, and would not for more."""
    return any(reason in note for note in notes for reason in (GAVE_UP, NOT_ASKED))


def distinct(found: list[BandTree]) -> list[BandTree]:
    """Remove the trees that are the same as an earlier one."""
    kept: list[BandTree] = []
    for one in found:
        if not any(one.tree.plain_is_equal(other.tree) for other in kept):
            kept.append(one)
    return kept


def _bounded_schedule(
    scop: Scop, dependences: Dependences, max_operations: int, *, distribute: bool
) -> isl.Schedule:
    """Compute isl's schedule, in a process of its own where the dependences are many; raises OverBudgetError."""
    relations = dependences.relations
    if relations > MOST_INEXACT and not dependences.exact:
        raise _NotAskedError(f"{relations} relations of conflicting accesses are more than {MOST_INEXACT}")
    if relations <= FEW_RELATIONS:
        with budget(max_operations):
            return _band_schedule(scop, dependences.all, dependences.flow, distribute=distribute)

    def compute() -> str:
        with budget(max_operations):
            needed, flow = dependences.all, dependences.flow
            if dependences.exact:  # conflicts are of few kinds already, and joining them takes longer than scheduling
                needed, flow = needed.coalesce(), flow.coalesce()
            return str(_band_schedule(scop, needed, flow, distribute=distribute))

    return isl.Schedule(in_bounded_time(compute, _seconds(dependences)))


def _seconds(dependences: Dependences) -> int:
    return SECONDS if dependences.exact else SECONDS_INEXACT


def permutable_tree(scop: Scop, dependences: Dependences) -> isl.Schedule:
    """Schedule the Scop's main statements in bands as deep as possible, be their loops parallel or not: what may be
    tiled. Every member counts as coincident."""
    return _band_schedule(scop, dependences.all, dependences.flow, distribute=False, parallel=False)


def _band_schedule(
    scop: Scop, needed: isl.UnionMap, flow: isl.UnionMap, *, distribute: bool, parallel: bool = True
) -> isl.Schedule:
    """Compute isl's schedule of everything but the prologue and the epilogue."""
    main = isl.UnionSet.empty(scop.domain.get_space())
    for statement in scop.main:
        main = main.union(isl.UnionSet.from_set(statement.domain.intersect_params(scop.context)))
    needed, flow = (pairs.intersect_domain(main).intersect_range(main) for pairs in (needed, flow))
    return _computed(main, needed, flow, scop.context, distribute, parallel)


@memoized
def _computed(
    main: isl.UnionSet, needed: isl.UnionMap, flow: isl.UnionMap, context: isl.Set, distribute: bool, parallel: bool
) -> isl.Schedule:
    constraints = isl.ScheduleConstraints.on_domain(main).set_validity(needed).set_proximity(flow)
    constraints = constraints.set_coincidence(needed) if parallel else constraints
    with _scheduler_options(distribute=distribute):
        try:
            return constraints.set_context(context).compute_schedule()
        except isl.Error as error:
            # isl drops from relations what a context says: it cannot carry S[i] -> S[i + m] without its m > 0
            if CANNOT_CARRY not in str(error):
                raise
            return constraints.compute_schedule()


def _with_copies(scop: Scop, dependences: Dependences, tree: isl.Schedule) -> isl.Schedule:
    """Put the tree after the prologue and before the epilogue, each statement of which has its own loops."""

    def alone(name: str) -> isl.Schedule:
        own = isl.UnionSet.from_set(scop.statement(name).domain)
        return mark_coincident(scop.schedule.intersect_domain(own), dependences.all)

    for name in reversed(scop.prologue):
        tree = alone(name).sequence(tree)
    for name in scop.epilogue:
        tree = tree.sequence(alone(name))
    return tree


def original_order(scop: Scop, dependences: Dependences) -> isl.Schedule:
    """Return the source's own loops, coincident where they carry no dependence, and nests of such loops as one band."""
    tree = scop.schedule.intersect_domain(scop.domain.intersect_params(scop.context))
    return mark_coincident(tree, dependences.all)


def mark_coincident(tree: isl.Schedule, dependences: isl.UnionMap) -> isl.Schedule:
    """Recompute which band members carry no dependence; bands of several members that are not marked permutable are
    split, so that each member stands alone.

    before: band [t, i], nothing known
    after:  band [t] (serial) with the band [i] (coincident) below
    """
    own = tree.get_domain()
    pairs = dependences.intersect_domain(own).intersect_range(own)
    return _merge(_mark(tree.get_root(), pairs), pairs).get_schedule()


def _mark(node: isl.ScheduleNode, pairs: isl.UnionMap) -> isl.ScheduleNode:
    if node.get_type() == isl.schedule_node_type.filter:
        own = node.filter_get_filter()
        pairs = pairs.intersect_domain(own).intersect_range(own)
    if node.get_type() != isl.schedule_node_type.band or node.band_n_member() == 0:
        return transform_node(node, lambda child: _mark(child, pairs))
    if node.band_n_member() > 1 and not node.band_get_permutable():
        return _mark(node.band_split(1), pairs)
    here = node.get_domain()
    same = [_equal_in(m, pairs, here) for m in members_of(node)]
    members = [Member(m.value, bool(pairs.is_subset(s))) for m, s in zip(members_of(node), same, strict=True)]
    permutable = bool(node.band_get_permutable())
    node = insert_band(node.delete(), members, permutable)
    below = same[0] if len(same) == 1 else pairs.eq_at_multi_union_pw_aff(values_at(node, pairs))
    return transform_node(node, lambda child: _mark(child, below))


def _merge(node: isl.ScheduleNode, pairs: isl.UnionMap) -> isl.ScheduleNode:
    """Join coincident bands that stand directly inside one another and carry nothing of the outer one's pairs."""
    if not any(_may_join(inner) for inner in nodes_below(node)):
        return node
    if node.get_type() == isl.schedule_node_type.filter:
        own = node.filter_get_filter()
        pairs = pairs.intersect_domain(own).intersect_range(own)
    if node.get_type() != isl.schedule_node_type.band or node.band_n_member() == 0:
        return transform_node(node, lambda child: _merge(child, pairs))
    members = members_of(node)
    while _joins(node, members, pairs):
        members += [Member(m.value, True) for m in members_of(node.child(0))]
        node = insert_band(node.delete().delete(), members)
    rest = pairs.eq_at_multi_union_pw_aff(values_at(node, pairs))
    return transform_node(node, lambda child: _merge(child, rest))


def _may_join(node: isl.ScheduleNode) -> bool:
    """Return whether a coincident band has one directly below.

    What carries nothing of the outer one's pairs carries none of those that are left inside it.
    """
    found = node
    for _ in range(2):
        if found.get_type() != isl.schedule_node_type.band or not all(m.coincident for m in members_of(found)):
            return False
        found = found.child(0)
    return True


def _joins(node: isl.ScheduleNode, members: list[Member], pairs: isl.UnionMap) -> bool:
    """Return whether the band directly below a coincident band is as parallel as that one."""
    below = node.child(0)
    if below.get_type() != isl.schedule_node_type.band or not all(m.coincident for m in members):
        return False
    here = node.get_domain()
    return all(pairs.is_subset(_equal_in(m, pairs, here)) for m in members_of(below))


def _equal_in(member: Member, pairs: isl.UnionMap, instances: isl.UnionSet) -> isl.UnionMap:
    """Return the pairs of these instances that run in the same iteration of a loop."""
    value = member.value.gist(instances) if are_many(pairs) else member.value
    return pairs.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(value))
