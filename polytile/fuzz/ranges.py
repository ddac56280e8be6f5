"""Interval arithmetic over the sizes n, m >= 0: the values of index expressions, and the extents that arrays need."""

from __future__ import annotations

from collections.abc import Mapping

from polytile.dataclass import dataclass
from polytile.fuzz.large_sizes import STARTS
from polytile.fuzz.tree import (
    OFFSET,
    OFFSET_RANGE,
    UNSIGNED_ITERATORS,
    Choice,
    Clamped,
    Entry,
    Extreme,
    Index,
    Let,
    Loop,
    Minus,
    Name,
    Num,
    PostStep,
    Quotient,
    Remainder,
    Sum,
    Times,
    Until,
    Wrapped,
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
        """Return what is at least both, for n, m >= 0."""
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
    """All values lie between `low` and `high`; `spelt` is how C text has a name with them, if not by the name alone."""

    low: Linear
    high: Linear
    spelt: str = ""

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, by: int) -> Range:
        low, high = self.low * by, self.high * by
        return Range(low, high) if by >= 0 else Range(high, low)

    def joined(self, other: Range) -> Range:
        """Return the union of both ranges."""
        return Range(self.low.least(other.low), self.high.most(other.high))

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
    """Compute the bounds of an index expression; raises KeyError for a name that is not in scope."""
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
        case Choice(_, left, right) | Clamped(_, left, right):
            return range_of(left, names).joined(range_of(right, names))
        case Wrapped(inner, size):
            return Range(range_of(inner, names).low.least(ZERO), range_of(size, names).high + Linear(c=-1))
        case Entry():
            return Range(ZERO, Linear(n=1))
        case PostStep(name):
            return names[name]


def _quotient(inner: Range, by: int) -> Range:
    if inner.low.constant and inner.high.constant:
        return Range(Linear(c=_towards_zero(inner.low.c, by)), Linear(c=_towards_zero(inner.high.c, by)))
    return Range(inner.low.least(ZERO), inner.high.most(ZERO))


def _towards_zero(value: int, by: int) -> int:
    return abs(value) // by * (1 if value >= 0 else -1)


def below(loop: Loop, names: Ranges) -> dict[str, Range]:
    """Return the names in the body of a loop. The body of `do` runs once in any case."""
    low, high = range_of(loop.low, names), range_of(loop.high, names).high + Linear(c=-1)
    last = high.most(low.high) if loop.form == "do" else high
    return {**names, loop.iterator: Range(low.low, last, _spelt(loop))}


def _spelt(loop: Loop) -> str:
    """Return how the number of an iteration is written: differences of unsigned iterators would wrap around."""
    if loop.start:
        return STARTS[loop.start].number.format(i=loop.iterator)
    return f"(int){loop.iterator}" if loop.type in UNSIGNED_ITERATORS else ""


def within(until: Until, names: Ranges) -> dict[str, Range]:
    """Return the names in the body of a loop that data end."""
    high = range_of(until.limit, names).high + Linear(c=-1)
    return {**names, until.name: Range(ZERO, high.most(ZERO))}


def set_by(let: Let, names: Ranges) -> Range:
    """Return the range of a variable after it was set."""
    found = range_of(let.value, names)
    return found if let.limit is None else found.joined(range_of(let.limit, names))


def wraps(node: Wrapped, names: Ranges) -> bool:
    """Return whether the divisor of `inner % size` is positive: an iterator below it is in scope."""
    last = range_of(node.size, names).high + Linear(c=-1)
    return any(r.never_negative and r.high == last for r in names.values())


def shift(bounds: Range) -> Linear:
    """Compute what must be added to a subscript so that it is never negative."""
    return bounds.low.least(ZERO) * -1
