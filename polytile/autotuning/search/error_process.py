"""A Gaussian process over the errors of the cost model: what is known of points that were not measured.

log(time / estimate) is a sum of five parts: a constant of the cost model, one of each strategy, a function of each
parameter alone, one of the whole point, and what runs differ by. Functions are alike at neighbours: the covariance of
that of a parameter falls by exp(-FALLS_ALONG) with each step of it, that of the point by exp(-FALLS) with a step of any
(`nearest.py` counts steps). Cost models are off by different amounts: how large both functions are, at one scale, is
the most likely by what was measured. Estimates that are not known follow from those of other points.

Rasmussen, Williams: Gaussian processes for machine learning (2006), sections 2.2, 2.7 and 5.4.1 (equation 5.8); sums of
functions of single parameters: Duvenaud, Nickisch, Rasmussen: Additive Gaussian processes (NIPS 2011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from polytile.autotuning.space import Point, Space

FALLS_ALONG, FALLS = 0.2, 0.3
OF_MODEL, OF_STRATEGY = 0.3, 0.3  # standard deviations of the parts of an error
OF_PARAMETERS, OF_POINT = 0.24, 0.18  # of all parameters together, and of the point: at scale 1
OF_RUNS = 0.03  # and of what runs of the same kernels differ by
SCALES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
OF_SCALES = 0.5  # the standard deviation of their logarithms, before anything was measured
OF_ESTIMATES, FALL_OF_ESTIMATES = 1.0, 0.5  # of points far apart, and with each step

LEAST = 1e-9  # milliseconds, of an estimate

Vector = NDArray[np.float64]


class Neighbourhood:
    """Candidates as rows of places: how far they are from each other."""

    def __init__(self, space: Space, candidates: Sequence[Point]) -> None:
        parts = {part.schedule: (number, part) for number, part in enumerate(space.parts)}
        width = max((len(part.parameters) for part in space.parts), default=0)
        self.places = np.zeros((len(candidates), width), dtype=np.int32)
        self.parts = np.zeros(len(candidates), dtype=np.int32)
        for row, point in enumerate(candidates):
            self.parts[row], part = parts[str(point[0][1])]
            for column, (parameter, (_, value)) in enumerate(zip(part.parameters, point[1:], strict=True)):
                self.places[row, column] = parameter.values.index(value)

    def steps(self, row: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Count the steps along each parameter from one candidate to all, and return which are of its strategy."""
        return np.abs(self.places - self.places[row]), self.parts == self.parts[row]

    def alike(self, row: int, fall: float) -> Vector:
        """Return how alike candidates are to one, between 0 and 1."""
        steps, same = self.steps(row)
        return np.where(same, np.exp(-fall * steps.sum(axis=1)), 0.0)


class ErrorProcess:
    """What is believed of the time of each candidate: a mean and a standard deviation of its logarithm."""

    def __init__(self, space: Space, candidates: Sequence[Point], estimates: Sequence[float | None]) -> None:
        """Begin with estimates of the first candidates, in milliseconds; where there is none at all, none is wanted."""
        self._near = Neighbourhood(space, candidates)
        self._columns: dict[int, tuple[Vector, Vector]] = {}  # covariances with a candidate that was asked for
        self.known = np.zeros(len(candidates), dtype=bool)  # what has an estimate, or was refused
        self.refused = np.zeros(len(candidates), dtype=bool)
        self.estimated = np.zeros(len(candidates), dtype=bool)
        self.prior = np.zeros(len(candidates))  # logarithms of estimates
        if all(estimate is None for estimate in estimates):
            self.known[:] = True
            return
        self.learn(range(len(estimates)), estimates)
        self._fill()

    def learn(self, rows: Sequence[int], estimates: Sequence[float | None]) -> None:
        """Take estimates of candidates, in place of what followed from those of others."""
        for row, estimate in zip(rows, estimates, strict=True):
            self.known[row] = True
            self.refused[row], self.estimated[row] = estimate is None, estimate is not None
            if estimate is not None:
                self.prior[row] = log(max(estimate, LEAST))

    def _fill(self) -> None:
        """Find estimates that are not known from those that are."""
        rows = np.flatnonzero(self.known & ~self.refused)
        left = np.flatnonzero(~self.known)
        values = self.prior[rows]
        across = OF_ESTIMATES**2 * np.array([self._near.alike(int(row), FALL_OF_ESTIMATES) for row in rows])
        inner = across[:, rows] + OF_RUNS**2 * np.eye(len(rows))
        self.prior[left] = values.mean() + across[:, left].T @ np.linalg.solve(inner, values - values.mean())

    def believed(self, measured: Mapping[int, float], begun: Sequence[int]) -> tuple[Vector, Vector]:
        """Return the means and standard deviations of all candidates, given the logarithms of times of some. Those of
        points that were begun are as uncertain as if they had been measured, and found to be as expected."""
        rows = [*measured, *begun]
        if not rows:
            return self.prior, np.full(len(self.prior), np.sqrt(_variance(1.0)))
        columns = [self._column(row) for row in rows]
        constant, varying = (np.array([column[part] for column in columns]) for part in (0, 1))
        count = len(measured)
        errors = np.array(list(measured.values())) - self.prior[list(measured)]
        scale = _most_likely(constant[:count][:, rows[:count]], varying[:count][:, rows[:count]], errors)
        across = constant + scale**2 * varying
        inner = across[:, rows] + OF_RUNS**2 * np.eye(len(rows))
        mean = self.prior + across[:count].T @ np.linalg.solve(inner[:count, :count], errors) if count else self.prior
        explained = np.einsum("ij,ij->j", across, np.linalg.solve(inner, across))
        return mean, np.sqrt(np.maximum(_variance(scale) - explained, 0.0) + OF_RUNS**2)

    def _column(self, row: int) -> tuple[Vector, Vector]:
        """Return the covariances of all candidates' errors with that of one: of constants, and of functions at scale
        1."""
        if row not in self._columns:
            steps, same = self._near.steps(row)
            varied = steps[:, np.ptp(self._near.places[same], axis=0) > 0]
            along = np.exp(-FALLS_ALONG * varied).mean(axis=1) if varied.shape[1] else 1.0
            functions = OF_PARAMETERS**2 * along + OF_POINT**2 * np.exp(-FALLS * steps.sum(axis=1))
            constant = np.where(same, OF_MODEL**2 + OF_STRATEGY**2, OF_MODEL**2)
            self._columns[row] = constant, np.where(same, functions, 0.0)
        return self._columns[row]


def _variance(scale: float) -> float:
    """Return the variance of the error of a point of which nothing is known."""
    return OF_MODEL**2 + OF_STRATEGY**2 + scale**2 * (OF_PARAMETERS**2 + OF_POINT**2)


def _most_likely(constant: Vector, varying: Vector, errors: Vector) -> float:
    """Find the scale at which functions have these errors with the greatest probability; 1 where there is one error."""
    if len(errors) < 2:
        return 1.0

    def likelihood(scale: float) -> float:
        lower = np.linalg.cholesky(constant + scale**2 * varying + OF_RUNS**2 * np.eye(len(errors)))
        whitened = np.linalg.solve(lower, errors)
        fits = -0.5 * whitened @ whitened - np.log(np.diag(lower)).sum()
        return float(fits - 0.5 * (log(scale) / OF_SCALES) ** 2)

    return max(SCALES, key=likelihood)
