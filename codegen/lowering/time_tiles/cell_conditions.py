"""AffineForm inequalities over time, cell and parameters: as conditions, and at their least over a tile.

before: n - 2 - x1 >= 0, for x1 from left to left + 127
after:  x1 <= n - 2 as a condition at a cell; left + 127 <= n - 2 for the whole tile
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, known, mul, sub
from polytile.ir.expr import Binary, Call, CType, Expr, Literal, Name

Range = tuple[Expr, Expr]  # the first and the last


@dataclass(frozen=True, slots=True)
class AffineForm:
    """`constant + sum of factor * name`; as a condition, at least 0."""

    constant: int
    terms: tuple[tuple[str, int], ...]

    @staticmethod
    def of(terms: Mapping[str, int]) -> AffineForm:
        """Make a form from factors by names; the constant has the name ""."""
        return AffineForm(terms.get("", 0), tuple((n, f) for n, f in terms.items() if n and f))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    def factor(self, name: str) -> int:
        return dict(self.terms).get(name, 0)

    def negated(self) -> AffineForm:
        return AffineForm(-self.constant, tuple((n, -f) for n, f in self.terms))

    def without(self, name: str) -> AffineForm:
        return AffineForm(self.constant, tuple((n, f) for n, f in self.terms if n != name))

    def value(self, values: Mapping[str, Expr], integer: CType) -> Expr:
        """Return the expression, with names replaced by values."""
        total: Expr | int = 0
        for name, factor in sorted(self.terms, key=lambda term: term[1] < 0):
            value = values.get(name, Name(name, integer))
            total = sub(total, mul(value, -factor)) if factor < 0 else add(total, mul(value, factor))
        return add(total, self.constant)

    def condition(self, pivot: str, values: Mapping[str, Expr], integer: CType) -> Expr:
        """Return the condition that the form is at least 0, with the pivot on one side where that is easy to read."""
        rest = self.without(pivot)
        if self.factor(pivot) == 1:
            return compare(">=", values[pivot], rest.negated().value(values, integer))
        if self.factor(pivot) == -1:
            return compare("<=", values[pivot], rest.value(values, integer))
        return compare(">=", self.value(values, integer), 0)

    def least(self, ranges: Mapping[str, Range], integer: CType) -> Expr:
        """Return the least value where names are in ranges."""
        corner = {name: ranges[name][0 if factor > 0 else 1] for name, factor in self.terms if name in ranges}
        return self.value(corner, integer)

    def limit(self, pivot: str, ranges: Mapping[str, Range], integer: CType) -> Expr:
        """Return the last (with a negative factor) or first value of the pivot at which the form is at least 0.

        This holds wherever the other names are in their ranges.
        """
        factor, rest = self.factor(pivot), self.without(pivot)
        if factor < 0:
            return _floor(rest.least(ranges, integer), -factor, integer)
        opposite = {name: (last, first) for name, (first, last) in ranges.items()}
        least = rest.negated().least(opposite, integer)
        return _floor(add(least, factor - 1), factor, integer)


def _floor(value: Expr, by: int, integer: CType) -> Expr:
    number = known(value)
    if number is not None:
        return add(number // by, 0)
    return value if by == 1 else Call("floord", (value, Literal(str(by), integer)), integer)


def conjunction(conditions: list[Expr]) -> Expr | None:
    """Return the conjunction of conditions, evaluated without branches, or None of none."""
    if not conditions:
        return None
    total = conditions[0]
    for one in conditions[1:]:
        total = Binary("&", total, one, one.type)
    return total
