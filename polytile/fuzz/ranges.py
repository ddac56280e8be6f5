"""Interval arithmetic over the sizes n, m >= 0: the values of index expressions, and the extents that arrays need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polytile.fuzz.tree import (
    OFFSET,
    OFFSET_RANGE,
    DeclareArray,
    Element,
    Extreme,
    Index,
    Loop,
    Minus,
    Name,
    Num,
    Program,
    Quotient,
    Remainder,
    Row,
    Sum,
    Sweep,
    Times,
    walk,
)


@dataclass(frozen=True, slots=True)
class Linear:
    """n*`n` + m*`m` + `c`."""

    n: int = 0
    m: int = 0
    c: int = 0

    def __add__(self, other: Linear) -> Linear:
        return Linear(self.n + other.n, self.m + other.m, self.c + other.c)

    def __mul__(self, by: int) -> Linear:
        return Linear(self.n * by, self.m * by, self.c * by)

    def most(self, other: Linear) -> Linear:
        """At least both, for n, m >= 0."""
        return Linear(max(self.n, other.n), max(self.m, other.m), max(self.c, other.c))

    def least(self, other: Linear) -> Linear:
        return Linear(min(self.n, other.n), min(self.m, other.m), min(self.c, other.c))

    def at(self, n: int, m: int) -> int:
        return self.n * n + self.m * m + self.c

    @property
    def constant(self) -> bool:
        return self.n == self.m == 0

    @property
    def never_negative(self) -> bool:
        return min(self.n, self.m, self.c) >= 0


@dataclass(frozen=True, slots=True)
class Range:
    """All values lie between `low` and `high`."""

    low: Linear
    high: Linear

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, by: int) -> Range:
        ends = (self.low * by, self.high * by)
        return Range(*ends) if by >= 0 else Range(*reversed(ends))

    @property
    def never_negative(self) -> bool:
        return self.low.never_negative


ZERO, ONE = Linear(), Linear(c=1)
Ranges = Mapping[str, Range]
PARAMETERS: Ranges = {
    "n": Range(Linear(n=1), Linear(n=1)),
    "m": Range(Linear(m=1), Linear(m=1)),
    OFFSET: Range(Linear(c=OFFSET_RANGE[0]), Linear(c=OFFSET_RANGE[1])),
}


def range_of(index: Index, names: Ranges) -> Range:
    """Bounds of an index expression; raises KeyError for a name that is not in scope."""
    match index:
        case Num(value):
            return Range(Linear(c=value), Linear(c=value))
        case Name(name):
            return names[name]
        case Sum(left, right):
            return range_of(left, names) + range_of(right, names)
        case Minus(left, right):
            return range_of(left, names) + range_of(right, names) * -1
        case Times(factor, inner):
            return range_of(inner, names) * factor
        case Quotient(inner, by):
            return _quotient(range_of(inner, names), by)
        case Remainder(inner, by):
            low = 0 if range_of(inner, names).never_negative else 1 - by
            return Range(Linear(c=low), Linear(c=by - 1))
        case Extreme(op, left, right):
            a, b = range_of(left, names), range_of(right, names)
            return Range(a.low.least(b.low), a.high) if op == "<" else Range(a.low, a.high.most(b.high))


def _quotient(inner: Range, by: int) -> Range:
    if inner.low.constant and inner.high.constant:
        return Range(Linear(c=_towards_zero(inner.low.c, by)), Linear(c=_towards_zero(inner.high.c, by)))
    return Range(inner.low.least(ZERO), inner.high.most(ZERO))


def _towards_zero(value: int, by: int) -> int:
    return abs(value) // by * (1 if value >= 0 else -1)


def below(loop: Loop, names: Ranges) -> dict[str, Range]:
    """The names in the body of a loop."""
    bounds = Range(range_of(loop.low, names).low, range_of(loop.high, names).high + Linear(c=-1))
    return {**names, loop.iterator: bounds}


def shift(bounds: Range) -> Linear:
    """What a subscript needs to be added so that it is never negative."""
    return bounds.low.least(ZERO) * -1


Extents = dict[str, list[Linear]]


def extents(program: Program) -> Extents:
    """The extents of every array, those declared inside SCoPs too; each is at least 1 for all sizes.

    Arrays of one name, declared in several places, get the extents that all of them need. Raises KeyError for a name
    that is not in scope.
    """
    found = {a.name: [ONE] * a.rank for a in program.arrays}
    found |= {d.name: [ONE] * d.rank for d in walk(program) if isinstance(d, DeclareArray)}
    for function in program.functions:
        for part in function.parts:
            _visit(part, PARAMETERS, found)
    return found


def _visit(node: Any, names: Ranges, found: Extents) -> None:
    """Enter what the subscripts below a node need."""
    if isinstance(node, Element | Row | Sweep):
        needed = [range_of(s, names) for s in node.subscripts]
        sizes = [r.high + shift(r) + ONE for r in needed]
        if isinstance(node, Row | Sweep):
            sizes.append(range_of(node.count, names).high)
        _enter(found.get(node.array, []), sizes)
    if isinstance(node, tuple):
        for item in node:
            _visit(item, names, found)
    elif isinstance(node, Loop):
        inner = below(node, names)
        _visit(node.body, inner, found)
        _visit(node.also, inner, found)
    elif hasattr(node, "__dataclass_fields__"):
        for name in node.__dataclass_fields__:
            _visit(getattr(node, name), names, found)


def _enter(known: list[Linear], needed: list[Linear]) -> None:
    for position, extent in enumerate(needed):
        known[position] = known[position].most(extent)
