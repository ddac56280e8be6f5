"""Barriers between iterations of loops that fill shared tiles: the next fill waits for the last read.

before: loop[h] / band [h] / loop[k0] / band [k/16] / ...
after:  loop[h] / sync / band [h] / loop[k0] / sync / band [k/16] / ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from polytile.ir.isl_util import mark_name
from polytile.ir.loop_places import labelled_loops
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner
from polytile.ir.schedule import BLOCK, KERNEL, SYNC, Path, node_at


def with_tile_barriers(tree: isl.Schedule, plans: Iterable[KernelPlan]) -> isl.Schedule:
    """Insert a `sync` mark above each loop in which all threads of a block fill or drain tiles.

    The serial loops around it in its kernel get one, too.
    """
    filled = {
        (plan.kernel, copy.at)
        for plan in plans
        for placement in plan.placements
        for copy in placement.copies
        if placement.owner is Owner.BLOCK and copy.at != WHOLE_KERNEL
    }
    if not filled:
        return tree
    loops = [loop.path for name, loop in labelled_loops(tree).items() if name in filled]
    for path in sorted({band for loop in loops for band in _serial_bands(tree, loop)}, reverse=True):
        band = node_at(tree, path)
        if mark_name(band.parent()) != SYNC:
            tree = band.insert_mark(isl.Id(SYNC)).get_schedule()
    return tree


def _serial_bands(tree: isl.Schedule, path: Path) -> Iterator[Path]:
    """Yield the band at a path and the serial bands around it, up to the kernel."""
    for length in range(len(path), 0, -1):
        node = node_at(tree, path[:length])
        if mark_name(node) == KERNEL:
            return
        band = node.get_type() == isl.schedule_node_type.band and node.band_n_member() > 0
        if band and mark_name(node.parent()) != BLOCK:
            yield path[:length]
