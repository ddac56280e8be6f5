"""Barriers only where threads of a block need what others did.

before: sync sequence { {A} {B} {C} {D} }        D reads what other threads did in B; the rest stays in its threads
after:  sync sequence { {A} {B} {C} } { {D} }    one barrier in place of three
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.isl_util import maps, mark_name, sets, union_of, without_conditions
from polytile.ir.schedule import KERNEL, SYNC, node_at, nodes, path_of
from polytile.ir.thread_map import thread_map
from polytile.scheduling.analysis.source_order import name_of
from polytile.scheduling.proof.legality import at_once, unordered


def without_barriers(tree: isl.Schedule, dependences: isl.UnionMap) -> isl.Schedule:
    """Remove the barriers that no dependence needs from a tree.

    As few as can be are left between the children of a sequence, and none at the end of a loop's iterations that keep
    to their threads.
    """
    for path in sorted((path_of(n) for n in nodes(tree) if mark_name(n) == SYNC), reverse=True):
        mark = node_at(tree, path)
        if mark.child(0).get_type() == isl.schedule_node_type.sequence:
            tree = _grouped(mark, dependences)
        elif not unordered(thinner := mark.delete().get_schedule(), _inside(mark, dependences)):
            tree = thinner
    return tree


def _grouped(mark: isl.ScheduleNode, dependences: isl.UnionMap) -> isl.Schedule:
    """Keep barriers only between groups of children, each group being as long as it can be."""
    sequence = mark.child(0)
    filters = [sequence.child(k).filter_get_filter() for k in range(sequence.n_children())]
    pairs = _between_threads(mark, _onward(dependences, filters))
    groups: list[isl.UnionSet] = []
    for part in filters:
        if not groups or not pairs.intersect_domain(groups[-1]).intersect_range(part).is_empty():
            groups.append(part)
        else:
            groups[-1] = groups[-1].union(part)
    if len(groups) == len(filters):
        return mark.get_schedule()
    plain = mark.delete()
    if len(groups) == 1:
        return plain.get_schedule()
    chosen = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(groups))
    for group in groups:
        chosen = chosen.add(group)
    return plain.insert_sequence(chosen).insert_mark(isl.Id(SYNC)).get_schedule()


def _onward(dependences: isl.UnionMap, filters: Sequence[isl.UnionSet]) -> isl.UnionMap:
    """Find the dependences between statements of one child of a sequence and those of a later one: chains within a
    child, which take isl longest, need none of its barriers."""
    places: dict[str, list[int]] = {}
    for k, part in enumerate(filters):
        for own in sets(part):
            places.setdefault(str(own.get_tuple_name()), []).append(k)
    kept = (
        isl.UnionMap.from_map(m)
        for m in maps(dependences)
        if (first := places.get(name_of(m, isl.dim_type.in_)))
        and (then := places.get(name_of(m, isl.dim_type.out)))
        and first[0] < then[-1]
    )
    return union_of(kept, dependences.get_space())


def _between_threads(mark: isl.ScheduleNode, dependences: isl.UnionMap) -> isl.UnionMap:
    """Return the dependent pairs of different threads that only this node can order."""
    pairs = _inside(mark, dependences)
    if mark.get_schedule_depth() > 0:
        pairs = at_once(pairs, without_conditions(mark.get_prefix_schedule_multi_union_pw_aff()))
    kernel = mark
    while mark_name(kernel) != KERNEL:
        kernel = kernel.parent()
    return pairs.subtract(at_once(pairs, without_conditions(thread_map(kernel))))


def _inside(mark: isl.ScheduleNode, dependences: isl.UnionMap) -> isl.UnionMap:
    """Return the dependent pairs of instances below a node: it orders no others."""
    domain = mark.get_domain()
    return dependences.intersect_domain(domain).intersect_range(domain)
