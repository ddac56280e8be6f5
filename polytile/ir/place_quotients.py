"""Quotients that are coordinates of a place: what a tile runs, and uses, in inequalities alone.

before: { [h, b] -> S[t, i] : 8h <= t <= 8h + 7 and 66b <= i <= 66b + 65 and
            66 floor(i/66) >= i + 2t - 16 floor(t/8) - 47 }
after:  { [h, b] -> S[t, i] : 8h <= t <= 8h + 7 and 66b <= i <= 47 + 16h + 66b - 2t }

isl does not see that a quotient is a coordinate where only inequalities say so. Without them, what a tile reads or
writes is found, and compared, in a small part of the time.
"""

from __future__ import annotations

import islpy as isl

IN, OUT = isl.dim_type.in_, isl.dim_type.out


def without_place_quotients(executions: isl.Map) -> isl.Map:
    """Return the same relation from places, without quotients that equal a coordinate of the place."""
    total = isl.Map.empty(executions.get_space())
    for part in executions.get_basic_maps():
        total = total.union(isl.Map.from_basic_map(_replaced(part)))
    return total.coalesce()


def _replaced(part: isl.BasicMap) -> isl.BasicMap:
    if part.dim(isl.dim_type.div) == 0:
        return part
    lifted = part.wrap().lift().unwrap()  # { [[place] -> S[i]] -> [quotients] }
    for quotient in range(lifted.dim(OUT)):
        for coordinate in range(part.dim(IN)):
            equal = _equal(lifted, quotient, coordinate)
            if lifted.is_subset(equal):
                lifted = equal
                break
    return lifted.domain().unwrap()


def _equal(lifted: isl.BasicMap, quotient: int, coordinate: int) -> isl.BasicMap:
    found = isl.Constraint.equality_alloc(lifted.get_local_space())
    found = found.set_coefficient_val(OUT, quotient, isl.Val(1))
    return lifted.add_constraint(found.set_coefficient_val(IN, coordinate, isl.Val(-1)))
