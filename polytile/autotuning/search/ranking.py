"""The cost model's estimates of the points of a space."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point, Space

MOST_ESTIMATED = 512  # points, since an estimate takes a compilation: a random sample of larger spaces


def estimated(
    space: Space, seed: int, estimates: Estimates, most: int = MOST_ESTIMATED
) -> Mapping[Point, float | None]:
    """Estimate the times of all points, or of a sample, in milliseconds, in random order; None where one is refused."""
    points = Random(seed).sample(space.points, min(len(space.points), most))
    return dict(zip(points, estimates(points), strict=True))
