"""Whether integers stay within their types: proven, asked by the host, or refused.

before: for (unsigned i = 0; i < n + 3; i++)
after:  the same, where n <= 4294967292
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend.describe import describe
from polytile.frontend.known_sizes import KnownSizes
from polytile.frontend.not_affine import NotAffineError
from polytile.ir.expr import CType, Expr, value_range

_PARAM = isl.dim_type.param
_ASSUMED = "with `#pragma polytile assume(...)`"


@dataclass(slots=True)
class ValueRanges(KnownSizes):
    """Values as isl has them, exact integers, beside what C makes of them."""

    signed_wraps: bool = field(default=False, kw_only=True)  # signed integers that overflow wrap around, too
    may_wrap: bool = field(default=False, kw_only=True)  # sums may wrap around where expressions are looked at
    unproven: bool = field(default=False, kw_only=True)  # one of these sums does, somewhere

    def wraps(self, ctype: CType) -> bool:
        """Whether C lets numbers of a type wrap around."""
        return ctype.kind == "int" and (self.signed_wraps or not ctype.signed)

    @contextmanager
    def behind_the_end(self) -> Iterator[None]:
        """Conditions of loops are looked at where they have failed before, too, and may wrap around there; `unproven`
        says whether they do."""
        before, self.may_wrap, self.unproven = self.may_wrap, True, False
        try:
            yield
        finally:
            self.may_wrap = before

    def must_not_wrap(self, value: isl.PwAff, expr: Expr, known: isl.Set) -> None:
        """The value of an expression must be one of its type."""
        within = self.known_ranges(known)
        if self.proves(within, _fitting(value, expr.type)):
            return
        if not expr.type.signed:
            self.must_be_natural(value, expr, known)
        if self.may_wrap:
            self.unproven = True
        elif not self.ask_to_fit(value, expr.type, within):
            kind, other = ("signed", "wider") if expr.type.signed else ("unsigned", "signed or wider")
            hint = f"use {other} types, or promise that it stays below {_ASSUMED}"
            raise NotAffineError(expr, f"`{describe(expr)}` is {kind} and may wrap around", hint=hint, wraps=True)

    def must_be_natural(self, value: isl.PwAff, expr: Expr, known: isl.Set) -> None:
        """The value of an expression must not be below 0."""
        natural, names = value.nonneg_set(), {value.get_dim_name(_PARAM, k) for k in range(value.dim(_PARAM))}
        if self.proves(known, natural) or (names.isdisjoint(self.iterators) and self.require(known, natural)):
            return
        what = "is converted to an unsigned type and may be" if expr.type.signed else "is unsigned and may wrap around"
        hint = f"use signed types, or promise that it stays above {_ASSUMED}"
        raise NotAffineError(expr, f"`{describe(expr)}` {what} below 0", hint=hint, wraps=True)

    def ask_to_fit(self, value: isl.PwAff, ctype: CType, known: isl.Set) -> bool:
        """Have the host ask for sizes with which a value fits: for all those, or for some that are small enough."""
        claim = _fitting(value, ctype)
        if self.proves(known, claim) or self.require(known, claim):
            return True
        for bits in (31, 24, 16):
            least = -(2**bits) if self.signed_wraps else -(2**63)
            sizes = (isl.Set(f"[{n}] -> {{ : {least} <= {n} < {2**bits} }}") for n in sorted(self.parameters))
            small = reduce(isl.Set.intersect, sizes, isl.Set("{ : }"))
            if self.proves(known.intersect(small), claim):
                return self.ask(small)
        return False


def _fitting(value: isl.PwAff, ctype: CType) -> isl.Set:
    """Where a value is one of a type."""
    low, high = (isl.PwAff(f"{{ [({end})] }}") for end in value_range(ctype))
    return value.ge_set(low).intersect(value.le_set(high))
