"""Search by the cost model first, then by what was measured, too.

    the best by estimate: 12 points    then every other point is a proposal of the Parzen estimator (parzen.py)

A proposal stands for the nearest point that holds the constraints and was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.search.nearest import Unasked
from polytile.autotuning.search.parzen import ParzenEstimator
from polytile.autotuning.search.ranking import MOST_ESTIMATED, estimated, ranked
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point, Space

FIRST = 12  # points of the cost model
EVERY = 2  # one in as many of the later points is the cost model's next


class ModelSearch:
    """Points of the cost model, then those of Optuna's TPE."""

    def __init__(self, space: Space, seed: int, estimates: Estimates) -> None:
        """Begin; raises UsageError where Optuna is not installed."""
        self._space, self._seed, self._estimates = space, seed, estimates
        self._sampler = ParzenEstimator(space, seed)
        self._unasked = Unasked(space)
        self._ranked: Iterator[Point] | None = None
        self._asked = 0
        size = len(space.points)
        part = "" if size <= MOST_ESTIMATED else f", {MOST_ESTIMATED} of them"
        self._description = f"model: {size} points{part} ranked by the cost model, then by Optuna's TPE (seed {seed})"

    @property
    def description(self) -> str:
        """What it does, in a line."""
        return self._description

    def ask(self) -> Point | None:
        """The next point, None where all were asked for."""
        point = self._next()
        if point is not None:
            self._unasked.take(point)
            self._asked += 1
        return point

    def tell(self, outcome: Outcome) -> None:
        """Learn from an outcome; a point without a time counts as slower than all others."""
        if self._unasked.take(outcome.point):
            self._sampler.tell(outcome.point, outcome.median)

    def _next(self) -> Point | None:
        if self._ranked is None:
            self._ranked = iter(ranked(estimated(self._space, self._seed, self._estimates)))
        if self._asked < FIRST or self._asked % EVERY == 0:
            for point in self._ranked:
                if point in self._unasked:
                    self._sampler.began(point)
                    return point
        return self._sampler.ask(self._unasked)
