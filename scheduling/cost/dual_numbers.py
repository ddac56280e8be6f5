"""Numbers that carry their partial derivatives: forward-mode differentiation, which is exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Dual:
    """A value and its partial derivatives by each of some variables."""

    value: float
    slopes: tuple[float, ...]

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, tuple(a + b for a, b in zip(self.slopes, other.slopes, strict=True)))

    def __mul__(self, other: Dual) -> Dual:
        pairs = zip(self.slopes, other.slopes, strict=True)
        return Dual(self.value * other.value, tuple(a * other.value + self.value * b for a, b in pairs))

    def __truediv__(self, other: Dual) -> Dual:
        quotient = self.value / other.value
        pairs = zip(self.slopes, other.slopes, strict=True)
        return Dual(quotient, tuple((a - quotient * b) / other.value for a, b in pairs))

    def scaled(self, factor: float, added: float = 0.0) -> Dual:
        """Return `factor * self + added`."""
        return Dual(factor * self.value + added, tuple(factor * s for s in self.slopes))


def variables(values: Sequence[float]) -> tuple[Dual, ...]:
    """Return the variables themselves, at these values."""
    count = len(values)
    return tuple(Dual(v, tuple(float(i == k) for k in range(count))) for i, v in enumerate(values))


def values(numbers: Sequence[float]) -> tuple[Dual, ...]:
    """Leave out derivatives, where nobody needs them."""
    return tuple(Dual(number, ()) for number in numbers)


def count(numbers: Sequence[Dual]) -> int:
    """Return how many derivatives numbers carry."""
    return len(numbers[0].slopes) if numbers else 0


def constant(value: float, variables: int) -> Dual:
    return Dual(value, (0.0,) * variables)


def product(factors: Iterable[Dual], variables: int) -> Dual:
    total = constant(1.0, variables)
    for factor in factors:
        total = total * factor
    return total


def total(terms: Iterable[Dual], variables: int) -> Dual:
    found = constant(0.0, variables)
    for term in terms:
        found = found + term
    return found


def least(first: Dual, second: Dual) -> Dual:
    """Return the smaller one; where they are equal, the first."""
    return first if first.value <= second.value else second
