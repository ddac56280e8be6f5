"""A part of a SCoP's instances: those of some statements, at given values of the loops that are not drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.runtime.parameters import point

SET = isl.dim_type.set
Shown = Mapping[str, isl.Set]  # instances of each statement of the source, at given sizes


BOX = 200_000  # points of a box that are counted; boxes around more count as a whole


@dataclass(frozen=True, slots=True)
class View:
    """Statements over the loops of some levels, at `slices`: values of the other levels, by level. `window`: the
    first and the last value of each level that is drawn, where there are others."""

    statements: tuple[str, ...]
    axes: tuple[int, ...]
    slices: tuple[tuple[int, int], ...] = ()
    window: tuple[tuple[int, int, int], ...] = ()

    def shown(self, scop: Scop, values: Mapping[str, int]) -> dict[str, isl.Set]:
        """Return the instances of each statement in the view."""
        found = {}
        for name in self.statements:
            own = scop.statement(name).domain.intersect_params(point(values))
            for level, value in self.slices:
                own = own.fix_val(SET, level, isl.Val(value)) if level < own.dim(SET) else own
            for level, first, last in self.window:
                if level < own.dim(SET):
                    own = own.lower_bound_val(SET, level, first).upper_bound_val(SET, level, last)
            found[name] = own
        return found

    def count(self, scop: Scop, values: Mapping[str, int]) -> int:
        """Count the instances in the view; at least so many where they are more than can be drawn."""
        return sum(at_least(own) for own in self.shown(scop, values).values())

    def extents(self, scop: Scop, values: Mapping[str, int]) -> tuple[tuple[int, int, int], ...]:
        """Return each level that is drawn with the least and the greatest value of its iterators."""
        shown = self.shown(scop, values).values()
        found = []
        for level in self.axes:
            own = [s for s in shown if s.dim(SET) > level and not s.is_empty()]
            if own:
                low = min(s.dim_min_val(level).to_python() for s in own)
                found.append((level, low, max(s.dim_max_val(level).to_python() for s in own)))
        return tuple(found)

    def within(self, scop: Scop, values: Mapping[str, int], side: int) -> View:
        """Restrict the view to so many values along each axis, from the least."""
        extents = self.extents(scop, values)
        return replace(self, window=tuple((k, low, min(high, low + side - 1)) for k, low, high in extents))


def at_least(points: isl.Set) -> int:
    """Count the points, or those of a box around them where there are many."""
    if points.is_empty():
        return 0
    box = 1
    for k in range(points.dim(SET)):
        box *= points.dim_max_val(k).to_python() - points.dim_min_val(k).to_python() + 1
    return count_of(points) if box <= BOX else box


def count_of(points: isl.Set) -> int:
    return int(points.count_val().to_python())
