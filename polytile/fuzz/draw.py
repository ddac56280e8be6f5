"""Random choices. Any `random.Random` will do, hypothesis's included."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from polytile.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws from one source of randomness."""

    source: random.Random

    def pick(self, *options: T) -> T:
        return self.one_of(options)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.source.randrange(len(options))]

    def chance(self, one_in: int) -> bool:
        return self.source.randrange(one_in) == one_in - 1

    def between(self, low: int, high: int) -> int:
        return self.source.randrange(low, high + 1)


def source_of(seed: int, index: int) -> Draw:
    """Return the choices of program number `index` of a seed, the same on every machine."""
    return Draw(random.Random(f"polytile {seed} {index}"))
