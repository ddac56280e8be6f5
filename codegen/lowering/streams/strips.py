"""How warps share out the cells: strips of columns that overlap, chunks of rows.

A strip's halo takes whole lanes. The first and the last strip own what is beside them: nothing beyond the cells that
are read is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from polytile.codegen.lowering.streams.cells import Bounds
from polytile.ir.arith import add, binary, div, least, lift, most, sub
from polytile.ir.expr import Expr
from polytile.ir.kernel import ceil_div
from polytile.ir.stream_plan import StreamPlan
from polytile.machine import WARP_SIZE


@dataclass(frozen=True, slots=True)
class Strips:
    """How the cells are cut: strips of `width` columns, with `left` and `right` columns of halo in whole lanes, from
    the column `origin` on; chunks of rows of `rows`."""

    plan: StreamPlan
    columns: Bounds
    rows: Bounds | None

    @property
    def points(self) -> int:
        return self.plan.points[-1]

    def _lanes(self, columns: int) -> int:
        return ceil_div(columns, self.points) * self.points

    @property
    def left(self) -> int:
        return self._lanes(self.plan.lower[-1])

    @property
    def right(self) -> int:
        return self._lanes(self.plan.upper[-1])

    @property
    def width(self) -> int:
        return WARP_SIZE * self.points - self.left - self.right

    def reach(self, k: int) -> tuple[int, int]:
        """How far before and behind a cell a statement reads along a dimension."""
        offsets = [read.offset[k] for read in self.plan.reads]
        return max(0, *(-d for d in offsets)), max(0, *offsets)

    @property
    def origin(self) -> Expr:
        """The first column, where vectors are aligned if rows are."""
        first = sub(self.columns[0], self.reach(-1)[0])
        return binary("&", first, -self.points) if self.points & (self.points - 1) == 0 else first

    @property
    def count(self) -> Expr:
        """How many strips there are: the first and the last own their halos."""
        end = add(self.columns[1], 1 + self.reach(-1)[1])
        covered = sub(sub(end, self.origin), self.left + self.right)
        return most(div(add(covered, self.width - 1), self.width), 1)

    @property
    def chunks(self) -> Expr:
        if self.rows is None:
            return lift(1)
        rows = add(sub(self.rows[1], self.rows[0]), 1)
        return div(add(rows, self.plan.chunk - 1), self.plan.chunk) if self.plan.chunk else least(rows, 1)
