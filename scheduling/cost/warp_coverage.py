"""How the warps of a thread block cover the iterations of a statement: which lanes take part."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from polytile.dataclass import dataclass
from polytile.machine import WARP_SIZE
from polytile.scheduling.cost.addresses import Along
from polytile.scheduling.cost.coalescing import Request
from polytile.scheduling.cost.mapped_loops import Vector

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the thread block: its threads, the step from one to the next, and over how many iterations of the
    launch its warps stand next to each other (`points`), of which a block has `lanes` at a time, on average."""

    step: Vector
    extent: int
    points: float
    lanes: float

    def shapes(self, along_x: bool) -> list[tuple[float, int]]:
        """Return the numbers of active threads, each with how many warps have that number.

        Along x all take part, except in the last warp of a row.
        """
        if not along_x or self.extent < WARP_SIZE:
            return [(1.0, min(self.extent, max(1, ceil(self.lanes - _ROUNDING))))]
        full = floor(self.points / WARP_SIZE + _ROUNDING)
        rest = round(self.points - full * WARP_SIZE)
        found = [(float(full), WARP_SIZE), (1.0, rest)]
        return [(weight, active) for weight, active in found if weight and active] or [(1.0, 1)]


def warp_shapes(dimensions: Sequence[Dimension]) -> list[tuple[float, tuple[Along, ...]]]:
    """Return the warps that differ in their active threads, with the share of each. `dimensions` from x on."""
    shapes: list[tuple[float, tuple[Along, ...]]] = [(1.0, ())]
    for number, dimension in enumerate(dimensions):
        shapes = [
            (weight * times, (*along, Along(dimension.step, dimension.extent, active)))
            for weight, along in shapes
            for times, active in dimension.shapes(along_x=number == 0)
        ]
    total = sum(weight for weight, _ in shapes)
    return [(weight / total, along) for weight, along in shapes]


def mean_lanes(dimensions: Sequence[Dimension]) -> float:
    """Return the number of active threads of a warp, on average."""
    lanes, room = 1.0, WARP_SIZE
    for number, dimension in enumerate(dimensions):
        if room == 1:
            break
        if number == 0 and dimension.extent >= WARP_SIZE:
            shapes = dimension.shapes(along_x=True)
            mean = sum(w * active for w, active in shapes) / sum(w for w, _ in shapes) / WARP_SIZE
        else:
            mean = dimension.lanes / dimension.extent
        lanes *= min(dimension.extent, room) * mean
        room //= min(dimension.extent, room)
    return min(float(WARP_SIZE), max(1.0, lanes))


def mean_request(requests: Sequence[tuple[float, Request]]) -> Request:
    """Average the requests over warps that differ; what is ideal is decided by the most frequent."""
    main = max(requests, key=lambda pair: pair[0])[1]
    sectors = sum(weight * request.sectors for weight, request in requests)
    lines = sum(weight * request.lines for weight, request in requests)
    return Request(main.access, sectors, lines, main.least, main.exact)
