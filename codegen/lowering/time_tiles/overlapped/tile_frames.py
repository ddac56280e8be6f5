"""The cells around a tile that the threads of a block load together, one after another: all with the halo, or the halo.

before: a tile of 4 x 8 cells, halo of 1 to all sides; the threads 0, 1, .. load cells 0, 1, .., 31, 32, ..
after:  all:      cell number n is (n / 10 - 1, n % 10 - 1) of the tile, of 6 x 10
        the halo: n < 16: (-1 or 4, n % 8) of the rows above and below; else ((n - 16) / 2, -1 or 8) of the columns
"""

from __future__ import annotations

from math import prod

from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, div, mod, select, sub
from polytile.ir.expr import Expr

Place = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TileFrame:
    """A tile's `cells`, and the halo before and behind them, along each dimension that does not stream. `whole`: the
    tile's own cells are among those that are loaded; else with `corners` those of the halo are."""

    cells: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    whole: bool
    corners: bool = False

    @property
    def extents(self) -> tuple[int, ...]:
        """Return the extents of the plane with its halo."""
        return tuple(a + n + b for a, n, b in zip(self.lower, self.cells, self.upper, strict=True))

    @property
    def count(self) -> int:
        """Return the number of cells that are loaded."""
        if self.whole:
            return prod(self.extents)
        rows, width, columns = self._sides
        return rows * width + columns * prod(self.cells[:-1])

    @property
    def _sides(self) -> tuple[int, int, int]:
        """Return the rows of the halo above and below, their width, and the columns of the halo beside the tile."""
        rows = self.lower[0] + self.upper[0] if len(self.cells) > 1 else 0
        return rows, self.extents[-1] if self.corners else self.cells[-1], self.lower[-1] + self.upper[-1]

    def place(self, number: Expr) -> Place:
        """Return the cell of a number, relative to the tile's first one."""
        if self.whole:
            width = self.extents[-1]
            if len(self.cells) == 1:
                return (sub(number, self.lower[0]),)
            return sub(div(number, width), self.lower[0]), sub(mod(number, width), self.lower[1])
        rows, width, columns = self._sides
        if not columns:
            return self._above_or_below(number, width)
        beside = sub(number, rows * width)
        column = self._outside(mod(beside, columns), -1)
        if not rows:
            return (column,) if len(self.cells) == 1 else (div(beside, columns), column)
        first, then = self._above_or_below(number, width), (div(beside, columns), column)
        is_row = compare("<", number, rows * width)
        return tuple(select(is_row, a, b) for a, b in zip(first, then, strict=True))

    def _above_or_below(self, number: Expr, width: int) -> Place:
        row = self._outside(div(number, width), 0)
        return row, sub(mod(number, width), self.lower[1] if self.corners else 0)

    def _outside(self, number: Expr, k: int) -> Expr:
        """Return the place before or after the tile along a dimension, of its halo's."""
        before = sub(number, self.lower[k])
        if not self.lower[k]:
            return add(number, self.cells[k])
        if not self.upper[k]:
            return before
        return select(compare("<", number, self.lower[k]), before, add(before, self.cells[k]))
