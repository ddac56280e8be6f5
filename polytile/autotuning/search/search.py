"""What a search is asked and told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.space import Point

Estimates = Callable[[Sequence[Point]], Sequence[float | None]]  # milliseconds by the cost model; None: refused


class Search(Protocol):
    """Proposes points, each once, and learns from outcomes, which may come in another order."""

    @property
    def description(self) -> str:
        """Describe the search in a line: `exhaustive: 544 points in the order of the space`."""
        ...

    def ask(self) -> Point | None:
        """Return the next point; None where there is none left."""
        ...

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a point, which may be of an earlier run instead of asked for: it is not asked then."""
        ...
