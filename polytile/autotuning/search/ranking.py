"""Points in the order of the cost model's estimates."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point, Space

MOST_ESTIMATED = 512  # points, since an estimate takes a compilation: a random sample of larger spaces


def ranked(space: Space, seed: int, estimates: Estimates) -> Sequence[Point]:
    """The points that the cost model has estimates for, fastest first; equal ones in a random order."""
    points = Random(seed).sample(space.points, min(len(space.points), MOST_ESTIMATED))
    estimated = zip(points, estimates(points), strict=True)
    known = [(estimate, place) for place, (_, estimate) in enumerate(estimated) if estimate is not None]
    return [points[place] for _, place in sorted(known)]
