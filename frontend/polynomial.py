"""Polynomials with integer coefficients over named atoms: iterators, parameters, and sub-expressions like `i / 2`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from polytile.dataclass import dataclass

Monomial = tuple[str, ...]  # sorted names, with repetition: i * n * n is ("i", "n", "n")


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of `coefficient * monomial`; no coefficient is 0."""

    terms: Mapping[Monomial, int]

    @classmethod
    def of(cls, value: int | str) -> Polynomial:
        """A constant or an atom."""
        if isinstance(value, str):
            return cls({(value,): 1})
        return cls({(): value} if value else {})

    @property
    def constant(self) -> int | None:
        """The value of a constant polynomial, or None."""
        if not self.terms:
            return 0
        return self.terms[()] if set(self.terms) == {()} else None

    @property
    def degree(self) -> int:
        return max((len(m) for m in self.terms), default=0)

    def atoms(self) -> frozenset[str]:
        return frozenset(a for m in self.terms for a in m)

    def __add__(self, other: Polynomial) -> Polynomial:
        return _sum([self, other])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return _sum([self, other.scale(-1)])

    def scale(self, factor: int) -> Polynomial:
        return Polynomial({m: c * factor for m, c in self.terms.items()} if factor else {})

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _sum(
            Polynomial({tuple(sorted(m + n)): c * d}) for m, c in self.terms.items() for n, d in other.terms.items()
        )

    def split(self, divisor: Monomial) -> tuple[Polynomial, Polynomial]:
        """Quotient and remainder by a monomial: (i*n + j) by n gives i and j."""
        quotient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            divided = divide(monomial, divisor)
            if divided is None:
                rest[monomial] = coefficient
            else:
                quotient[divided] = coefficient
        return Polynomial(quotient), Polynomial(rest)


def divide(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """monomial / divisor, or None where it does not divide."""
    have, need = Counter(monomial), Counter(divisor)
    if need - have:
        return None
    return tuple(sorted((have - need).elements()))


def _sum(parts: Iterable[Polynomial]) -> Polynomial:
    total: Counter[Monomial] = Counter()
    for part in parts:
        for monomial, coefficient in part.terms.items():
            total[monomial] += coefficient
    return Polynomial({m: c for m, c in total.items() if c})
