"""Search by enumeration: all points, in the order of the space or in a random one.

Random search is the latter, cut off by its budget: points are drawn without replacement, uniformly over all points.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.space import Point, Space


class Enumeration:
    """All points of a space but those that it was told of before it came to them."""

    def __init__(self, name: str, space: Space, seed: int | None = None) -> None:
        """Begin; without a seed points come in the order of the space, else in one that the seed chooses."""
        points = list(space.points)
        if seed is not None:
            Random(seed).shuffle(points)
        self._known: set[Point] = set()
        self._left: Iterator[Point] = iter(points)
        order = "the order of the space" if seed is None else f"random order (seed {seed})"
        self._description = f"{name}: {len(points)} point{'s' * (len(points) != 1)} in {order}"

    @property
    def description(self) -> str:
        """Describe the search in a line."""
        return self._description

    def ask(self) -> Point | None:
        """Return the next point that is not known; None after the last."""
        for point in self._left:
            if point not in self._known:
                self._known.add(point)
                return point
        return None

    def tell(self, outcome: Outcome) -> None:
        """Leave out a point that is known already."""
        self.leave_out(outcome.point)

    def leave_out(self, point: Point) -> None:
        """Never ask for a point."""
        self._known.add(point)
