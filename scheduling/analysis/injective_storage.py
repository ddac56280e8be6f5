"""Cells of which each holds one element in an iteration of the loops around all that use the array: values pass through
such cells as they pass through elements, which the dependences know.

before: for (c) { part[i][c] = 0; for (k) part[i][c] += A[i][16 * c + k]; x[i] += part[i][c]; }    thread i, loop c
after:  for (c) { part = 0; ... }                  element (i, c) to the cell of thread i in iteration c: one to one

Why it is the same. Let the tree keep the order of all accesses to each element, and let nothing be read that was not
written. A read of an element in iteration p finds in its cell what was written there last. Whatever is written to this
cell in p is the same element, as the cell holds no other one in p; all writes of the element are in p, as it has this
cell alone and this iteration alone; and there is one before the read. So writes of other iterations, each of which is
before or after the whole of p, are not the last, and the last one is the last write of the element.
"""

from __future__ import annotations

import islpy as isl


def holds_one_at_a_time(
    tree: isl.Schedule, place: isl.UnionMap, accesses: isl.UnionMap, cell: isl.UnionMap
) -> bool:
    """Return whether in each iteration of the loops of `tree` that are around all of `accesses`, `{ S[i] -> A[x] }`, an
    element has one cell and a cell one element. `place` says whose cells instances use, `{ S[i] -> [b, t] }`, and
    `cell` which an element has there, `{ A[x] -> [c] }`."""
    node = _node_of_all(tree.intersect_domain(accesses.domain()))
    if node.get_schedule_depth() > 0:
        times = isl.UnionMap.from_multi_union_pw_aff(node.get_prefix_schedule_multi_union_pw_aff())
        place = place.flat_range_product(times)
    elements = accesses.range_map()
    used = accesses.domain_map().apply_range(place).range_product(elements.apply_range(cell))
    found = elements.reverse().apply_range(used).detect_equalities()
    return bool(found.is_single_valued() and found.is_injective())


def _node_of_all(tree: isl.Schedule) -> isl.ScheduleNode:
    """Find the innermost node that all instances of a tree are below: a leaf, or where children share them."""
    node = tree.get_root()
    while node.get_type() != isl.schedule_node_type.leaf:
        children = [node.child(k) for k in range(node.n_children())]
        users = [child for child in children if len(children) == 1 or not child.child(0).get_domain().is_empty()]
        if len(users) != 1:
            break
        node = users[0]
    return node
