"""Search by the cost model, by what was learned of its errors, and by what was measured alone.

    the best by estimate and the greatest expected improvement (gaussian_search.py) in turns: 12 points
    then these two and a proposal of the Parzen estimator (parzen.py) in turns

The three fail where the others do not: the cost model where it is off, the Gaussian process where it is right but for
noise, and the Parzen estimator until there are many times. A proposal of the estimator stands for the nearest point
that holds the constraints and was not asked for.
"""

from __future__ import annotations

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.search.gaussian_search import GaussianSearch
from polytile.autotuning.search.nearest import Unasked
from polytile.autotuning.search.parzen import ParzenEstimator
from polytile.autotuning.search.ranking import MOST_ESTIMATED
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point, Space

FIRST = 12  # points without the estimator


class ModelSearch:
    """Points of the cost model, of a Gaussian process, and of Optuna's TPE."""

    def __init__(self, space: Space, seed: int, estimates: Estimates) -> None:
        """Begin; raises UsageError where Optuna is not installed."""
        self._sampler = ParzenEstimator(space, seed)
        self._model = GaussianSearch(space, seed, estimates, MOST_ESTIMATED)
        self._unasked = Unasked(space)
        self._asked = 0
        size = len(space.points)
        part = "" if size <= MOST_ESTIMATED else f", {MOST_ESTIMATED} of them"
        self._description = f"model: {size} points{part} ranked by the cost model, then by Optuna's TPE (seed {seed})"

    @property
    def description(self) -> str:
        """Describe the search in a line."""
        return self._description

    def ask(self) -> Point | None:
        """Return the next point, None where all were asked for."""
        point = self._next()
        if point is not None:
            self._unasked.take(point)
            self._asked += 1
        return point

    def tell(self, outcome: Outcome) -> None:
        """Learn from an outcome; a point without a time counts as slower than all others."""
        if self._unasked.take(outcome.point):
            self._sampler.tell(outcome.point, outcome.median)
            self._model.tell(outcome)

    def _next(self) -> Point | None:
        turn = self._asked % (2 if self._asked < FIRST else 3)
        point = self._model.fastest() if turn == 0 else None
        if turn == 1 or (turn == 0 and point is None):
            point = self._model.ask()
        if point is not None:
            self._sampler.began(point)
            return point
        point = self._sampler.ask(self._unasked)
        if point is not None:
            self._model.began(point)
        return point
