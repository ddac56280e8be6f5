"""Search by the cost model, corrected by what was measured: the point with the greatest expected improvement.

Times and estimates of points that were measured say how far off the cost model is near them (error_process.py). What
comes next is the point whose time is expected to fall below the best time so far by most, on average over what it may
be: Jones, Schonlau, Welch: Efficient global optimization of expensive black-box functions (J. Global Optimization 13,
1998), equation 15, of logarithms of times. It needs NumPy only.
"""

from __future__ import annotations

from math import erf, isfinite, log, pi, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.search.error_process import ErrorProcess, Vector
from polytile.autotuning.search.exhaustive import Enumeration
from polytile.autotuning.search.ranking import estimated
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point, Space

FIRST_ESTIMATED = 128  # points, a random sample of larger spaces
AT_ONCE = 32  # points whose estimates are asked for together later
MOST_CANDIDATES = 4096  # points, a random sample of larger spaces
FAILED = 3.0  # a point that does not run counts as one that takes so many times what was expected
_cumulative = np.vectorize(lambda z: 0.5 * (1 + erf(z / sqrt(2))), otypes=[float])


class GaussianSearch:
    """Points of the greatest expected improvement."""

    def __init__(self, space: Space, seed: int, estimates: Estimates) -> None:
        """Begin; estimates are asked for with the first point."""
        self._space, self._seed, self._estimates = space, seed, estimates
        self._process: ErrorProcess | None = None
        self._candidates: list[Point] = []
        self._rows: dict[Point, int] = {}
        self._measured: dict[int, float] = {}  # logarithms of milliseconds
        self._begun: dict[int, None] = {}
        self._told: list[Outcome] = []  # before the first point
        self._rest = Enumeration("rest", space, seed)
        points = f"{len(space.points)} points"
        self._description = f"gaussian: {points} by the cost model, corrected by what was measured (seed {seed})"

    @property
    def description(self) -> str:
        """What it does, in a line."""
        return self._description

    def ask(self) -> Point | None:
        """The next point, None where all were asked for."""
        if self._process is None:
            self._process = self._begin()
            for outcome in self._told:
                self.tell(outcome)
        free = np.ones(len(self._candidates), dtype=bool)
        free[[*self._measured, *self._begun]] = False
        row = self._most_promising(self._process, free & ~self._process.refused)
        if row is None:
            return self._rest.ask()
        self._begun[row] = None
        point = self._candidates[row]
        self._rest.leave_out(point)
        return point

    def _most_promising(self, process: ErrorProcess, free: NDArray[np.bool_]) -> int | None:
        """The row of the next point; estimates of promising ones are asked for, until one that has some is first."""
        while free.any():
            mean, deviation = process.believed(self._measured, list(self._begun))
            best = min(self._measured.values(), default=None)
            worth = -mean if best is None else expected_improvement(best, mean, deviation)
            order = np.argsort(-np.where(free, worth, -np.inf), kind="stable")
            if process.known[order[0]]:
                return int(order[0])
            rows = [int(row) for row in order if free[row] and not process.known[row]][:AT_ONCE]
            process.learn(rows, self._estimates([self._candidates[row] for row in rows]))
            free = free & ~process.refused
        return None

    def tell(self, outcome: Outcome) -> None:
        """Learn from an outcome."""
        if self._process is None:
            self._told.append(outcome)
        self._rest.tell(outcome)
        row = self._rows.get(outcome.point)
        if row is None or self._process is None:
            return
        self._begun.pop(row, None)
        fine = isfinite(outcome.median) and outcome.median > 0
        self._measured[row] = log(outcome.median) if fine else float(self._process.prior[row]) + log(FAILED)

    def _begin(self) -> ErrorProcess:
        known = estimated(self._space, self._seed, self._estimates, FIRST_ESTIMATED)
        others = [point for point in self._space.points if point not in known]
        more = Random(self._seed).sample(others, min(len(others), MOST_CANDIDATES - len(known)))
        self._candidates = [*known, *more]
        self._rows = {point: row for row, point in enumerate(self._candidates)}
        return ErrorProcess(self._space, self._candidates, list(known.values()))


def expected_improvement(best: float, mean: Vector, deviation: Vector) -> Vector:
    """How much less than the best each value is on average, where it is less, by a normal distribution."""
    z = (best - mean) / deviation
    density = np.exp(-z * z / 2) / sqrt(2 * pi)
    return np.asarray(deviation * (z * _cumulative(z) + density))
