"""Access analysis that does not trust isl where remainders meet: each pair of accesses to an element is accounted for.

isl loses writers of elements now and then where conditions have remainders by several numbers, as its `lexmax` is empty
for some sets that are not. Found in isl of islpy 2026.2.2; one set in two hundred of such with random conditions:

    { S[i, j] : i mod 2 = 0 and 2i mod 3 != 0 and 0 <= i < m and 0 <= j < m and k <= m }  with k = 0
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import islpy as isl

from polytile.ir.isl_util import OverBudgetError, maps, union_of
from polytile.scheduling.analysis.source_order import SourceOrder

MOST_TRUSTED = 1  # remainders of a relation


def checked(
    flow: isl.UnionFlow,
    sinks: isl.UnionMap,
    must: isl.UnionMap,
    may: isl.UnionMap,
    kills: isl.UnionMap | None,
    order: isl.UnionMap,
) -> isl.UnionFlow:
    """The result of an access analysis in which instances have these times. Raises OverBudgetError where it leaves out
    a source that no later certain one, and no kill, hides."""
    ended = [] if kills is None or kills.is_empty() else [kills]
    if not any(_has_remainders(relation) for relation in (sinks, must, may, *ended)):
        return flow
    times = SourceOrder.of(order)
    sources = must.union(may)
    of_sink, of_element = sinks.domain_map().reverse(), sinks.range_map().reverse()

    def before(first: isl.UnionMap, then: isl.UnionMap) -> isl.UnionMap:
        pairs = product(_statements(first), _statements(then))
        return union_of((isl.UnionMap.from_map(times.before(a, b)) for a, b in pairs), order.get_space())

    def sources_of(some: isl.UnionMap) -> isl.UnionMap:
        """`{ S[i] -> [T[j] -> A[x]] }`: who comes to an element before a sink does."""
        return some.apply_range(of_element).intersect(before(some, sinks).apply_range(of_sink))

    found = flow.get_full_may_dependence()
    certain = found.intersect_domain(must.domain())
    lost = sources_of(sources).subtract(found).subtract(before(sources, must).apply_range(certain))
    for kill in ended:
        lost = lost.subtract(before(sources, kill).apply_range(sources_of(kill)))
    if not lost.is_empty():
        raise OverBudgetError("isl loses sources of accesses")
    return flow


def _has_remainders(relation: isl.UnionMap) -> bool:
    return any(part.dim(isl.dim_type.div) > MOST_TRUSTED for m in maps(relation) for part in m.get_basic_maps())


def _statements(relation: isl.UnionMap) -> Iterable[str]:
    return sorted({str(m.get_tuple_name(isl.dim_type.in_)) for m in maps(relation)})
