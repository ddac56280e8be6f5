"""What values integers of a kernel can take: so that 32 bits are known to be enough, and guards to hold.

before: i in 0 .. n - 1, n in 1 .. 20000
after:  the interval of i * n + 1 is 1 .. 399980001
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from polytile.ir.arith import known
from polytile.ir.expr import BOOL, Binary, Call, Cast, Expr, Name, Ternary, Unary

INT_LEAST, INT_MOST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """`least <= name <= most`; None where nothing is known. Bounds may mention names of ranges before this one."""

    name: str
    least: Expr | None = None
    most: Expr | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `least` to `most`; None: no limit."""

    least: int | None = None
    most: int | None = None

    def within(self, least: int, most: int) -> bool:
        return self.least is not None and self.most is not None and least <= self.least and self.most <= most


ANY = Interval()
TRUTH = Interval(0, 1)
_TRUTHS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


class Intervals:
    """Intervals of expressions over names with ranges."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._of: dict[str, Interval] = {}
        for r in ranges:
            least = None if r.least is None else self(r.least).least
            most = None if r.most is None else self(r.most).most
            self._of[r.name] = _meet(self._of.get(r.name, ANY), Interval(least, most))

    def declare(self, name: str, interval: Interval) -> None:
        """A variable with these values; one of a name that there was before adds to its values."""
        self._of[name] = _join(self._of[name], interval) if name in self._of else interval

    def __call__(self, expr: Expr) -> Interval:
        """The values that `expr` can take, as exact integers."""
        value = known(expr)
        if value is not None:
            return Interval(value, value)
        match expr:
            case Name(name=name):
                return self._of.get(name, ANY)
            case Cast(type=ctype, operand=operand) if ctype.kind == "int" and ctype.size >= operand.type.size:
                return self(operand)
            case Unary(op="-", operand=operand):
                return _times(self(operand), Interval(-1, -1))
            case Ternary(then=then, otherwise=otherwise):
                return _join(self(then), self(otherwise))
            case Binary():
                return self._binary(expr)
            case Call(function=function, arguments=arguments):
                return self._call(function, [self(a) for a in arguments])
        return TRUTH if expr.type == BOOL else ANY

    def fits_int(self, expr: Expr) -> bool:
        """Whether the expression and every part of it can be computed in 32 bits."""
        if not self(expr).within(INT_LEAST, INT_MOST):
            return False
        match expr:
            case Binary(left=left, right=right):
                return self.fits_int(left) and self.fits_int(right)
            case Unary(operand=operand) | Cast(operand=operand):
                return self.fits_int(operand)
            case Ternary(then=then, otherwise=otherwise):
                return self.fits_int(then) and self.fits_int(otherwise)
            case Call(arguments=arguments):
                return all(self.fits_int(a) for a in arguments)
        return True

    def _binary(self, expr: Binary) -> Interval:
        a, b = self(expr.left), self(expr.right)
        by = known(expr.right)
        match expr.op:
            case "+":
                return _plus(a, b)
            case "-":
                return _plus(a, _times(b, Interval(-1, -1)))
            case "*":
                return _times(a, b)
            case "/" if by is not None and by > 0:
                return Interval(_quotient(a.least, by), _quotient(a.most, by))
            case "%" if by is not None and by > 0:
                return _remainder(a, by)
            case "&" if a.least is not None and a.least >= 0:
                return Interval(0, a.most)
            case op if op in _TRUTHS:
                return TRUTH
        return TRUTH if expr.type == BOOL else ANY

    def _call(self, function: str, values: list[Interval]) -> Interval:
        match function, values:
            case "min", [a, b]:
                return Interval(_lower(a.least, b.least), _least_of(a.most, b.most))
            case "max", [a, b]:
                return Interval(_most_of(a.least, b.least), _upper(a.most, b.most))
            case "floord", [a, Interval(least=int(by))] if by > 0:
                return Interval(None if a.least is None else a.least // by, None if a.most is None else a.most // by)
            case "pmod", [_, Interval(least=int(by))] if by > 0:
                return Interval(0, by - 1)
        return ANY


def _plus(a: Interval, b: Interval) -> Interval:
    least = None if a.least is None or b.least is None else a.least + b.least
    return Interval(least, None if a.most is None or b.most is None else a.most + b.most)


def _times(a: Interval, b: Interval) -> Interval:
    for one, other in ((a, b), (b, a)):
        if one.least is not None and one.least == one.most:
            ends = [None if e is None else e * one.least for e in (other.least, other.most)]
            if one.least == 0:
                return Interval(0, 0)
            return Interval(*(ends if one.least > 0 else reversed(ends)))
    corners = list(product((a.least, a.most), (b.least, b.most)))
    values = [x * y for x, y in corners if x is not None and y is not None]
    if len(values) == len(corners):
        return Interval(min(values), max(values))
    positive = a.least is not None and b.least is not None and min(a.least, b.least) >= 0
    return Interval(min(values)) if positive else ANY


def _quotient(value: int | None, by: int) -> int | None:
    return None if value is None else value // by if value >= 0 else -(-value // by)


def _remainder(a: Interval, by: int) -> Interval:
    """C's: with the sign of what is divided."""
    if a.least is None or a.least < 0:
        return Interval(1 - by, by - 1)
    return a if a.most is not None and a.most < by else Interval(0, by - 1)


def _meet(a: Interval, b: Interval) -> Interval:
    return Interval(_most_of(a.least, b.least), _least_of(a.most, b.most))


def _join(a: Interval, b: Interval) -> Interval:
    return Interval(_lower(a.least, b.least), _upper(a.most, b.most))


def _lower(a: int | None, b: int | None) -> int | None:
    """The smaller limit, None being none at all."""
    return None if a is None or b is None else min(a, b)


def _upper(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _least_of(a: int | None, b: int | None) -> int | None:
    """The smaller of the limits that there are."""
    return min((v for v in (a, b) if v is not None), default=None)


def _most_of(a: int | None, b: int | None) -> int | None:
    return max((v for v in (a, b) if v is not None), default=None)
