"""What makes an expression one that isl cannot represent, and constants that are too large for it."""

from __future__ import annotations

from polytile.frontend.describe import describe
from polytile.frontend.polynomial import Polynomial
from polytile.ir.expr import Expr, Literal
from polytile.ir.integer_constants import integer_value

LARGEST = 2**63 - 1  # the largest number that generated code can hold


class NotAffineError(Exception):
    """An expression that isl cannot represent; `culprit` is the part that is to blame, `reason` says why: it reads
    `data`, or it `wraps` around as an unsigned number, or it is divided by a size and may have many `periods`."""

    def __init__(
        self,
        culprit: Expr,
        reason: str,
        *,
        hint: str | None = None,
        data: bool = False,
        wraps: bool = False,
        periods: bool = False,
    ) -> None:
        super().__init__(reason)
        self.culprit, self.reason = culprit, reason
        self.hint = hint
        self.data, self.wraps, self.periods = data, wraps, periods


def must_not_wrap(value: Polynomial, expr: Expr, bits: int) -> None:
    """Unsigned numbers are taken not to wrap around above, but where they mean to: a factor of more than `bits` bits,
    as in (i * 2654435761u) >> 28, leaves few iterations that do not."""
    unsigned = expr.type.kind == "int" and not expr.type.signed
    if unsigned and any(monomial and abs(factor) >> bits for monomial, factor in value.terms.items()):
        raise NotAffineError(expr, f"`{describe(expr)}` is unsigned and may wrap around")


def held(value: Polynomial, expr: Expr) -> Polynomial:
    """A value whose constants generated code can hold; C does not define a larger one either."""
    if any(abs(coefficient) > LARGEST for coefficient in value.terms.values()):
        raise NotAffineError(expr, f"the constants of `{describe(expr)}` make a number of more than 64 bits")
    return value


def literal(expr: Literal) -> Polynomial:
    """The value of an integer constant."""
    value = integer_value(expr.text)
    if value is None:
        raise NotAffineError(expr, f"`{expr.text}` is not an integer")
    if value > LARGEST:
        raise NotAffineError(expr, f"`{expr.text}` does not fit in 64 bits with a sign")
    return Polynomial.of(value)
