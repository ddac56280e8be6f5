"""Arithmetic on expressions, for whoever builds kernels: Python's integers are constants, and constants fold.

before: add(mul(i, 1), add(0, 3))
after:  i + 3
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import reduce

from polytile.ir.expr import BOOL, INT, LLONG, Binary, Call, CType, Expr, Literal, Ternary, Unary

Value = Expr | int
_FOLDED = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)L*")


def lift(value: Value) -> Expr:
    """Convert a Python integer to a constant expression (64 bits where it needs them)."""
    if isinstance(value, Expr):
        return value
    small = -(2**31) < value < 2**31
    text = str(abs(value)) + ("" if small else "LL")
    literal = Literal(text, INT if small else LLONG)
    return literal if value >= 0 else Unary("-", literal, literal.type)


def known(value: Value) -> int | None:
    """Return the value of a constant integer, else None."""
    match value:
        case int():
            return value
        case Literal(text=text, type=ctype) if ctype.kind == "int" and _DECIMAL.fullmatch(text):
            return int(text.rstrip("L"))
        case Unary(op="-", operand=operand):
            inner = known(operand)
            return None if inner is None else -inner
    return None


def _common(a: Expr, b: Expr) -> CType:
    """Return the common type by C's usual arithmetic conversions, for the types that kernels use."""
    floats = [t for t in (a.type, b.type) if t.kind == "float"]
    return max(floats or [a.type, b.type, INT], key=lambda t: (t.size, not t.signed))


def binary(op: str, a: Value, b: Value) -> Expr:
    """Return `a op b`, folded where both are known integers."""
    x, y = known(a), known(b)
    if x is not None and y is not None and (folded := _fold(op, x, y)) is not None:
        return lift(folded)
    left, right = lift(a), lift(b)
    return Binary(op, left, right, _common(left, right))


def _fold(op: str, x: int, y: int) -> int | None:
    match op:
        case "/" | "%" if y > 0:
            quotient = x // y if x >= 0 else -(-x // y)
            return quotient if op == "/" else x - quotient * y
        case "<<" | ">>" if 0 <= y < 32:
            return x << y if op == "<<" else x >> y
    return _FOLDED[op](x, y) if op in _FOLDED else None


def add(a: Value, b: Value, *more: Value) -> Expr:
    """Return the sum, without zeros."""
    if more:
        return add(add(a, b), *more)
    if known(a) == 0:
        return lift(b)
    if known(b) == 0:
        return lift(a)
    constant = known(b)
    if constant is not None and constant < 0 and known(a) is None:
        return binary("-", a, -constant)
    return binary("+", a, b)


def sub(a: Value, b: Value) -> Expr:
    """Return the difference."""
    constant = known(b)
    return add(a, -constant) if constant is not None else binary("-", a, b)


def count_between(first: Value, last: Value) -> Expr:
    """Return the number of integers from the first to the last, where the last is not less.

    before: n - 2, 1
    after:  n - 2
    """
    (low, less), (high, more) = _base_and_offset(first), _base_and_offset(last)
    return add(sub(high, low), more - less + 1)


def shifted(value: Value, offset: int) -> Expr:
    """Return the sum of a value and a constant, folded with the constants that the value adds.

    before: n - 2 + 2 - 24, 71
    after:  n + 47
    """
    base, own = _base_and_offset(value)
    return add(base, own + offset)


def _base_and_offset(value: Value) -> tuple[Value, int]:
    """Split a value into `base + offset`, the constants that are added to it; the base of a constant is 0."""
    constant = known(value)
    if constant is not None:
        return 0, constant
    match value:
        case Binary(op="+" | "-" as op, left=left, right=right) if (own := known(right)) is not None:
            base, offset = _base_and_offset(left)
            return base, offset + (own if op == "+" else -own)
    return value, 0


def mul(a: Value, b: Value) -> Expr:
    """Return the product, without ones."""
    for factor, other in ((a, b), (b, a)):
        if known(factor) == 0:
            return lift(0)
        if known(factor) == 1:
            return lift(other)
    return binary("*", a, b)


def div(a: Value, b: Value) -> Expr:
    """Return C's quotient."""
    return lift(a) if known(b) == 1 else binary("/", a, b)


def mod(a: Value, b: Value) -> Expr:
    """Return C's remainder."""
    return lift(0) if known(b) == 1 else binary("%", a, b)


def compare(op: str, a: Value, b: Value) -> Expr:
    """Return `a op b` as a predicate; a constant where both are known."""
    x, y = known(a), known(b)
    if x is not None and y is not None:
        holds = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
        return Literal(str(int(holds)), BOOL)
    return Binary(op, lift(a), lift(b), BOOL)


def both(*conditions: Expr) -> Expr:
    """Return the conjunction of all conditions without branches: every one is evaluated."""
    return _joined("&", conditions, neutral=1)


def either(*conditions: Expr) -> Expr:
    """Return the disjunction of all conditions without branches: every one is evaluated."""
    return _joined("|", conditions, neutral=0)


def _joined(op: str, conditions: Sequence[Expr], neutral: int) -> Expr:
    rest = [c for c in conditions if known(c) != neutral]
    if not rest or any(known(c) == 1 - neutral for c in rest):
        return Literal(str(1 - neutral if rest else neutral), BOOL)
    return reduce(lambda a, b: Binary(op, a, b, BOOL), rest)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return an expression that selects one of two values, both of which may be computed."""
    holds = known(condition)
    if holds is not None:
        return then if holds else otherwise
    return Ternary(condition, then, otherwise, _common(then, otherwise))


def least(a: Value, b: Value) -> Expr:
    """Return the smaller of two integers."""
    return _extreme("min", min, a, b)


def most(a: Value, b: Value) -> Expr:
    """Return the larger of two integers."""
    return _extreme("max", max, a, b)


def _extreme(function: str, of: Callable[[int, int], int], a: Value, b: Value) -> Expr:
    x, y, left, right = known(a), known(b), lift(a), lift(b)
    return Call(function, (left, right), _common(left, right)) if x is None or y is None else lift(of(x, y))


def zero(ctype: CType) -> Literal:
    """Return the zero of a type, the value where a guard does not hold."""
    text = "0" if ctype.kind != "float" else "0.0f" if ctype.size == 4 else "0.0"
    return Literal(text, ctype if ctype.kind == "float" else INT)


def fma(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return `a * b + c`, rounded once, in the type of `c`."""
    return Call("fmaf" if c.type.size == 4 else "fma", (a, b, c), c.type)
