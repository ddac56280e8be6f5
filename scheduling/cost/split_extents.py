"""How long loops around statements of split tiles are, for sizes that are known or assumed: the same for all tiles."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop, Statement
from polytile.ir.split_tiles import SplitTiles
from polytile.machine import Machine
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.point_count import fix_parameters


@dataclass(frozen=True, slots=True)
class SplitExtents:
    """Parameters that are known or assumed, the steps of the time loop, and for each statement the places along each
    dimension that it writes."""

    values: Mapping[str, int]
    steps: int
    written: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, plan: SplitTiles, scop: Scop, machine: Machine, parameters: Mapping[str, int]) -> SplitExtents:
        assumed = assumed_sizes(scop, machine.tuning.tiles.assumed_elements)
        values = fix_parameters(scop.context, {**assumed, **parameters})
        known = " and ".join(f"{name} = {value}" for name, value in values.items())
        here = isl.Set(f"[{', '.join(values)}] -> {{ : {known} }}") if values else scop.context
        statements = [scop.statement(w.statement) for w in plan.writes]
        steps = max((_extent(s.domain.intersect_params(here), 0) for s in statements), default=1)
        return cls(values, steps, tuple(_written(s, here, plan.dims) for s in statements))


def _written(statement: Statement, here: isl.Set, dims: int) -> tuple[int, ...]:
    (write,) = (a.relation for a in statement.accesses if a.writes)
    places = write.intersect_domain(statement.domain).intersect_params(here).range()
    rank = places.dim(isl.dim_type.set)
    return tuple(_extent(places, k) for k in range(rank - dims, rank))


def _extent(points: isl.Set, k: int) -> int:
    """Return how many values a dimension has, if that is bounded; at least one."""
    ends = [points.dim_max_val(k), points.dim_min_val(k)]
    if not all(end.is_int() for end in ends):
        return 1
    return max(1, int(ends[0].to_python()) - int(ends[1].to_python()) + 1)
