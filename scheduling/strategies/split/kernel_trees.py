"""The mapped tree of split tiles: bands of steps on the host, a kernel for each colour of tiles.

before: for (t) { for (i)* S0; for (i)* S1; }
after:  band [floor(t/H)] / sequence of colours { kernel / block [tile numbers] /
            loop[step] / sync / band [2 t + level] / thread[..] / band [places] }

Blocks are tiles. A barrier ends each folded step; threads have plain places, the contiguous dimension along x.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.schedule import BLOCK, KERNEL, SYNC, loop_mark, thread_mark
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Band, Loop, Mark, Nest, Point, in_order, to_schedule
from polytile.scheduling.strategies.split.tile_sets import Colour, Tiling, colours

STEP = "step"  # the label of the loop over the folded steps of a tile


def mapped_tree(tiling: Tiling, threads: Sequence[int]) -> isl.Schedule:
    """Build the tree that runs all instances of the tiling's stencil, on blocks of `threads`, those along x last."""
    kernels = [_kernel(tiling, colour, threads) for colour in colours(tiling.form.dims)]
    found = [kernel for kernel in kernels if kernel is not None]
    return to_schedule(Loop(Member(tiling.band(), False), in_order(found)), tiling.domain)


def _kernel(tiling: Tiling, colour: Colour, threads: Sequence[int]) -> Nest | None:
    """Build the kernel of one colour; None where no tile has it."""
    instances = tiling.instances(colour)
    if instances.is_empty():
        return None
    dims = range(tiling.form.dims)
    places = tuple(Member(tiling.place(k), True) for k in dims)
    points = Mark(thread_mark(tuple(threads)), Band(places, Point(instances)))
    steps = Mark(loop_mark(STEP), Mark(SYNC, Loop(Member(tiling.folded_step(), False), points)))
    tiles = tuple(Member(tiling.coordinate(k, colour), True) for k in dims)
    return Mark(KERNEL, Mark(BLOCK, Band(tiles, steps)))
