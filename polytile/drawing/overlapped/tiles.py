"""The tiles of a plan of overlapped tiles at given sizes, as its kernels have them.

Where tiles begin and how many there are is computed by the host and the kernels, as expressions over parameters
(`codegen/lowering/time_tiles/overlapped/tile_grid.py`): these are evaluated here.
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.codegen.lowering.lower import index_type
from polytile.codegen.lowering.time_tiles.overlapped.stream_program import cells_of_plan
from polytile.codegen.lowering.time_tiles.overlapped.tile_grid import Axis, axes, chunks, owned_planes
from polytile.codegen.lowering.time_tiles.written_cells import Bounds, Cells, extents_of
from polytile.dataclass import dataclass
from polytile.drawing.overlapped.model import Box, Span, TileGrid, TileSpan
from polytile.drawing.sizes import Extents, Values
from polytile.ir.arith import lift
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Expr
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep
from polytile.ir.scop import Scop

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StreamTiles:
    """A plan with what lowering knows of its cells."""

    scop: Scop
    plan: OverlappedTiles
    cells: Cells
    across: tuple[Axis, ...]  # the dimensions that do not stream

    @staticmethod
    def of(scop: Scop, plan: OverlappedTiles) -> StreamTiles:
        cells = cells_of_plan(scop, plan, index_type(scop))
        return StreamTiles(scop, plan, cells, axes(plan, cells))

    def times(self, sizes: Sizes) -> Span:
        """Return the first and the last iteration of the time loop."""
        return _span(self.cells.times, sizes)

    def blocks(self, sizes: Sizes) -> int:
        """Count the blocks of iterations: they come in pairs."""
        first, last = self.times(sizes)
        exist = self.cells.some is None or evaluate(self.cells.some, sizes)
        return 2 * (max(0, last - first + 1) // (2 * self.plan.iterations)) if exist else 0

    def extents(self, sizes: Values, blocks: bool) -> Extents:
        """Count the tiles along each dimension, or the pairs of blocks, begun ones included."""
        if not blocks:
            first, last = self.times(sizes)
            return [-(-max(0, last - first + 1) // (2 * self.plan.iterations))]
        across = [evaluate(axis.count, sizes) for axis in self.across]
        if not self.plan.streamed:
            return across
        return [max(0, evaluate(chunks(self.plan, self.cells, self._owned_planes()), sizes)), *across]

    def _owned_planes(self) -> Expr | None:
        """Return how many planes of the stream a tile owns; None: all."""
        if self.plan.tiles_at_once:
            return owned_planes(self.plan, self.cells, [axis.count for axis in self.across])
        return lift(self.plan.chunk) if self.plan.chunk else None

    def grid(self, sizes: Sizes) -> TileGrid:
        across = tuple(tuple(self._across(axis, sizes)) for axis in self.across)
        return TileGrid((tuple(self._planes(sizes)), *across) if self.plan.streamed else across)

    def _across(self, axis: Axis, sizes: Sizes) -> list[TileSpan]:
        """List the tiles along an axis; the first and the last one own what is beside them."""
        count, found = evaluate(axis.count, sizes), []
        for k in range(count):
            edge = evaluate(axis.origin, sizes) + k * axis.width
            own = edge + (axis.lower if k else 0), edge + axis.size - 1 - (axis.upper if k < count - 1 else 0)
            found.append(TileSpan(own, (edge, edge + axis.size - 1)))
        return found

    def _planes(self, sizes: Sizes) -> list[TileSpan]:
        first, last = _span(self.cells.range[0], sizes)
        length = self._owned_planes()
        size = max(1, last - first + 1) if length is None else evaluate(length, sizes)
        before, behind = self.plan.lower[0], self.plan.upper[0]
        owned = ((at, min(at + size - 1, last)) for at in range(first, last + 1, size))
        return [TileSpan(own, (own[0] - before, own[1] + behind)) for own in owned]

    def memory(self, step: StreamStep, sizes: Sizes) -> Box:
        """Return the box of the cells of an input whose elements are in memory."""
        bounds = extents_of(self.scop, self.scop.array(step.array), self.cells.integer)[-self.plan.dims :]
        return tuple(_span(bound, sizes) for bound in bounds)


def _span(bounds: Bounds, sizes: Sizes) -> Span:
    return evaluate(bounds[0], sizes), evaluate(bounds[1], sizes)
