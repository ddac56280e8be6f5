"""The point of a space that is nearest to a proposal: samplers know no constraints, and propose points twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polytile.autotuning.space import Point, Space, Subspace, Value


class Unasked:
    """The points of a space that were not asked for, as places of their values among those of each parameter."""

    def __init__(self, space: Space) -> None:
        self._parts = {part.schedule: _Places(part) for part in space.parts}
        self._part_of = {point: part for part in self._parts.values() for point in part.points}

    def __contains__(self, point: Point) -> bool:
        part = self._part_of.get(point)
        return part is not None and bool(part.free[part.row[point]])

    def take(self, point: Point) -> bool:
        """Leave out a point from now on; false where it is not in the space."""
        part = self._part_of.get(point)
        if part is not None:
            part.free[part.row[point]] = False
        return part is not None

    def schedules(self) -> Sequence[str]:
        """List the parts that have points left."""
        return [schedule for schedule, part in self._parts.items() if part.free.any()]

    def nearest(self, schedule: str, values: Mapping[str, Value]) -> Point | None:
        """Return the point of a part that is the fewest steps away, the first of equal ones; None where none is left.

        A step is one value further among those of a parameter: of 4, 8, 16 and 32, 4 and 16 are two steps apart.
        """
        part = self._parts[schedule]
        if not part.free.any():
            return None
        wanted = np.array([p.values.index(values[p.name]) for p in part.parameters], dtype=np.int32)
        steps = np.abs(part.places - wanted).sum(axis=1)
        steps[~part.free] = np.iinfo(np.int64).max
        return part.points[int(steps.argmin())]


class _Places:
    """The points of a part, a row of places for each; `free` are those that were not asked for."""

    def __init__(self, part: Subspace) -> None:
        self.parameters = part.parameters
        self.points: Sequence[Point] = tuple(part.points())
        self.row = {point: row for row, point in enumerate(self.points)}
        places = [
            [p.values.index(value) for p, (_, value) in zip(part.parameters, point[1:], strict=True)]
            for point in self.points
        ]
        self.places = np.array(places, dtype=np.int32).reshape(len(self.points), len(part.parameters))
        self.free = np.ones(len(self.points), dtype=bool)
