"""Index expressions and conditions without data, evaluated as C does."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from polytile.fuzz.large_sizes import LARGE, STARTS
from polytile.fuzz.tree import (
    START,
    START_VALUE,
    Choice,
    Clamped,
    Compare,
    Condition,
    Entry,
    Extreme,
    Index,
    Junction,
    LargeCompare,
    Let,
    Loop,
    Minus,
    Name,
    Not,
    Num,
    PostStep,
    Program,
    Quotient,
    Remainder,
    Sum,
    Times,
    Wrapped,
)
from polytile.fuzz.walking import walk

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
    """Evaluate an index expression; `/` and `%` round towards zero. Raises TypeError for one that reads data."""
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
        case Choice(condition, left, right):
            return value_of(left if holds(condition, values) else right, values)
        case Clamped(inner, low, high):
            value, least, most = (value_of(x, values) for x in (inner, low, high))
            return least if value < least else min(value, most)
        case Wrapped(inner, size):
            value, by = value_of(inner, values), value_of(size, values)
            return value - by * _quotient(value, by)
        case Entry() | PostStep():
            raise TypeError(index)


def _quotient(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def holds(condition: Condition, values: Values) -> bool:
    """Return whether a condition holds; raises TypeError for one that reads data."""
    match condition:
        case Compare(left, op, right):
            return bool(_COMPARISONS[op](value_of(left, values), value_of(right, values)))
        case Junction(op, one, other):
            return (all if op == "&&" else any)((holds(one, values), holds(other, values)))
        case Not(inner):
            return not holds(inner, values)
    raise TypeError(condition)


def value_set(let: Let, values: Values) -> int:
    """Return the value of a variable after it was set."""
    value = value_of(let.value, values)
    if let.limit is not None and holds(Compare(Num(value), let.op, let.limit), values):
        return value_of(let.limit, values)
    return value


def with_known(program: Program, sizes: Values) -> dict[str, int]:
    """Add what is set before SCoPs, and the iteration counts of loops whose steps are sizes, to the sizes."""
    found = dict(sizes)
    for function in program.functions:
        for let in function.known:
            found[let.name] = value_set(let, found)
    found |= {n.size: LARGE[n.size].value for n in walk(program.functions) if isinstance(n, LargeCompare)}
    for loop in (n for n in walk(program.functions) if isinstance(n, Loop)):
        if loop.start:
            name = STARTS[loop.start].size
            found[name or START] = LARGE[name].value if name else START_VALUE
        if loop.stride is None:
            continue
        low, high, step = (value_of(e, found) for e in (loop.low, loop.high, loop.stride))
        found[f"{loop.iterator}_trips"] = max(0, -((low - high) // step)) if step > 0 else 0
    return found
