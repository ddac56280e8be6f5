"""The blocks of a grid: the values of a block band's members, for each iteration of the host's loops.

before: { S[t, i] -> [t, floor(i/8)] : 1 <= i < n }
after:  from 0 to floor((n - 1)/8)
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import OverBudgetError, budget, times_at

END_OPERATIONS = 100_000  # of isl, for the ends of a grid dimension: 1,000,000 take minutes where there are divisions
HULL_OPERATIONS = 1_000_000  # of isl, for a convex superset of these
MOST_PIECES = 6  # of the ends of a grid dimension


def range_of(mark: isl.ScheduleNode, member: isl.UnionPwAff) -> isl.Map:
    """Return the values of a band member for each iteration of the bands above, `{ [t] -> [b] }`."""
    prefix = times_at(mark)
    values = isl.UnionMap.from_union_pw_aff(member)
    return isl.Map.from_union_map(prefix.reverse().apply_range(values))


def hull_of(ranges: isl.Map) -> isl.Map:
    """Return a convex superset of the ranges, without divisions; raises OverBudgetError where finding it takes long."""
    with budget(HULL_OPERATIONS):
        return isl.Map.from_basic_map(ranges.simple_hull().remove_divs())


def ends(ranges: isl.Map) -> tuple[isl.PwAff, isl.PwAff]:
    """Return the least and the greatest value of ranges.

    Where these have too many cases, those of the hull are taken: blocks between do nothing.
    """
    try:
        with budget(END_OPERATIONS):  # many bounds have very many orders
            first, last = ranges.dim_min(0), ranges.dim_max(0)
    except OverBudgetError:
        hull = hull_of(ranges)
        return hull.dim_min(0), hull.dim_max(0)
    if first.n_piece() + last.n_piece() > MOST_PIECES:
        try:
            hull = hull_of(ranges)
            return hull.dim_min(0), hull.dim_max(0)
        except (isl.Error, OverBudgetError):  # the hull has no bound, or takes long
            return first, last
    return first, last
