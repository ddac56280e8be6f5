"""A Gaussian process over the errors of the cost model: what is known of points that were not measured.

log(time / estimate) is a constant of the cost model, one of each strategy, and a function of the point in which
neighbours are alike: their covariance falls by exp(-FALLS) with each step of a parameter (`nearest.py` counts steps).
Estimates that are not known follow from those of other points in the same way. Rasmussen, Williams: Gaussian processes
for machine learning (2006), sections 2.2 and 2.7; nothing is fitted, since there are as few points as parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from polytile.autotuning.space import Point, Space

FALLS = 0.5
OF_MODEL, OF_STRATEGY, OF_POINT = 0.3, 0.3, 0.3  # standard deviations of the parts of an error
OF_RUNS = 0.03  # and of what runs of the same kernels differ by
OF_ESTIMATES = 1.0  # and of estimates of points far apart

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

    def alike(self, row: int) -> tuple[Vector, NDArray[np.bool_]]:
        """How alike candidates are to one, between 0 and 1, and which are of its strategy."""
        steps = np.abs(self.places - self.places[row]).sum(axis=1)
        same = self.parts == self.parts[row]
        return np.where(same, np.exp(-FALLS * steps), 0.0), same


class ErrorProcess:
    """What is believed of the time of each candidate: a mean and a standard deviation of its logarithm."""

    def __init__(self, space: Space, candidates: Sequence[Point], estimates: Sequence[float | None]) -> None:
        """Begin with estimates of the first candidates, in milliseconds; where there is none at all, none is wanted."""
        self._near = Neighbourhood(space, candidates)
        self._columns: dict[int, Vector] = {}  # covariances with a candidate that was asked for
        self.known = np.zeros(len(candidates), dtype=bool)  # what has an estimate, or was refused
        self.refused = np.zeros(len(candidates), dtype=bool)
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
            self.refused[row] = estimate is None
            if estimate is not None:
                self.prior[row] = log(max(estimate, LEAST))

    def _fill(self) -> None:
        """Find estimates that are not known from those that are."""
        rows = np.flatnonzero(self.known & ~self.refused)
        left = np.flatnonzero(~self.known)
        values = self.prior[rows]
        across = OF_ESTIMATES**2 * np.array([self._near.alike(int(row))[0] for row in rows])
        inner = across[:, rows] + OF_RUNS**2 * np.eye(len(rows))
        self.prior[left] = values.mean() + across[:, left].T @ np.linalg.solve(inner, values - values.mean())

    def believed(self, measured: Mapping[int, float], begun: Sequence[int]) -> tuple[Vector, Vector]:
        """Means and standard deviations of all candidates, given the logarithms of times of some. Those of points that
        were begun are as uncertain as if they had been measured, and found to be as expected."""
        rows = [*measured, *begun]
        own = OF_MODEL**2 + OF_STRATEGY**2 + OF_POINT**2
        if not rows:
            return self.prior, np.full(len(self.prior), np.sqrt(own))
        across = np.array([self._column(row) for row in rows])
        inner = across[:, rows] + OF_RUNS**2 * np.eye(len(rows))
        count = len(measured)
        errors = np.array(list(measured.values())) - self.prior[list(measured)]
        mean = self.prior + across[:count].T @ np.linalg.solve(inner[:count, :count], errors) if count else self.prior
        explained = np.einsum("ij,ij->j", across, np.linalg.solve(inner, across))
        return mean, np.sqrt(np.maximum(own - explained, 0.0) + OF_RUNS**2)

    def _column(self, row: int) -> Vector:
        if row not in self._columns:
            alike, same = self._near.alike(row)
            self._columns[row] = OF_MODEL**2 + OF_STRATEGY**2 * same + OF_POINT**2 * alike
        return self._columns[row]
