"""What evaluates points: a GPU with compilers beside it, or a record that is replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.space import Point

Known = Callable[[str], Outcome | None]  # what is known of a key; claims it for the caller where nothing is


class Evaluator(Protocol):
    """Evaluates up to `width` points at a time; compiling overlaps, the GPU has one at a time."""

    @property
    def width(self) -> int:
        """How many points are worth starting before one has finished."""
        ...

    def start(self, point: Point, best: float) -> None:
        """Begin with a point; runs that take 1.5 times `best` milliseconds are stopped after two."""
        ...

    def finished(self) -> Outcome:
        """Wait for the end of any point that was started."""
        ...

    def again(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        """Milliseconds of further runs of points that were measured, one run of each in turn."""
        ...

    def close(self) -> None:
        """End what still runs."""
        ...
