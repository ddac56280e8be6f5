"""Which elements reads find in cells that several elements share. What passes between instances does not show it where
one sets several elements and another reads several.

before: S0: { e[0][0] = x; e[0][1] = y; }   S1: { e[1][0] = u; e[1][2] = v; }   S2: z = e[0][0] + e[0][1] + e[1][2];
cells by the second subscript: S2 reads values of S0 and of S1 as before, but u in place of x
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.scheduling.analysis.checked_flow import flow


def other_elements(
    tree: isl.Schedule, place: isl.UnionMap, accesses: Sequence[isl.UnionMap], cell: isl.UnionMap
) -> isl.UnionMap:
    """Return the pairs of instances whose second reads what the first has set another element of the cell to.

    They run in the mapped order. `accesses` are reads, writes and may-writes, `place` says whose cells instances use,
    `cell` which an element has. Raises OverBudgetError where isl loses sources of reads (checked_flow.py).
    """
    reads, writes, may = accesses
    several = not reads.is_single_valued() and not writes.union(may).is_single_valued()
    if not several:
        return isl.UnionMap.empty(reads.get_space())
    sinks, must, others = (_route(a, place, cell) for a in accesses)
    every = reads.union(writes).union(may)
    instance, element = every.domain_map(), every.range_map()
    order = tree.intersect_domain(every.domain()).get_map()
    found = flow(sinks, must, others, instance.apply_range(order), conditions=accesses).get_may_dependence()
    wrong = found.subtract(element.apply_range(element.reverse()))
    return wrong.apply_domain(instance).apply_range(instance)


def _route(accesses: isl.UnionMap, place: isl.UnionMap, cell: isl.UnionMap) -> isl.UnionMap:
    """Return `{ [S[i] -> A[j]] -> [[place] -> [cell]] }`."""
    owner = accesses.domain_map().apply_range(place)
    return owner.range_product(accesses.range_map().apply_range(cell)).detect_equalities()
