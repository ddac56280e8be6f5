"""When planes of values arrive and are made, how long they stay, and how wide: boxes, lags and slots.

before: B reads A at -1 .. 1 in both dimensions, C reads B at the same offsets, and C is stored
after:  A: box [-2..+2, -2..+2], lag 0, 3 planes;  B: box [-1..+1, -1..+1], lag 1, 3 planes;  C: the owner box, lag 2

It is dynamic programming over whole numbers: boxes from the last values to the first, then lags from the first to the
last, then slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polytile.dataclass import dataclass

Offset = tuple[int, ...]
MOST_DIMENSIONS = 3  # of space: one streams, and two are a tile of a block


@dataclass(frozen=True, slots=True)
class Reach:
    """All reads of one value by another, as a box of offsets. `apart` is the largest offset along the stream of a read
    beside the own column; None: there is none."""

    reader: int
    source: int
    lower: Offset
    upper: Offset
    apart: int | None

    def ahead(self, gap: int) -> int:
        """Return how many planes after the source's the reader's plane can be made at the earliest.

        Values of other threads are there `gap` planes after they were made.
        """
        return self.upper[0] if self.apart is None else max(self.upper[0], self.apart + gap)


def reach(reader: int, source: int, offsets: Sequence[Offset]) -> Reach:
    lower, upper = (tuple(f(along) for along in zip(*offsets, strict=True)) for f in (min, max))
    apart = max((offset[0] for offset in offsets if any(offset[1:])), default=None)
    return Reach(reader, source, lower, upper, apart)


def boxes(count: int, dims: int, reaches: Iterable[Reach]) -> list[tuple[Offset, Offset]]:
    """Compute the sides of each value's box around the owner box; values are numbered after those that they read."""
    found = [((0,) * dims, (0,) * dims)] * count
    for r in sorted(reaches, key=lambda one: -one.reader):
        (low, high), (lower, upper) = found[r.source], found[r.reader]
        found[r.source] = (
            tuple(min(a, b + c) for a, b, c in zip(low, lower, r.lower, strict=True)),
            tuple(max(a, b + c) for a, b, c in zip(high, upper, r.upper, strict=True)),
        )
    return found


def lags(count: int, inputs: int, reaches: Sequence[Reach], gap: int) -> list[int]:
    """Schedule values as early as they can be made.

    The inputs, which come first, are loaded as late as readers let them.
    """
    found = [0] * count
    for r in sorted(reaches, key=lambda one: one.reader):
        found[r.reader] = max(found[r.reader], found[r.source] + r.ahead(gap))
    for k in range(inputs):
        found[k] = max(0, min((found[r.reader] - r.ahead(gap) for r in reaches if r.source == k), default=0))
    return found


def slots(
    found_lags: Sequence[int], reaches: Iterable[Reach], retimed: Sequence[bool] = (), gap: int = 0
) -> list[int]:
    """Count the planes that each value keeps.

    A plane stays until the last reader has run; the next one in its place comes a plane later. Readers that are retimed
    take a plane as soon as it can be seen.
    """
    found = [1] * len(found_lags)
    for r in reaches:
        age = found_lags[r.reader] - r.lower[0] - found_lags[r.source]
        age = min(age, gap) if retimed and retimed[r.reader] else age
        found[r.source] = max(found[r.source], age + 1)
    return found
