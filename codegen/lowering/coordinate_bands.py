"""Bands of which a block or a thread has one value: isl makes its loops without them.

before: filter { S[i] : floor(i/8) = bi } { band [floor(i/8)] { rest } }
after:  filter { S[i] : floor(i/8) = bi } { rest }

isl would make a loop of one iteration for each member, and compare all statements below it pair by pair for that.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import band_members, mark_name
from polytile.ir.schedule import SYNC, thread_sizes


def can_be_left_out(band: isl.ScheduleNode) -> bool:
    """Return whether loops are right without the band of blocks.

    Where threads meet in no loop, isl puts conditions of other blocks around barriers; what is isolated counts the
    members around it.
    """
    return not band.is_subtree_anchored() and not _meets_outside_loops(band)


def _meets_outside_loops(band: isl.ScheduleNode) -> bool:
    below = [band.child(0)]
    while below:
        node = below.pop()
        if node.get_type() == isl.schedule_node_type.band and not thread_sizes(node.parent()):
            continue
        if mark_name(node) == SYNC and node.child(0).get_type() != isl.schedule_node_type.band:
            return True
        below += [node.child(i) for i in range(node.n_children())]
    return False


def is_around_all_threads(block_mark: isl.ScheduleNode, sizes: tuple[int, ...]) -> bool:
    """Return whether the band of blocks is directly around a thread band, of whose values each thread has one."""
    threads = block_mark.child(0).child(0)
    return bool(thread_sizes(threads)) and one_each(threads.child(0), sizes)


def one_each(node: isl.ScheduleNode, sizes: tuple[int, ...]) -> bool:
    """Return whether the values of a thread band are the threads: each has one iteration at most."""
    own = node.get_domain()
    for member, size in zip(band_members(node), sizes, strict=True):
        values = isl.Set.from_union_set(isl.UnionMap.from_union_pw_aff(member.intersect_domain(own)).range())
        least, most = values.dim_min_val(0), values.dim_max_val(0)
        if not (least.is_int() and most.is_int() and least.is_nonneg() and most.lt(isl.Val(size))):
            return False
    return True
