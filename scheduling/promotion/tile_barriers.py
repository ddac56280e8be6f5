"""Barriers between iterations of loops that fill shared tiles: the next fill waits for the last read.

before: loop[k0] / band [k/16] / ...
after:  loop[k0] / sync / band [k/16] / ...
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polytile.ir.isl_util import mark_name
from polytile.ir.loop_places import labelled_loops
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner
from polytile.ir.schedule import SYNC, node_at


def with_tile_barriers(tree: isl.Schedule, plans: Iterable[KernelPlan]) -> isl.Schedule:
    """The tree with a `sync` mark above each loop in which all threads of a block fill or drain tiles."""
    filled = {
        (plan.kernel, copy.at)
        for plan in plans
        for placement in plan.placements
        for copy in placement.copies
        if placement.owner is Owner.BLOCK and copy.at != WHOLE_KERNEL
    }
    paths = [loop.path for name, loop in labelled_loops(tree).items() if name in filled]
    for path in sorted(paths, reverse=True):
        band = node_at(tree, path)
        if mark_name(band.parent()) != SYNC:
            tree = band.insert_mark(isl.Id(SYNC)).get_schedule()
    return tree
