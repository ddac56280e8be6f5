"""Keys of caches for what takes as long to hash and to compare as to print."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

from polytile.dataclass import dataclass

T = TypeVar("T")
R = TypeVar("R")
MOST_REMEMBERED = 1000  # values of one function: one compilation has a few hundred, and thousands may follow


@dataclass(frozen=True, slots=True, eq=False)
class IdentityKey(Generic[T]):
    """A value that equals only itself."""

    value: T

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.value is self.value


def remembered(find: Callable[[T], R]) -> Callable[[T], R]:
    """Memoize a function of one frozen value by the identity of its argument.

    Equal ones, which may differ in what comparisons leave out, are not the same. Objects that it remembers stay alive.
    """
    known: dict[int, tuple[T, R]] = {}  # by identity

    @wraps(find)
    def found(value: T) -> R:
        pair = known.get(id(value))
        if pair is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            pair = known[id(value)] = (value, find(value))
        return pair[1]

    return found
