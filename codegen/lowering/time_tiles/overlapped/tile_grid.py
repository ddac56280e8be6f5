"""How warps or blocks share out the cells: tiles that overlap along the dimensions that do not stream; chunks.

The first and the last tile along a dimension own what is beside them: nothing beyond the cells that are read is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polytile.codegen.lowering.time_tiles.written_cells import Bounds, Cells
from polytile.dataclass import dataclass
from polytile.ir.arith import add, binary, count_between, div, least, lift, most, mul, shifted, sub
from polytile.ir.chunk_length import FUNCTION
from polytile.ir.expr import LLONG, Call, Expr
from polytile.ir.kernel import ceil_div
from polytile.ir.overlapped_tiles import OverlappedTiles


@dataclass(frozen=True, slots=True)
class Axis:
    """Tiles of `size` cells along dimension k of space, whose halos are multiples of `unit`; threads have `points`
    neighbours each."""

    plan: OverlappedTiles
    k: int
    cells: Bounds
    size: int
    unit: int
    points: int

    @property
    def lower(self) -> int:
        """Return the width of the halo before the cells that a tile owns."""
        if self.plan.exchange.is_one_step:
            return 0
        return ceil_div(self.plan.lower[self.k], self.unit) * self.unit

    @property
    def upper(self) -> int:
        if self.plan.exchange.is_one_step:
            return 0
        return ceil_div(self.plan.upper[self.k], self.unit) * self.unit

    @property
    def width(self) -> int:
        """Return the distance of one tile from the next."""
        return self.size - self.lower - self.upper

    @property
    def aligned(self) -> bool:
        """Return whether the first tile begins at a multiple of the points."""
        return self.points & (self.points - 1) == 0

    @property
    def origin(self) -> Expr:
        """Return the first cell of the first tile, where vectors are aligned if rows are.

        Of one step, it is the first that is made.
        """
        if self.plan.exchange.is_one_step:
            return self.cells[0]
        first = sub(self.cells[0], self.plan.reach(self.k)[0])
        return binary("&", first, -self.points) if self.aligned and self.points > 1 else first

    @property
    def count(self) -> Expr:
        """Return the number of tiles: none without cells, as arrays that nothing touches may have no buffers."""
        read = 0 if self.plan.exchange.is_one_step else self.plan.reach(self.k)[1]
        end = add(self.cells[1], 1 + read)
        covered = sub(sub(end, self.origin), self.lower + self.upper)
        tiles = most(div(shifted(covered, self.width - 1), self.width), 1)
        return most(least(tiles, count_between(*self.cells)), 0)

    def start(self, index: Expr, memory_end: Expr, vector: int) -> Expr:
        """Return the first cell of a tile.

        The last one ends where the cells that are read end, or at the next vector, and overlaps the one before it more:
        no tile goes beyond memory, unless space is narrower than a tile.
        """
        if not self.plan.streamed:
            return add(self.origin, mul(index, self.width))
        last = sub(add(self.cells[1], 1 + self.plan.reach(self.k)[1]), self.size)
        if vector > 1:
            last = least(binary("&", add(last, vector - 1), -vector), sub(memory_end, self.size))
        return least(add(self.origin, mul(index, self.width)), most(last, self.origin))


def axes(plan: OverlappedTiles, cells: Cells) -> tuple[Axis, ...]:
    """Return the tiles along each dimension that does not stream; halos across the lanes are of whole lanes."""
    along = enumerate(zip(plan.tile, plan.points, plan.units, strict=True), start=plan.streamed)
    return tuple(Axis(plan, k, cells.range[k], size, unit, points) for k, (size, points, unit) in along)


def planes(cells: Cells) -> Expr:
    """Return the number of planes in the stream."""
    return count_between(*cells.range[0])


def owned_planes(plan: OverlappedTiles, cells: Cells, counts: Sequence[Expr]) -> Expr:
    """Return how many planes a tile owns, with so many tiles along each axis, where the host finds that.

    The host calls `chunk_length`.
    """
    arguments = (planes(cells), reduce(mul, counts), *map(lift, (plan.tiles_at_once, plan.latest, plan.chunk)))
    return Call(FUNCTION, arguments, LLONG)


def chunks(plan: OverlappedTiles, cells: Cells, length: Expr | None) -> Expr:
    """Return the number of parts that the stream is split into, each of so many planes (None: all planes)."""
    if not plan.streamed:
        return lift(1)
    if length is None:
        return least(planes(cells), 1)
    return div(sub(add(planes(cells), length), 1), length)
