"""Where the cells of a placement lie in memory: padding, swizzling, and fragments of matrices over the lanes of a warp.

before: cell[r][c] at r * columns + c                      rows of 16 doubles: all lanes of a column share a bank
after:  cell[r][c] at r * (columns + 4) + c                pad 4
        cell[r][c] at r * columns + (c ^ 2 * (r % 4))      swizzle (4, 2)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.gpu_ops import FRAGMENTS, require

_OPERANDS = "dab"  # in the order of FRAGMENTS
_COLUMNS = {"m16n8k8": 8, "m16n8k4": 4}  # of a, and rows of b


@dataclass(frozen=True, slots=True)
class Layout:
    """The memory of cells, row-major over their extents but for what follows.

    `pad`: unused elements after each row. `swizzle` (rows, unit): units of columns trade places by the row, unit u of
    row r is at u xor (r mod rows). `fragment`: registers of the lanes of a warp, an operand of a matrix product such
    as "m16n8k8.a"; the last two dimensions are tiled by the operand's shape.
    """

    pad: int = 0
    swizzle: tuple[int, int] = (0, 0)
    fragment: str = ""

    def __post_init__(self) -> None:
        rows, unit = self.swizzle
        require(self.pad >= 0, f"a layout has a negative padding: {self.pad}")
        require(self.swizzle == (0, 0) or min(rows, unit) > 0, f"a swizzle has two positive sizes, not {self.swizzle}")
        require(not self.fragment or self.fragment in _fragments(), f"there is no fragment {self.fragment!r}")
        require(
            not self.fragment or (self.pad, self.swizzle) == (0, (0, 0)), "a fragment has no padding and no swizzle"
        )

    def __str__(self) -> str:
        words = [f"pad {self.pad}"] if self.pad else []
        words += [f"swizzle {self.swizzle[0]} by {self.swizzle[1]}"] if self.swizzle != (0, 0) else []
        return ", ".join([*words, *([self.fragment] if self.fragment else [])])

    def address(self, cell: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, int]:
        """Return the lane (0 but for fragments) and the offset there, in elements."""
        if self.fragment:
            return self._register(cell, extents)
        row = 0
        for at, extent in zip(cell[:-1], extents[:-1], strict=True):
            row = row * extent + at
        column = cell[-1] if cell else 0
        rows, unit = self.swizzle
        if rows:
            column = (column // unit ^ row % rows) * unit + column % unit
        return 0, row * ((extents[-1] if extents else 1) + self.pad) + column

    def size(self, extents: tuple[int, ...]) -> int:
        """Return the number of elements that cells take, of each lane for fragments."""
        if self.fragment:
            rows, columns, registers = _fragments()[self.fragment]
            return prod(extents) // (rows * columns) * registers
        return prod(extents[:-1]) * (extents[-1] + self.pad) if extents else 1

    def check(self, extents: tuple[int, ...]) -> None:
        """Check that each cell has an element of its own inside the size; raises InternalError if not."""
        if self.fragment:
            rows, columns, _ = _fragments()[self.fragment]
            fits = len(extents) >= 2 and extents[-2] % rows == 0 and extents[-1] % columns == 0
            require(fits, f"cells of {extents} are no tiles of {self.fragment}, {rows} x {columns}")
        if self.fragment or self.swizzle != (0, 0):
            used = {self.address(cell, extents) for cell in _cells(extents)}
            require(len(used) == prod(extents), f"two cells of {extents} have one element in the layout: {self}")
            require(max(offset for _, offset in used) < self.size(extents), f"the layout leaves its memory: {self}")

    def _register(self, cell: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, int]:
        """Return the lane and register of a cell: tiles are numbered row-major, with consecutive registers."""
        rows, columns, registers = _fragments()[self.fragment]
        tile = 0
        for at, extent in zip(cell[:-2], extents[:-2], strict=True):
            tile = tile * extent + at
        tile = tile * (extents[-2] // rows) + cell[-2] // rows
        tile = tile * (extents[-1] // columns) + cell[-1] // columns
        lane, register = _in_fragment(self.fragment[-1], cell[-2] % rows, cell[-1] % columns)
        return lane, tile * registers + register


ROW_MAJOR = Layout()


def _cells(extents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return product(*(range(extent) for extent in extents))


def _fragments() -> dict[str, tuple[int, int, int]]:
    """Return the rows, columns and registers of each operand, by its name."""
    found = {}
    for shape, registers in FRAGMENTS.items():
        depth = _COLUMNS[shape]
        sizes = ((16, 8), (16, depth), (depth, 8))
        for operand, (rows, columns), count in zip(_OPERANDS, sizes, registers, strict=True):
            found[f"{shape}.{operand}"] = (rows, columns, count)
    return found


def _in_fragment(operand: str, row: int, column: int) -> tuple[int, int]:
    """Return the lane and register of an element (see MultiplyAccumulate in gpu_ops.py)."""
    if operand == "d":
        return row % 8 * 4 + column // 2, row // 8 * 2 + column % 2
    if operand == "a":
        return row % 8 * 4 + column % 4, column // 4 * 2 + row // 8
    return column * 4 + row % 4, row // 4
