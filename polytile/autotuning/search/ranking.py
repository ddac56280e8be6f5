"""Points in the order of the cost model's estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point, Space

MOST_ESTIMATED = 512  # points, since an estimate takes a compilation: a random sample of larger spaces


def estimated(
    space: Space, seed: int, estimates: Estimates, most: int = MOST_ESTIMATED
) -> Mapping[Point, float | None]:
    """The estimates of all points, or of a sample, in milliseconds, in random order; None where one is refused."""
    points = Random(seed).sample(space.points, min(len(space.points), most))
    return dict(zip(points, estimates(points), strict=True))


def ranked(known: Mapping[Point, float | None]) -> Sequence[Point]:
    """The points that have estimates, fastest first; equal ones in their order."""
    fine = [(estimate, place, point) for place, (point, estimate) in enumerate(known.items()) if estimate is not None]
    return [point for *_, point in sorted(fine)]
