"""How many iterations loops have, as far as that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise

import islpy as isl

from polytile.ir.isl_util import sets
from polytile.scheduling.cost.point_count import counts
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import on_domain


def most_iterations(
    member: Member, outer: Sequence[Member], domain: isl.UnionSet, parameters: Mapping[str, int]
) -> int | None:
    """Bound the iterations of a loop over `domain` in one iteration of those around it.

    That is how far apart the first and the last value are, plus one; None where it depends on a parameter that is not
    known.
    """
    known = domain.intersect_params(_known(parameters))
    own = _values(member, known)
    inside = reduce(lambda all_, one: all_.flat_range_product(_values(one, known)), outer, _nowhere(known))
    runs = inside.reverse().apply_range(own)
    apart = isl.Set.from_union_set(runs.reverse().apply_range(runs).deltas()) if not runs.is_empty() else None
    if apart is None:
        return 0
    (last,) = [apart.dim_max_val(k) for k in range(apart.dim(isl.dim_type.set))]
    return int(last.to_python()) + 1 if last.is_int() else None


def mean_iterations(
    loops: Sequence[Member], domain: isl.UnionSet, values: Mapping[str, int]
) -> tuple[float, ...]:
    """Compute the mean iterations of each of these loops, outermost first, for the statement that runs most often."""
    most: tuple[float, ...] = (0.0,) * (len(loops) + 1)
    for own in sets(domain):
        union = isl.UnionSet.from_set(own)
        times = reduce(lambda all_, one: all_.flat_range_product(_values(one, union)), loops, _nowhere(union))
        most = max(most, counts(isl.Set.from_union_set(times.range()), values), key=lambda found: found[-1])
    return tuple(inner / around if around else 0.0 for around, inner in pairwise(most))


def _known(parameters: Mapping[str, int]) -> isl.Set:
    names = ", ".join(parameters)
    values = " and ".join(f"{name} = {value}" for name, value in parameters.items())
    return isl.Set(f"[{names}] -> {{ : {values} }}").params()


def _values(member: Member, domain: isl.UnionSet) -> isl.UnionMap:
    value = isl.MultiUnionPwAff.from_union_pw_aff(on_domain(member.value, domain))
    return isl.UnionMap.from_multi_union_pw_aff(value).intersect_domain(domain)


def _nowhere(domain: isl.UnionSet) -> isl.UnionMap:
    return isl.UnionMap.from_domain_and_range(domain, isl.UnionSet("{ [] }"))
