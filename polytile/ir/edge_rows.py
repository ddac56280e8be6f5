"""Rows that warps of a block share: each warp has some rows of a tile, and reads a few above and below its own.

before: 4 rows a warp, of which others read the first and the last:   warp 0: rows 0 .. 3   warp 1: rows 4 .. 7
after:  a plane of them in shared memory, with a row on either side of the tile, in which is nothing that matters:
        -1 0 3 4 7 8; row 4 w of warp w is number 1 + 2 w there, row 4 w - 1 above it number 2 w
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from polytile.dataclass import dataclass
from polytile.machine import REGISTER_BYTES, VECTOR_BYTES


@dataclass(frozen=True)
class EdgeRows:
    """Of `warps` that have `rows` each, one below another; readers reach so many rows `above` and `below` their own."""

    warps: int
    rows: int
    above: int
    below: int

    @staticmethod
    def of(warps: int, rows: int, offsets: Iterable[int]) -> EdgeRows:
        """Build the edge rows for reads at these row offsets from the cells that are made."""
        found = [0, *offsets]
        return EdgeRows(warps, rows, -min(found), max(found))

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """Return the rows of each warp that others read."""
        return tuple(r for r in range(self.rows) if r < self.below or r >= self.rows - self.above)

    @property
    def fetched(self) -> tuple[int, ...]:
        """Return the rows of others that a warp reads, counted from its first."""
        return (*range(-self.above, 0), *range(self.rows, self.rows + self.below))

    def number(self, row: int) -> int:
        """Return the number of a row in a plane, from the warp's first row: `len(shown)` more for each warp below."""
        return self._place(row) - self._place(-self.above)

    @property
    def height(self) -> int:
        """Return the number of rows of a plane."""
        last = max(self.number(row) for row in (*self.shown, self.rows - 1 + self.below))
        return (self.warps - 1) * len(self.shown) + last + 1

    def _place(self, row: int) -> int:
        warp, own = divmod(row, self.rows)
        return warp * len(self.shown) + (self.shown.index(own) if own in self.shown else 0)


def columns_at_once(columns: int, size: int) -> int:
    """Return how many neighbouring columns of a lane, `size` bytes each, one access reads or writes."""
    vectors = (n for n in (4, 2) if columns % n == 0 and n * size in VECTOR_BYTES and size >= REGISTER_BYTES)
    return next(vectors, 1)
