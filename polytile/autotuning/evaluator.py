"""What evaluates points: a GPU with compilers beside it, or a record that is replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.space import Point

# What is known of a key: an outcome, which may be of another point; one that is HELD, where it is being measured; None
# where nothing is, and the caller has claimed it. `Record.known` is one.
Known = Callable[[str], Outcome | None]


class Evaluator(Protocol):
    """Evaluates up to `width` points at a time; compiling overlaps, the GPU has one at a time."""

    @property
    def width(self) -> int:
        """Return how many points are worth starting before one has finished."""
        ...

    def start(self, point: Point, best: float) -> None:
        """Start a point; runs that take 1.5 times `best` milliseconds are stopped after two."""
        ...

    def finished(self) -> Outcome:
        """Wait for the end of any point that was started; HELD with its key where its kernels are being measured by
        others, so that it is asked for again later."""
        ...

    def again(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        """Return milliseconds of further runs of points that were measured, by this evaluator or one before it, one run
        of each in turn. Points that fail now are left out."""
        ...

    def close(self) -> None:
        """End what still runs."""
        ...
