"""The instances that overlapped tiles run: in which block of iterations, and by the tile that stores their cell. A
tile's neighbours may compute them, too."""

from __future__ import annotations

from collections.abc import Mapping

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.drawing.instances import points
from polytile.drawing.iterations.view import Shown
from polytile.drawing.model import Instance, Tile
from polytile.drawing.overlapped.model import TileGrid
from polytile.drawing.overlapped.tiles import StreamTiles
from polytile.scheduling.proof.time_tiles.time_loop import TimeLoop, time_loop

KERNEL = -1  # before those of the tree


@dataclass(frozen=True, slots=True)
class StreamInstanceTiles:
    """The tiles over a time loop; the first block of iterations is launch 1."""

    tiles: StreamTiles
    loop: TimeLoop

    @staticmethod
    def of(state: Compilation) -> StreamInstanceTiles | None:
        """Return the tiles of a compilation; None where there is no loop over time around the tiles."""
        plan = state.overlapped
        if plan is None or plan.once:
            return None
        scop = state.run.scop
        return StreamInstanceTiles(StreamTiles.of(scop, plan), time_loop(scop, plan.dims))

    def found(self, shown: Shown, values: Mapping[str, int]) -> dict[Instance, Tile]:
        blocks = self.tiles.blocks(values)
        if not blocks:
            return {}
        first, grid, length = self.tiles.times(values)[0], self.tiles.grid(values), self.tiles.plan.iterations
        tiles: dict[Instance, Tile] = {}
        for name, where in self.loop.at.items():
            own = where.intersect_domain(shown[name]) if name in shown else None
            n = len(self.loop.scop.statement(name).iterators)
            for p in points(own.wrap()) if own else ():
                block, owner = (p[n] - first) // length, _owner(grid, p[n + 1 :])
                if block < blocks and owner is not None:
                    tiles[name, p[:n]] = Tile(block + 1, KERNEL, owner)
        return tiles


def _owner(grid: TileGrid, place: tuple[int, ...]) -> tuple[int, ...] | None:
    found = []
    for x, axis in zip(place, grid.axes, strict=True):
        position = next((k for k, tile in enumerate(axis) if tile.owned[0] <= x <= tile.owned[1]), None)
        if position is None:
            return None
        found.append(position)
    return tuple(found)
