"""How many registers values need at once, from where they are defined and used in the order of the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import accumulate

from polytile.dataclass import dataclass


@dataclass(slots=True)
class Value:
    """A value or variable: `width` registers from its first definition to its last use.

    `early` is where a compiler may define it at the earliest: a load moves to the start of its block, so that memory
    has time to answer. `copies` of it are on their way at once where its loop is unrolled. What can be computed `again`
    wherever it is used, from what is there anyway, need not stay.
    """

    width: int
    start: int
    early: int
    level: int = 0  # of loops around what it depends on
    copies: int = 1
    again: bool = False
    uses: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Loop:
    """The positions of a loop's first and last instruction."""

    start: int
    end: int


def pressure(values: Iterable[Value], loops: Iterable[Loop], *, eager: bool) -> int:
    """Return the most registers that are live at one position; `eager` loads come as early as they can.

    A value from before a loop that the loop uses lives to the loop's end, because another iteration may follow.
    """
    outermost_first = sorted(loops, key=lambda loop: loop.start)
    changes: dict[int, int] = {}
    for value in values:
        if not value.uses:
            continue
        start = value.early if eager else value.start
        width = value.width * (value.copies if eager else 1)
        end = _end(value, outermost_first)
        changes[start] = changes.get(start, 0) + width
        changes[end] = changes.get(end, 0) - width
    return max(accumulate(changes[at] for at in sorted(changes)), default=0)


def staying(values: Iterable[Value], loops: Sequence[Loop]) -> Iterator[Value]:
    """Yield the values but for those that can be computed again.

    Those too, where a loop lies between them and their last use.
    """
    for value in values:
        last = max(value.uses, default=value.start)
        if not value.again or any(value.start <= loop.start < last for loop in loops):
            yield value


def _end(value: Value, loops: Iterable[Loop]) -> int:
    """Return the last use, or the end of the outermost loop after the definition that holds it."""
    last = max(value.uses)
    return next((loop.end for loop in loops if value.start <= loop.start < last <= loop.end), last)
