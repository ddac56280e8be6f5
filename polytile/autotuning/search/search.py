"""What a search is asked and told."""

from __future__ import annotations

from typing import Protocol

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.space import Point


class Search(Protocol):
    """Proposes points, each once, and learns from outcomes, which may come in another order."""

    def ask(self) -> Point | None:
        """The next point; None where there is none left."""
        ...

    def tell(self, outcome: Outcome) -> None:
        """What came of a point that was asked for."""
        ...
