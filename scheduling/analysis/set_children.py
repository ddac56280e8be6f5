"""Children of a set, which run in any order, that meet in a cell.

isl's flow analysis finds no flow between them: it takes the writer of a set for the one who was meant.

before: set { w[0] = 1; } { w[1] = 2; }    both in one register
after:  { w[0] = 1 -> w[1] = 2 }
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import BLOCK, nodes, thread_sizes


def children_that_meet(tree: isl.Schedule, used: isl.UnionMap, written: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs of instances in different children of a set, at one time of the loops around it but for those
    over blocks and threads, that use one cell which one of them writes. `used` and `written` map instances to cells."""
    found = isl.UnionMap.empty(used.get_space())
    for node in nodes(tree):
        if node.get_type() != isl.schedule_node_type.set:
            continue
        times = _times(node)
        parts = [node.child(k).child(0).get_domain() for k in range(node.n_children())]
        at = [times.range_product(used.intersect_domain(part)) for part in parts]
        for k, part in enumerate(parts):
            writes = times.range_product(written.intersect_domain(part))
            for other in (*at[:k], *at[k + 1 :]):
                found = found.union(writes.apply_range(other.reverse()))
    return found


def _times(node: isl.ScheduleNode) -> isl.UnionMap:
    """Return the values of the loops around a node, of all that run one after another."""
    domain = node.get_domain()
    times = isl.UnionMap.from_domain(domain)
    while node.has_parent():
        node = node.parent()
        if node.get_type() != isl.schedule_node_type.band or node.band_n_member() == 0 or _is_spread(node):
            continue
        own = isl.UnionMap.from_multi_union_pw_aff(node.band_get_partial_schedule()).intersect_domain(domain)
        times = own.flat_range_product(times)
    return times


def _is_spread(band: isl.ScheduleNode) -> bool:
    """Return whether a band deals out to blocks or threads."""
    mark = band.parent()
    return mark_name(mark) == BLOCK or thread_sizes(mark) is not None
