"""Domains that are padded to full tiles, so that loops in a tile have constant bounds and executions have guards.

before: for (c2 = 0; c2 <= min(3, (ni - 64 * bi - ti - 1) / 16); c2 += 1) S(64 * bi + 16 * c2 + ti)
after:  for (c2 = 0; c2 <= 3; c2 += 1) if (64 * bi + 16 * c2 + ti < ni) S(64 * bi + 16 * c2 + ti)

A tile is what a thread block runs in one iteration of its loops above the thread band. Guards that a whole tile keeps
are then tested once (codegen/passes/partition_tiles.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import islpy as isl

from polytile.ir.copy_tree import with_more_instances
from polytile.ir.isl_util import maps, mark_name, sets
from polytile.ir.schedule import KERNEL, nodes_below, thread_sizes


def with_full_tiles(tree: isl.Schedule, kernels: Collection[int]) -> isl.Schedule:
    """Pad the domains of the kernels of these numbers to full tiles.

    Statements whose bounds of one loop inside the thread band vary with another one, and those of several kernels, keep
    their domains.
    """
    marks = [node for node in nodes_below(tree.get_root()) if mark_name(node) == KERNEL]
    inside = Counter(s.get_tuple_name() for mark in marks for s in sets(mark.get_domain()))
    more = isl.UnionSet("{ }")
    for number in kernels:
        for padded in _padded(marks[number]):
            if inside[padded.get_tuple_name()] == 1:
                more = more.union(isl.UnionSet.from_set(padded))
    return with_more_instances(tree, more)


def _padded(kernel: isl.ScheduleNode) -> Iterator[isl.Set]:
    """Yield the padded domains of statements below one leaf each."""
    leaves: dict[str, list[isl.Set | None]] = {}
    for mark in nodes_below(kernel):
        if thread_sizes(mark):
            for leaf in (n for n in nodes_below(mark) if n.get_type() == isl.schedule_node_type.leaf):
                for domain in sets(leaf.get_domain()):
                    leaves.setdefault(domain.get_tuple_name(), []).append(_full(leaf, mark, domain))
    for found in leaves.values():
        if len(found) == 1 and found[0] is not None:
            yield found[0]


def _full(leaf: isl.ScheduleNode, mark: isl.ScheduleNode, domain: isl.Set) -> isl.Set | None:
    """Return the instances of all tiles that have an instance of the domain.

    Loops in a tile with constant bounds run over all of their values. None where the bounds of another loop in the tile
    vary with these.
    """
    above = int(mark.get_schedule_depth())
    prefix = leaf.get_prefix_schedule_multi_union_pw_aff()
    own = isl.UnionSet.from_set(domain)
    (full,) = maps(isl.UnionMap.from_multi_union_pw_aff(prefix).intersect_domain(own).gist_domain(own))
    run = full.intersect_domain(domain).range()
    bounds = {k: (run.dim_min_val(k), run.dim_max_val(k)) for k in range(above, int(run.dim(isl.dim_type.set)))}
    constant = {k: (low, high) for k, (low, high) in bounds.items() if low.is_int() and high.is_int()}
    others = bounds.keys() - constant.keys()
    there = _without(run, constant)
    if others and not there.intersect(_without(run, others)).is_subset(run):
        return None
    for k, (low, high) in constant.items():
        there = there.lower_bound_val(isl.dim_type.set, k, low).upper_bound_val(isl.dim_type.set, k, high)
    return full.intersect_range(there).domain()


def _without(run: isl.Set, dimensions: Iterable[int]) -> isl.Set:
    """Relax these dimensions of a set to any value, where the others have one."""
    for k in dimensions:
        run = run.project_out(isl.dim_type.set, k, 1).insert_dims(isl.dim_type.set, k, 1)
    return run.reset_tuple_id()
