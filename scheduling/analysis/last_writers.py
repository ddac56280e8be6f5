"""Who wrote the values that can be seen behind a SCoP."""

from __future__ import annotations

import islpy as isl

from polytile.ir.scop import AccessKind, Origin, Scop
from polytile.scheduling.analysis.checked_flow import flow

FINAL = "final"  # the space of those who look at an array behind the SCoP


def is_seen(scop: Scop, array: str) -> bool:
    """Return whether what the SCoP leaves in `array` can be read after it."""
    found = scop.array(array)
    return found.origin is Origin.EXTERNAL and found.live_out and scop.written(array)


def last_writers(scop: Scop, array: str) -> isl.UnionMap:
    """Return who wrote each element last, `{ S1[i] -> final[i] : ... }`; may-writes and what they may leave both count.

    Raises OverBudgetError where isl loses some of them (checked_flow.py).
    """
    only = frozenset((array,))
    must, may = (scop.accesses(kind, arrays=only) for kind in (AccessKind.WRITE, AccessKind.MAY_WRITE))
    if must.union(may).is_empty():
        return must
    elements = isl.Set.from_union_set(must.union(may).range()).coalesce()
    final = elements.set_tuple_name(FINAL)
    looks = isl.Map.identity(elements.get_space().map_from_set()).intersect_domain(elements)
    looks = looks.set_tuple_name(isl.dim_type.in_, FINAL)
    users = must.union(may).domain()
    schedule = scop.schedule.intersect_domain(users).sequence(isl.Schedule.from_domain(isl.UnionSet.from_set(final)))
    return flow(isl.UnionMap.from_map(looks), must, may, schedule).get_may_dependence()
