"""How tiles lie in shared memory, so that the lanes of a warp find their elements in different banks.

before: rows of 16 doubles; lane t reads cell [t][k]: all lanes of a column in one bank
after:  rows of 16 + 1 doubles
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice, product

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.cell_layout import ROW_MAJOR, Layout
from polytile.ir.loop_places import LabelledLoop
from polytile.ir.plan import Owner
from polytile.machine import WARP_SIZE
from polytile.scheduling.promotion.footprint_boxes import IN, Box
from polytile.scheduling.promotion.reference_tiles import Reference, ReferenceTile, box_of

BANKS, BANK_BYTES = 32, 4
MOST_PADDED = 4  # elements after a row that are tried

Step = tuple[int, ...]  # how far a cell moves, by dimension, with one coordinate of the thread


def warp_reads(tile: ReferenceTile) -> tuple[WarpReads, ...]:
    """Return how the lanes of warps read a tile, as far as that is known."""
    steps = [lane_steps(reference, tile.loop) for reference in tile.references]
    return tuple(WarpReads(step, tile.loop.kernel.sizes) for step in steps if step is not None)


def lane_steps(reference: Reference, loop: LabelledLoop) -> tuple[Step, ...] | None:
    """Return how far the elements of a reference move with each coordinate of the thread, outermost first."""
    box = box_of(reference, loop, Owner.THREAD)
    if box is None or loop.in_threads:
        return None
    threads = len(loop.kernel.sizes)
    first = len(loop.roles)
    found = [tuple(_slope(side.corner, first + k) for side in box.sides) for k in range(threads)]
    return tuple(found)


def _slope(corner: isl.PwAff, coordinate: int) -> int:
    """Return the coefficient of a coordinate of the place, leaving aside divisions."""
    _, aff = corner.get_pieces()[0]
    value = aff.get_coefficient_val(IN, coordinate)
    return int(value.to_python()) if value.is_int() else 1


@dataclass(frozen=True, slots=True)
class WarpReads:
    """The cells that the lanes of a warp read at once, for one reference."""

    steps: tuple[Step, ...]
    sizes: tuple[int, ...]

    def cells(self, box: Box) -> list[tuple[int, ...]]:
        """Return the cell of each thread of a warp, relative to that of the first."""
        lanes = islice(product(*(range(size) for size in self.sizes)), WARP_SIZE)
        return [
            tuple(
                sum(t * step[d] for t, step in zip(lane, self.steps, strict=True)) // side.stride
                for d, side in enumerate(box.sides)
            )
            for lane in lanes
        ]

    @property
    def coalesced(self) -> bool:
        """Return whether neighbouring threads read neighbouring elements, or one."""
        along = self.steps[-1] if self.steps else ()
        return all(move == 0 for move in along[:-1]) and (not along or abs(along[-1]) <= 1)


def conflicts(offsets: Sequence[int], size: int) -> int:
    """Return how many wavefronts a warp takes for elements of `size` bytes: those of 8 go half a warp at a time."""
    at_once = max(1, WARP_SIZE * BANK_BYTES // max(size, BANK_BYTES))
    turns = 0
    for first in range(0, len(offsets), at_once):
        together = [offset * size // BANK_BYTES for offset in offsets[first : first + at_once]]
        words = {start + w for start in together for w in range(-(-size // BANK_BYTES))}
        turns += max(Counter(word % BANKS for word in words).values())
    return turns


def layout_for(box: Box, reads: Sequence[WarpReads], size: int) -> Layout:
    """Choose the least padding with the fewest bank conflicts."""
    if len(box.extents) < 2:
        return ROW_MAJOR
    cells = [read.cells(box) for read in reads]
    return min((Layout(pad=pad) for pad in range(MOST_PADDED + 1)), key=lambda layout: _turns(layout, box, cells, size))


def _turns(layout: Layout, box: Box, reads: Sequence[Sequence[tuple[int, ...]]], size: int) -> int:
    pitches = [1]
    for k, extent in enumerate(reversed(box.extents[1:])):
        pitches.append(pitches[-1] * (extent + (layout.pad if k == 0 else 0)))
    pitches.reverse()
    total = 0
    for cells in reads:
        offsets = [sum(c * p for c, p in zip(cell, pitches, strict=True)) for cell in cells]
        total += conflicts(offsets, size)
    return total
