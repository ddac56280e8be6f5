"""Index expressions and conditions without data, evaluated as C does."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from polytile.fuzz.tree import (
    Compare,
    Condition,
    Extreme,
    Index,
    Junction,
    Minus,
    Name,
    Not,
    Num,
    Quotient,
    Remainder,
    Sum,
    Times,
)

Values = Mapping[str, int]
_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def value_of(index: Index, values: Values) -> int:
    """The value of an index expression; `/` and `%` round towards zero."""
    match index:
        case Num(value):
            return value
        case Name(name):
            return values[name]
        case Sum(left, right):
            return value_of(left, values) + value_of(right, values)
        case Minus(left, right):
            return value_of(left, values) - value_of(right, values)
        case Times(factor, inner):
            return factor * value_of(inner, values)
        case Quotient(inner, by):
            return _quotient(value_of(inner, values), by)
        case Remainder(inner, by):
            value = value_of(inner, values)
            return value - by * _quotient(value, by)
        case Extreme(op, left, right):
            return (min if op == "<" else max)(value_of(left, values), value_of(right, values))


def _quotient(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def holds(condition: Condition, values: Values) -> bool:
    """Whether a condition holds; raises TypeError for one that reads data."""
    match condition:
        case Compare(left, op, right):
            return bool(_COMPARISONS[op](value_of(left, values), value_of(right, values)))
        case Junction(op, one, other):
            return (all if op == "&&" else any)((holds(one, values), holds(other, values)))
        case Not(inner):
            return not holds(inner, values)
    raise TypeError(condition)
