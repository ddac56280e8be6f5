"""Kernels of one thread in a sequence, joined where nothing between them has to come first: a launch less each time.

before: for (k) { kernel { S6[k] }  kernel of S7[k, i]  kernel of S8[k, i]  kernel { S9[k] } }
after:  for (k) { kernel { S6[k]; S9[k] }  kernel of S7[k, i]  kernel of S8[k, i] }          S9 needs neither S7 nor S8
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import CONTEXT, mark_name, transform_node
from polytile.ir.schedule import BLOCK, KERNEL, nodes_below, thread_sizes

SEQUENCE = isl.schedule_node_type.sequence


def with_serial_kernels_joined(tree: isl.Schedule, dependences: isl.UnionMap) -> isl.Schedule:
    """Move each kernel of one thread into an earlier one of its sequence, where the dependences allow that."""
    return _visit(tree.get_root(), dependences).get_schedule()


def _visit(node: isl.ScheduleNode, dependences: isl.UnionMap) -> isl.ScheduleNode:
    if mark_name(node) == KERNEL:
        return node
    if node.get_type() == SEQUENCE:
        groups = _groups(node, dependences)
        if any(len(group) > 1 for group in groups):
            return _joined(node, groups)
    return transform_node(node, lambda child: _visit(child, dependences))


def _groups(node: isl.ScheduleNode, dependences: isl.UnionMap) -> list[list[int]]:
    """Return the children of a sequence, in the order in which they begin, with those that join one behind it."""
    here = node.get_domain()
    pairs = dependences.intersect_domain(here).intersect_range(here)
    around = node.get_prefix_schedule_multi_union_pw_aff()
    if around.dim(isl.dim_type.out):
        pairs = pairs.eq_at_multi_union_pw_aff(around)
    groups: list[list[int]] = []
    for k in range(node.n_children()):
        at = _earlier(node, groups, k, pairs) if _is_serial(node.child(k)) else None
        if at is None:
            groups.append([k])
        else:
            groups[at].append(k)
    return groups


def _earlier(node: isl.ScheduleNode, groups: list[list[int]], k: int, pairs: isl.UnionMap) -> int | None:
    """Return the last group of one thread that a child can join; None where what it waits for comes behind that."""
    waits = pairs.intersect_range(node.child(k).filter_get_filter()).domain()
    for at in reversed(range(len(groups))):
        if _is_serial(node.child(groups[at][0])):
            return at
        if not all(waits.is_disjoint(node.child(i).filter_get_filter()) for i in groups[at]):
            return None
    return None


def _is_serial(child: isl.ScheduleNode) -> bool:
    """Return whether a child of a sequence is one kernel without blocks and threads."""
    kernel = child.child(0)
    if mark_name(kernel) != KERNEL:
        return False
    return not any(mark_name(node) == BLOCK or thread_sizes(node) for node in nodes_below(kernel))


def _joined(node: isl.ScheduleNode, groups: list[list[int]]) -> isl.ScheduleNode:
    filters = isl.UnionSetList.alloc(CONTEXT, len(groups))
    for group in groups:
        own = node.child(group[0]).filter_get_filter()
        for k in group[1:]:
            own = own.union(node.child(k).filter_get_filter())
        filters = filters.add(own)
    node = node.insert_sequence(filters)
    for at, group in enumerate(groups):
        if len(group) > 1:
            node = _one_kernel(node.child(at).child(0)).parent().parent()
    return node


def _one_kernel(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Put the mark of a kernel above a sequence in place of those of its children."""
    for k in range(node.n_children()):
        node = node.child(k).child(0).delete().parent().parent()
    return node.insert_mark(isl.Id(KERNEL))
