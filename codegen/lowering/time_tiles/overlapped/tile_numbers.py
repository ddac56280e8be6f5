"""Which tile a block or a warp has, and the first plane of the stream that the tile owns: from one number.

before: number
after:  strip = number % strips;  tile_row = number / strips % tile_rows;
        first = 1 + number / strips / tile_rows * chunk
"""

from __future__ import annotations

from collections.abc import Iterator

from polytile.codegen.lowering.time_tiles.overlapped.cell_masks import ThreadCells
from polytile.ir.arith import add, div, lift, mod, mul, sub
from polytile.ir.expr import Declare, Expr, Name, Stmt
from polytile.ir.ranges import Range


class TileNumbers(ThreadCells):
    """A thread's tile."""

    counts: tuple[Name, ...]  # of tiles, along each dimension that does not stream
    index: tuple[Name, ...]  # the tile's, in its row

    def tile_names(self) -> tuple[Name, ...]:
        return tuple(self.name(n) for n in ("strip", "tile_row")[: len(self.axes)][::-1])

    def tile(self, number: Expr) -> Iterator[Stmt]:
        """Declare which tile this is, and the first plane that it owns."""
        for k in reversed(range(len(self.axes))):
            outermost = k == 0 and self.stream.chunk is None
            yield Declare(self.index[k].name, self.integer, number if outermost else mod(number, self.counts[k]))
            number = div(number, self.counts[k])
        if self.plan.streamed:
            yield self.first_plane(number)

    def first_plane(self, part: Expr) -> Stmt:
        """Declare the first plane that the tile owns, in this part of the stream."""
        first, chunk = self.stream.cells.range[0][0], self.stream.chunk
        return Declare(self.own_first.name, self.integer, first if chunk is None else add(first, mul(part, chunk)))

    def bounds(self) -> tuple[Range, ...]:
        """Return the ranges of the tile's coordinates, which come from divisions by sizes.

        A warp without a tile is after all others.
        """
        (first, last), chunk = self.stream.cells.range[0], self.stream.chunk
        planes = Range(self.own_first.name, first, last if chunk is None else add(last, chunk))
        return (*(Range(n.name, lift(0), sub(c, 1)) for n, c in zip(self.index, self.counts, strict=True)), planes)
