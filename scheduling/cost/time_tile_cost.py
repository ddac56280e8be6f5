"""The time of a time tile's kernels, by the cost model of the tile's shape."""

from __future__ import annotations

from collections.abc import Mapping

from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.machine import Machine
from polytile.scheduling.cost.estimate import Estimate
from polytile.scheduling.cost.split_time import split_estimate
from polytile.scheduling.cost.stream_time import has_few_cells, stream_estimate


def time_tile_estimate(
    tile: OverlappedTiles | SplitTiles, scop: Scop, machine: Machine, parameters: Mapping[str, int]
) -> Estimate:
    """Return the time of the kernels of a tile, and of what is left to the schedule."""
    if isinstance(tile, SplitTiles):
        return split_estimate(tile, scop, machine, parameters)
    return stream_estimate(tile, scop, machine, parameters)


def runs_none(tile: OverlappedTiles | SplitTiles, scop: Scop, parameters: Mapping[str, int]) -> bool:
    """Return whether the schedule runs all iterations, as there are too few cells for the tiles."""
    return isinstance(tile, OverlappedTiles) and has_few_cells(tile, scop, parameters)
