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
FAILED = 3.0  # a point that does not run counts as one that takes so many times what its estimate says by and large
_cumulative = np.vectorize(lambda z: 0.5 * (1 + erf(z / sqrt(2))), otypes=[float])


class GaussianSearch:
    """Points of the greatest expected improvement."""

    def __init__(self, space: Space, seed: int, estimates: Estimates, first: int = FIRST_ESTIMATED) -> None:
        """Begin; estimates are asked for with the first point, so many at once."""
        self._space, self._seed, self._estimates, self._first = space, seed, estimates, first
        self._begun_process: ErrorProcess | None = None
        self._candidates: list[Point] = []
        self._rows: dict[Point, int] = {}
        self._measured: dict[int, float] = {}  # logarithms of milliseconds
        self._failed: dict[int, None] = {}
        self._begun: dict[int, None] = {}
        self._told: list[Outcome] = []  # before the first point
        self._rest = Enumeration("rest", space, seed)
        points = f"{len(space.points)} points"
        self._description = f"gaussian: {points} by the cost model, corrected by what was measured (seed {seed})"

    @property
    def description(self) -> str:
        """Describe the search in a line."""
        return self._description

    def ask(self) -> Point | None:
        """Return the next point, None where all were asked for."""
        process = self._process()
        row = self._most_promising(process, self._free(process))
        if row is None:
            return self._rest.ask()
        self.began(self._candidates[row])
        return self._candidates[row]

    def fastest(self) -> Point | None:
        """Return the point with the least estimate of those that have one, of equal ones the most promising; None where
        all of them were asked for."""
        process = self._process()
        estimates = np.where(self._free(process) & process.estimated, process.prior, np.inf)
        least = estimates.min(initial=np.inf)
        if not isfinite(least):
            return None
        row = self._most_promising(process, estimates <= least)
        assert row is not None
        self.began(self._candidates[row])
        return self._candidates[row]

    def began(self, point: Point) -> None:
        """Take a point as begun, also one that another search has asked for: its outcome is told."""
        self._process()
        row = self._rows.get(point)
        if row is not None:
            self._begun[row] = None
        self._rest.leave_out(point)

    def _free(self, process: ErrorProcess) -> NDArray[np.bool_]:
        """Return which candidates may be asked for."""
        free = ~process.refused
        free[[*self._measured, *self._failed, *self._begun]] = False
        return free

    def _most_promising(self, process: ErrorProcess, free: NDArray[np.bool_]) -> int | None:
        """Choose the row of the next point; promising ones are estimated until one that has an estimate is first."""
        while free.any():
            mean, deviation = process.believed(self._times(process), list(self._begun))
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
        self._rest.tell(outcome)
        if self._begun_process is None:
            self._told.append(outcome)
            return
        row = self._rows.get(outcome.point)
        if row is None:
            return
        self._begun.pop(row, None)
        if isfinite(outcome.median) and outcome.median > 0:
            self._measured[row] = log(outcome.median)
        else:
            self._failed[row] = None

    def _times(self, process: ErrorProcess) -> dict[int, float]:
        """Return the logarithms of the times of what was measured, and of what does not run by those of the others."""
        errors = [time - process.prior[row] for row, time in self._measured.items()]
        usual = float(np.mean(errors)) if errors else 0.0
        return self._measured | {row: float(process.prior[row]) + usual + log(FAILED) for row in self._failed}

    def _process(self) -> ErrorProcess:
        """Return what is believed of the candidates, which are chosen when it is asked for first."""
        if self._begun_process is None:
            known = estimated(self._space, self._seed, self._estimates, self._first)
            others = [point for point in self._space.points if point not in known]
            more = Random(self._seed).sample(others, min(len(others), MOST_CANDIDATES - len(known)))
            self._candidates = [*known, *more]
            self._rows = {point: row for row, point in enumerate(self._candidates)}
            self._begun_process = ErrorProcess(self._space, self._candidates, list(known.values()))
            for outcome in self._told:
                self.tell(outcome)
        return self._begun_process


def expected_improvement(best: float, mean: Vector, deviation: Vector) -> Vector:
    """Compute how much less than the best each value is on average, where it is less, by a normal distribution."""
    z = (best - mean) / deviation
    density = np.exp(-z * z / 2) / sqrt(2 * pi)
    return np.asarray(deviation * (z * _cumulative(z) + density))
