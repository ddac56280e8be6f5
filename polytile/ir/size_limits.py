"""Limits of sizes within which no integer that generated code computes overflows.

before: a kernel for `for (i = 0; i < n; i++)` whose last block computes 128 * b + t up to n + 126, in 32 bits
after:  n <= 2147483521, which the entry point asks before it does anything; for other sizes the caller runs the C
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from polytile.dataclass import dataclass

LIMIT_OF_INT = 2**31 - 1
LIMIT_OF_LONG = 2**62  # half of what fits, so that limits themselves may be computed in rounded numbers


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """`sum of factor * size <= most`; factors and `most` are integers."""

    terms: tuple[tuple[str, int], ...]
    most: int

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Return whether sizes are within the limit."""
        return sum(factor * sizes[name] for name, factor in self.terms) <= self.most

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    def __str__(self) -> str:
        """Return the limit in C, over exact integers: `n <= 2147483521`, `-25 <= n`, `hi - lo <= 2147483520`."""
        return self._written({name: name for name in self.names}, str)

    def in_c(self, spelt: Mapping[str, str], wide: Collection[str]) -> str:
        """Return the limit as C over `spelt` variables of 64 bits.

        Sums of those of `wide`, which may have any value, are computed in rounded numbers.
        """
        if len(self.terms) == 1 or self.names.isdisjoint(wide):
            return self._written(spelt, _constant)
        rounded = {name: f"(double){spelt[name]}" for name in self.names}
        return f"{_sum_text(self.terms, rounded)} <= {float(self.most)!r}"

    def _written(self, spelt: Mapping[str, str], constant: Callable[[int], str]) -> str:
        if self.terms and all(factor < 0 for _, factor in self.terms):
            positive = tuple((name, -factor) for name, factor in self.terms)
            return f"{constant(-self.most)} <= {_sum_text(positive, spelt)}"
        ordered = tuple(sorted(self.terms, key=lambda term: term[1] < 0))
        return f"{_sum_text(ordered, spelt)} <= {constant(self.most)}"


def _sum_text(terms: tuple[tuple[str, int], ...], spelt: Mapping[str, str]) -> str:
    text = ""
    for name, factor in terms:
        part = spelt[name] if abs(factor) == 1 else f"{abs(factor)} * {spelt[name]}"
        sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
        text += sign + part
    return text or "0"


def _constant(value: int) -> str:
    return str(value) if -(2**31) < value < 2**31 else f"{value}LL"


def both_limits(first: Collection[SizeLimit], second: Collection[SizeLimit]) -> tuple[SizeLimit, ...]:
    """Join limits: of two limits of the same sum the lower one."""
    least: dict[tuple[tuple[str, int], ...], int] = {}
    for limit in (*first, *second):
        least[limit.terms] = min(limit.most, least.get(limit.terms, limit.most))
    return tuple(SizeLimit(terms, most) for terms, most in least.items())
