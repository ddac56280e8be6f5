"""Points of several strategies as points of one space: what Kernel Tuner and the T4 format know.

    tiled: rows, columns    classic: warps    ->    schedule, tiled_rows, tiled_columns, classic_warps

A parameter of another strategy than the point's has the first of its values. Where there is one strategy, names stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from polytile.autotuning.space import SCHEDULE, Parameter, Point, Space, Value


class FlatNames:
    """The names of all parameters of a space, and what they are at a point."""

    def __init__(self, space: Space) -> None:
        """Find the names; `parameters` are those with their values."""
        self._several = len(space.parts) > 1
        words = [Parameter(SCHEDULE, tuple(part.schedule for part in space.parts))] if self._several else []
        named = [(part.schedule, p) for part in space.parts for p in part.parameters]
        self.parameters: Sequence[Parameter] = (*words, *(Parameter(self._name(s, p.name), p.values) for s, p in named))

    def flat(self, point: Point) -> dict[str, Value]:
        """Return all parameters at a point, in the order of `parameters`."""
        at = dict(point)
        schedule = str(at.pop(SCHEDULE))
        own = {self._name(schedule, name): value for name, value in at.items()} | {SCHEDULE: schedule}
        return {p.name: own.get(p.name, p.values[0]) for p in self.parameters}

    def _name(self, schedule: str, name: str) -> str:
        return f"{schedule}_{name}" if self._several else name
