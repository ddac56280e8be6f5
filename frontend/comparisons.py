"""Comparisons of sums of atoms as few sets of affine constraints: minima, maxima and quotients are taken apart.

before: i <= min(n, m):  { n <= m and i <= n } or { m < n and i <= m };    i >= ceild(n, 32):  i >= floor((n + 31)/32)
after:  i <= n and i <= m;                                                 32 i >= n
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend.polynomial import Monomial, Polynomial
from polytile.ir.expr import Binary, Cast, Expr, Ternary

COMPARISONS: dict[str, Callable[[isl.PwAff, isl.PwAff], isl.Set]] = {
    "<": lambda a, b: a.lt_set(b),
    "<=": lambda a, b: a.le_set(b),
    ">": lambda a, b: a.gt_set(b),
    ">=": lambda a, b: a.ge_set(b),
    "==": lambda a, b: a.eq_set(b),
    "!=": lambda a, b: a.ne_set(b),
}


@dataclass(frozen=True, slots=True)
class Extreme:
    """The larger or the smaller of two values."""

    first: Polynomial
    second: Polynomial
    largest: bool


@dataclass(frozen=True, slots=True)
class Quotient:
    """A value divided by a positive constant, rounded down or up."""

    numerator: Polynomial
    divisor: int
    up: bool


Form = Extreme | Quotient


def distance(op: str, a: Polynomial, b: Polynomial) -> Polynomial:
    """What is at least 0 where `a op b` holds, for integers."""
    return (b - a if op[0] == "<" else a - b) - Polynomial.of(0 if op.endswith("=") else 1)


def not_negative(value: Polynomial, forms: Mapping[str, Form], evaluated: Callable[[Polynomial], isl.PwAff]) -> isl.Set:
    """Where value >= 0, for an integer value of degree 1; `forms` says what atoms stand for, `evaluated` gives values
    to isl."""
    for monomial, coefficient in value.terms.items():
        form = forms.get(monomial[0]) if len(monomial) == 1 else None
        if isinstance(form, Extreme) and form.largest == (coefficient < 0):
            rest = _rest(value, monomial)
            first, second = (rest + part.scale(coefficient) for part in (form.first, form.second))
            return not_negative(first, forms, evaluated).intersect(not_negative(second, forms, evaluated))
    for monomial, coefficient in value.terms.items():
        form = forms.get(monomial[0]) if len(monomial) == 1 else None
        if isinstance(form, Quotient) and coefficient == (-1 if form.up else 1):
            rest = _rest(value, monomial).scale(form.divisor)
            return not_negative(rest + form.numerator.scale(coefficient), forms, evaluated)
    return evaluated(value).nonneg_set()


def _rest(value: Polynomial, monomial: Monomial) -> Polynomial:
    return Polynomial({m: c for m, c in value.terms.items() if m != monomial})


def extreme_of(expr: Expr) -> tuple[Expr, Expr, bool] | None:
    """The two values of `a < b ? a : b`, for signed types, and whether the larger one is meant."""
    match expr:
        case Ternary(condition=Binary(op="<" | "<=" | ">" | ">=" as op, left=left, right=right)):
            a, b, then, other = (unconverted(e) for e in (left, right, expr.then, expr.otherwise))
            if left.type.signed and right.type.signed and ((then, other) == (a, b) or (then, other) == (b, a)):
                return left, right, (op[0] == ">") == (then == a)
    return None


def unconverted(expr: Expr) -> Expr:
    """A number before it became a floating one."""
    while isinstance(expr, Cast) and expr.type.kind == "float":
        expr = expr.operand
    return expr


def constant_of(value: isl.PwAff) -> int:
    return int(value.get_pieces()[0][1].get_constant_val().to_python())
