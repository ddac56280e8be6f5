"""Statements in the original order before or behind groups of instances, such as what completes a reduction.

before: for (i) for (j) S[i, j];                     a group for each i
after:  for (i) { I[i]; for (j) S[i, j]; C[i]; }

The result is one band over all time vectors: it serves dependence analysis, and runs when nothing better does.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.lexicographic import lexmax, lexmin
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.chains import projection

OUT = isl.dim_type.out
_GROUP = "x"


def around_groups(
    scop: Scop,
    old: Statement,
    new: Statement,
    group: tuple[int, ...],
    before: Sequence[Statement],
    behind: Sequence[Statement],
) -> isl.Schedule:
    """Insert `new` in place of `old` in the Scop's order, and other statements around the groups of its instances.

    These come right before the first and right after the last instance of each group, whose iterators are the first
    ones of these.
    """
    times = [m.set_tuple_name(isl.dim_type.in_, new.name) if _named(m, old.name) else m for m in _times(scop)]
    width = max(len(s.iterators) for s in (*before, *behind)) - len(group) + 1
    added = {name for p in scop.privatised for name in p.added}
    free = min((_zeros(m) for m in times if m.get_tuple_name(isl.dim_type.in_) not in added), default=0)
    times = [_widened(m, max(0, width - free)) for m in times]
    rank = times[0].dim(OUT) - width
    own = next(m for m in times if _named(m, new.name)).intersect_params(scop.context)
    own = own.project_out(OUT, rank, width).apply_domain(projection(new.domain, group, _GROUP))
    first, last = lexmin(own).coalesce(), lexmax(own).coalesce()
    times += [_placed(s, first, len(group), -1, width) for s in before]
    times += [_placed(s, last, len(group), phase, width) for phase, s in enumerate(behind, start=1)]
    everything = isl.UnionMap.from_map(times[0])
    for m in times[1:]:
        everything = everything.union(isl.UnionMap.from_map(m))
    band = isl.MultiUnionPwAff.from_union_map(everything)
    return isl.Schedule.from_domain(everything.domain()).insert_partial_schedule(band)


def _times(scop: Scop) -> list[isl.Map]:
    return maps(scop.schedule.get_map().intersect_domain(scop.domain))


def _named(times: isl.Map, statement: str) -> bool:
    return bool(times.get_tuple_name(isl.dim_type.in_) == statement)


def _zeros(times: isl.Map) -> int:
    """Return how many of the last dimensions are always 0."""
    found = 0
    for k in reversed(range(times.dim(OUT))):
        value = times.plain_get_val_if_fixed(OUT, k)
        if not (value.is_int() and value.is_zero()):
            break
        found += 1
    return found


def _widened(times: isl.Map, by: int) -> isl.Map:
    rank = times.dim(OUT)
    times = times.add_dims(OUT, by)
    for k in range(rank, rank + by):
        times = times.fix_val(OUT, k, isl.Val(0))
    return times


def _placed(statement: Statement, group_times: isl.Map, group: int, phase: int, width: int) -> isl.Map:
    """Place a statement beside its group: at the group's times, its phase, then its other iterators."""
    rank = len(statement.iterators)
    times = projection(statement.domain, tuple(range(group)), _GROUP).apply_range(group_times)
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    phases = isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(phase))
    times = times.flat_range_product(isl.Map.from_aff(phases))
    for k in range(group, rank):
        own = isl.Aff.var_on_domain(space, isl.dim_type.set, k)
        times = times.flat_range_product(isl.Map.from_aff(own))
    return _widened(times, width - 1 - (rank - group))
