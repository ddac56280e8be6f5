"""Building isl schedule trees from the leaves up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import islpy as isl

from polytile.ir.scop import Scop

Times = Mapping[str, Sequence[isl.PwAff]]  # statement -> one value for each member of a band


def leaf(scop: Scop, statement: str) -> isl.Schedule:
    """Return the instances of one statement, unordered."""
    domain = scop.statement(statement).domain.intersect_params(scop.context)
    return isl.Schedule.from_domain(isl.UnionSet.from_set(domain))


def in_order(parts: Sequence[isl.Schedule]) -> isl.Schedule:
    """Join the parts into a sequence."""
    return reduce(lambda before, after: before.sequence(after), parts)


def under_band(
    schedule: isl.Schedule, times: Times, *, parallel: bool = False, unrolled: bool = False
) -> isl.Schedule:
    """Insert a band around a schedule; without members it stays as it is."""
    members = [list(values) for values in zip(*times.values(), strict=True)]
    if not members:
        return schedule
    partial = isl.MultiUnionPwAff.from_union_pw_aff(_union(members[0]))
    for values in members[1:]:
        partial = partial.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(_union(values)))
    node = schedule.insert_partial_schedule(partial).get_root().child(0)
    if parallel:
        node = node.band_set_permutable(1)
        for i in range(len(members)):
            node = node.band_member_set_coincident(i, 1)
    if unrolled:
        for i in range(len(members)):
            node = node.band_member_set_ast_loop_type(i, isl.ast_loop_type.unroll)
    return node.get_schedule()


def _union(values: Sequence[isl.PwAff]) -> isl.UnionPwAff:
    first, *others = (isl.UnionPwAff.from_pw_aff(v) for v in values)
    for other in others:
        first = first.union_add(other)
    return first


def marked(schedule: isl.Schedule, name: str) -> isl.Schedule:
    """Insert a mark above all nodes of a schedule."""
    return schedule.get_root().child(0).insert_mark(isl.Id(name)).get_schedule()
