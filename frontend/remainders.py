"""C's `/` and `%`, which round towards zero; those by a size have a case for each quotient, which are few.

before: (i + 1) % n                       where 0 <= i < n
after:  i + 1 where i + 1 < n, i + 1 - n elsewhere
"""

from __future__ import annotations

import islpy as isl

MOST = 4  # periods: each is a case of whatever uses the value


def by_constant(op: str, value: isl.PwAff, divisor: int, *, natural: bool) -> isl.PwAff:
    """`value op divisor`, op being `/` or `%`; `natural` says that the value is never below 0."""
    size = abs(divisor)
    if natural:
        result = value.mod_val(isl.Val(size)) if op == "%" else floor_div(value, size)
    else:
        constant = isl.PwAff(f"{{ [({size})] }}")
        result = value.tdiv_r(constant) if op == "%" else value.tdiv_q(constant)
    return result.neg() if op == "/" and divisor < 0 else result


def floor_div(value: isl.PwAff, divisor: int) -> isl.PwAff:
    """The quotient by a positive number, rounded down."""
    return value.scale_down_val(isl.Val(divisor)).floor()


def within(value: isl.PwAff, size: isl.PwAff, periods: int) -> isl.Set:
    """Where the quotient is one of 0 to `periods` - 1; C rounds towards zero, so it is 0 from -size + 1 on."""
    return value.gt_set(size.neg()).intersect(value.lt_set(_times(size, periods)))


def by_size(op: str, value: isl.PwAff, size: isl.PwAff, periods: int) -> isl.PwAff:
    """`value op size`, op being `/` or `%`, where `within` holds."""
    cases: isl.PwAff | None = None
    below = value.lt_set(size)
    done = isl.Set.empty(below.get_space())
    for quotient in range(periods):
        here = below.subtract(done) if quotient < periods - 1 else done.complement()
        part = value.sub(_times(size, quotient)) if op == "%" else isl.PwAff(f"{{ [({quotient})] }}")
        part = part.intersect_params(here)
        cases = part if cases is None else cases.union_add(part)
        done, below = below, value.lt_set(_times(size, quotient + 2))
    assert cases is not None
    return cases.coalesce()


def _times(size: isl.PwAff, factor: int) -> isl.PwAff:
    return size.scale_val(isl.Val(factor))
