"""The mapped tree of slabs: bands of steps and tiles of the outermost dimension on the host, a kernel for each level.

before: for (t) { for (i, j, k)* S0; for (i, j, k)* S1; }
after:  band [floor(t/H)] / sequence of colours { band [slab number] / band [t] / sequence of levels {
            kernel / block [floor(i/2), floor(j/4), floor(k/32)] / thread[2,4,32] [i mod 2, j mod 4, k mod 32] } }

A slab that shrinks or grows along one dimension alone stays in the L2 cache while its steps run, one launch for each
level of a step: a three-dimensional tile in shared memory fetches more than it saves.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.schedule import BLOCK, KERNEL, thread_mark
from polytile.scheduling.strategies.band_rewriting import Member, tile
from polytile.scheduling.strategies.loop_nest import Band, Loop, Mark, Nest, Point, in_order, to_schedule
from polytile.scheduling.strategies.split.tile_sets import Colour, Tiling, colours


def slab_tree(tiling: Tiling, threads: Sequence[int]) -> isl.Schedule:
    """Build the tree that runs all instances of a tiling along its first dimension, on blocks of `threads`.

    These are as many as there are dimensions, those along x last.
    """
    found = [slabs for colour in colours(1) if (slabs := _slabs(tiling, colour, threads)) is not None]
    return to_schedule(Loop(Member(tiling.band(), False), in_order(found)), tiling.domain)


def _slabs(tiling: Tiling, colour: Colour, threads: Sequence[int]) -> Nest | None:
    """Build the slabs of a colour, one after the other; None where there are none."""
    instances = tiling.instances(colour)
    if instances.is_empty():
        return None
    levels = sorted({s.level for s in tiling.form.statements})
    kernels = [_kernel(tiling, _of_level(tiling, level, instances), threads) for level in levels]
    steps = Loop(Member(tiling.step(), False), in_order([k for k in kernels if k is not None]))
    return Loop(Member(tiling.coordinate(0, colour), False), steps)


def _of_level(tiling: Tiling, level: int, instances: isl.UnionSet) -> isl.UnionSet:
    """Return the instances of the statements of one level."""
    own = isl.UnionSet("{ }")
    for statement in tiling.form.statements:
        if statement.level == level:
            own = own.union(isl.UnionSet.from_set(statement.placed.domain().universe(statement.placed.domain().space)))
    return instances.intersect(own)


def _kernel(tiling: Tiling, instances: isl.UnionSet, threads: Sequence[int]) -> Nest | None:
    if instances.is_empty():
        return None
    blocks, points = tile([Member(tiling.place(k), True) for k in range(tiling.form.dims)], threads)
    inside = Mark(thread_mark(tuple(threads)), Band(tuple(points), Point(instances)))
    return Mark(KERNEL, Mark(BLOCK, Band(tuple(blocks), inside)))
