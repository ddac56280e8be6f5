"""Sizes by the tiles of a compiled program: one below a tile, a tile, one above it, and behind two of them.

before: n = 7, m = 3
after:  n = 33, m = 31 for blocks of 32 threads, or n = 65, m = 0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polytile.fuzz.draw import Draw, source_of
from polytile.fuzz.tree import SIZES
from polytile.ir.host import HostProgram
from polytile.runtime.control_flow import control_flow
from polytile.runtime.covering_sizes import tile_lengths

TRIES = 6
MOST_WORK = 1e8  # in nodes that threads execute: half a second with the emulator's checks
Sizes = Mapping[str, int]
Fitting = Callable[[Sizes], Sizes | None]  # all sizes of a program for some n and m, or None where it has none


def sizes_by_tiles(program: HostProgram, before: Sizes, fitting: Fitting, seed: int) -> Sizes | None:
    """Choose sizes around a tile, with which the program runs for a moment; None where a few tries find none."""
    threads = {size for kernel in program.kernels for size in kernel.block if size > 1}
    lengths = sorted({*threads, *tile_lengths(program)})
    known = {*before, *SIZES}
    if not lengths or any(p.name not in known for p in program.parameters):  # one is no size of the source
        return None
    draw, flow = source_of(seed, 0), control_flow(program)
    for _ in range(TRIES):
        found = fitting({**before, **{name: _around(draw, draw.one_of(lengths)) for name in SIZES}})
        if found is not None and flow.reach(found).work <= MOST_WORK:
            return found
    return None


def _around(draw: Draw, tile: int) -> int:
    return draw.pick(tile - 1, tile, tile + 1, tile + 1, 2 * tile + 1, 0, 1)
