"""Access analysis that does not trust isl where remainders meet: each pair of accesses to an element is accounted for.

isl's `lexmin` and `lexmax` are now and then empty for sets that are not, or miss the first and last element, where
conditions have remainders by several numbers and some parameters are known; its access analysis, which asks for last
accesses, loses sources then. Of thousands of random sets (islpy 2026.2.2) one in a hundred was such, and none without
several remainders; composition, intersection, difference and comparison were right for all of them:

    { S[i, j] : i mod 2 = 1 and (-i) mod 6 < 3 and 0 <= i < m and 0 <= j < m and k <= m }  with m = 6 and k = 2
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import islpy as isl

from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import OverBudgetError, maps, union_of
from polytile.ir.lexicographic import have_several_remainders
from polytile.scheduling.analysis.source_order import SourceOrder, name_of

IN = isl.dim_type.in_
_NOTHING = isl.UnionMap("{ }")


def flow(
    sinks: isl.UnionMap,
    must: isl.UnionMap,
    may: isl.UnionMap,
    order: isl.Schedule | isl.UnionMap,
    kills: isl.UnionMap | None = None,
    conditions: Sequence[isl.UnionMap] = (),
) -> isl.UnionFlow:
    """Run isl's access analysis, `{ S[i] -> A[x] }` each, in the order of a tree or of times, `{ S[i] -> [0, i] }`.

    `conditions` are the accesses of the SCoP that these are made from, where tiles and threads have quotients as well:
    only several remainders in the SCoP's own conditions are doubted. Raises OverBudgetError where isl leaves out a
    source that no later certain one, and no kill, hides, or has one that is hidden.
    """
    return _checked_flow(sinks, must, may, order, _NOTHING if kills is None else kills, tuple(conditions))


@memoized
def _checked_flow(
    sinks: isl.UnionMap,
    must: isl.UnionMap,
    may: isl.UnionMap,
    order: isl.Schedule | isl.UnionMap,
    kills: isl.UnionMap,
    conditions: tuple[isl.UnionMap, ...],
) -> isl.UnionFlow:
    info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
    info = info if kills.is_empty() else info.set_kill(kills)
    info = info.set_schedule(order) if isinstance(order, isl.Schedule) else info.set_schedule_map(order)
    found = info.compute_flow()
    if are_doubted(conditions or (sinks, must, may, kills)):
        times = order.get_map() if isinstance(order, isl.Schedule) else order
        users = sinks.union(must).union(may).union(kills).domain()
        require_all_sources(found, sinks, must, may, kills, times.intersect_domain(users))
    return found


def are_doubted(relations: Iterable[isl.UnionMap]) -> bool:
    """Return whether a relation has conditions of the kind for which isl may lose elements."""
    return any(have_several_remainders(m.get_basic_maps()) for relation in relations for m in maps(relation))


def require_all_sources(
    found: isl.UnionFlow,
    sinks: isl.UnionMap,
    must: isl.UnionMap,
    may: isl.UnionMap,
    kills: isl.UnionMap,
    order: isl.UnionMap,
) -> None:
    """Raise OverBudgetError unless an access analysis finds exactly the sources that nothing hides.

    It has to say of every other read that it has no source.
    """
    times = SourceOrder.of(order)
    sources = must.union(may)
    of_sink, of_element = sinks.domain_map().reverse(), sinks.range_map().reverse()

    def before(first: isl.UnionMap, then: isl.UnionMap) -> isl.UnionMap:
        pairs = product(_statements(first), _statements(then))
        return union_of((isl.UnionMap.from_map(times.before(a, b)) for a, b in pairs), order.get_space())

    def earlier(some: isl.UnionMap) -> isl.UnionMap:
        """Return `{ S[i] -> [T[j] -> A[x]] }`: the accesses to an element before a sink's."""
        return some.apply_range(of_element).intersect(before(some, sinks).apply_range(of_sink))

    full = found.get_full_may_dependence()
    certain = full.intersect(must.apply_range(of_element))
    ended, every = earlier(kills), earlier(sources)
    hidden = before(sources, must).apply_range(certain).union(before(sources, kills).apply_range(ended))
    lost = every.subtract(full).subtract(hidden)
    exact = lost.is_empty() and full.is_subset(every) and full.intersect(hidden).is_empty()
    unset = sinks.subtract(certain.union(ended).range().unwrap())  # what was killed is from nowhere
    if not exact or not found.get_may_no_source().is_equal(unset):
        raise OverBudgetError("isl loses sources of accesses")


def _statements(relation: isl.UnionMap) -> list[str]:
    return sorted({name_of(m, IN) for m in maps(relation)})
