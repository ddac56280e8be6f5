"""What values integers of a kernel can take: so that 32 bits are known to be enough, and guards to hold.

before: i in 0 .. n - 1, n in 1 .. 20000
after:  the interval of i * n + 1 is 1 .. 399980001
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import inf

from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.expr import BOOL, TRUTHS, Binary, Call, Cast, Expr, Name, Ternary, Unary
from polytile.ir.expr_trees import children

INT_LEAST, INT_MOST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """`least <= name <= most`; None where nothing is known. Bounds may mention names of ranges before this one."""

    name: str
    least: Expr | None = None
    most: Expr | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `least` to `most`, which may be infinite."""

    least: float = -inf
    most: float = inf

    def within(self, least: int, most: int) -> bool:
        return least <= self.least and self.most <= most


ANY = Interval()
TRUTH = Interval(0, 1)


class Intervals:
    """Intervals of expressions over names with ranges."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._of: dict[str, Interval] = {}
        for r in ranges:
            known_before = self._of.get(r.name, ANY)
            least = -inf if r.least is None else self(r.least).least
            most = inf if r.most is None else self(r.most).most
            self._of[r.name] = Interval(max(known_before.least, least), min(known_before.most, most))

    def declare(self, name: str, interval: Interval) -> None:
        """Declare a variable with these values; one of a name that there was before adds to its values."""
        self._of[name] = _join(self._of[name], interval) if name in self._of else interval

    def __call__(self, expr: Expr) -> Interval:
        """Return the values that `expr` can take, as exact integers."""
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
        """Return whether the expression and every part of it can be computed in 32 bits."""
        if not self(expr).within(INT_LEAST, INT_MOST):
            return False
        parts = (expr.then, expr.otherwise) if isinstance(expr, Ternary) else children(expr)
        return all(self.fits_int(part) for part in parts if isinstance(part, Expr))

    def _binary(self, expr: Binary) -> Interval:
        a, b = self(expr.left), self(expr.right)
        by = known(expr.right)
        match expr.op:
            case "+":
                return Interval(a.least + b.least, a.most + b.most)
            case "-":
                return Interval(a.least - b.most, a.most - b.least)
            case "*":
                return _times(a, b)
            case "/" if by is not None and by > 0:
                return Interval(_toward_zero(a.least, by), _toward_zero(a.most, by))
            case "%" if by is not None and by > 0:
                return _remainder(a, by)
            case "&" if a.least >= 0:
                return Interval(0, a.most)
            case op if op in TRUTHS:
                return TRUTH
        return TRUTH if expr.type == BOOL else ANY

    def _call(self, function: str, values: list[Interval]) -> Interval:
        match function, values:
            case "min", [a, b]:
                return Interval(min(a.least, b.least), min(a.most, b.most))
            case "max", [a, b]:
                return Interval(max(a.least, b.least), max(a.most, b.most))
            case "floord", [a, Interval(least=int(by))] if by > 0:
                return Interval(_down(a.least, by), _down(a.most, by))
            case "pmod()", [_, Interval(least=int(by))] if by > 0:
                return Interval(0, by - 1)
        return ANY


def _times(a: Interval, b: Interval) -> Interval:
    corners = [x * y if x and y else 0 for x, y in product((a.least, a.most), (b.least, b.most))]
    return Interval(min(corners), max(corners))


def _down(value: float, by: int) -> float:
    return value // by if isinstance(value, int) else value


def _toward_zero(value: float, by: int) -> float:
    return _down(value, by) if value >= 0 else -_down(-value, by)


def _remainder(a: Interval, by: int) -> Interval:
    """Return the values of C's remainder, which has the sign of what is divided."""
    if a.least < 0:
        return Interval(1 - by, by - 1)
    return a if a.most < by else Interval(0, by - 1)


def _join(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.least, b.least), max(a.most, b.most))
