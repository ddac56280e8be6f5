"""What is done to the loops of tiles: full ones apart from partial ones, and short loops of threads unrolled.

before: for (k0) for (k < 16) for (p < 4) C_acc[p] += ...
after:  full tiles of k0 without conditions; 16 * 4 sums one after the other, each C_acc[p] a register
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.loop_places import LabelledLoop
from polytile.ir.plan import WHOLE_KERNEL, LoopPlan
from polytile.scheduling.promotion.footprint_boxes import IN, OUT, box_around
from polytile.scheduling.promotion.reference_tiles import full_tiles


def loop_plans(loops: Sequence[LabelledLoop], most: int) -> tuple[LoopPlan, ...]:
    """Plan labelled loops; at most `most` iterations of nested loops are unrolled, innermost first.

    Of a loop with more iterations some at a time are unrolled.
    """
    outside = (loop for loop in loops if loop.label != WHOLE_KERNEL and not loop.in_threads)
    found = {loop.label: LoopPlan(loop.label, partition=True) for loop in outside if is_over_tiles(loop)}
    inside = sorted((loop for loop in loops if loop.in_threads), key=lambda each: -len(each.path))
    unrolled: dict[str, int] = {}
    for loop in inside:
        copies = max((unrolled[i.label] for i in inside if i.label in unrolled and _is_in(i, loop)), default=1)
        total = iterations(loop) * copies
        below = (i.label in unrolled for i in inside if _is_in(i, loop))
        if not total or not all(below):
            continue
        if total <= most:
            unrolled[loop.label] = total
            found[loop.label] = LoopPlan(loop.label, unroll=0)
        elif copies > 1 and (factor := 1 << (most // copies).bit_length() - 1) > 1:
            found[loop.label] = LoopPlan(loop.label, unroll=factor)
    return tuple(found[loop.label] for loop in loops if loop.label in found)


def _is_in(inner: LabelledLoop, outer: LabelledLoop) -> bool:
    return inner is not outer and inner.path[: len(outer.path)] == outer.path


def is_over_tiles(loop: LabelledLoop) -> bool:
    """Return whether an iteration stands for several values of an iterator: its number is a quotient."""
    own = len(loop.roles) - loop.members
    times = [placed.as_pw_multi_aff() for placed in maps(loop.iterations)]
    found = (time.get_pw_aff(k) for time in times for k in range(own, len(loop.roles)))
    return any(aff.dim(isl.dim_type.div) > 0 for value in found for _, aff in value.get_pieces())


def iterations(loop: LabelledLoop) -> int:
    """Return how many iterations a loop has; 0 where that is not constant."""
    found = [box_around(_by_outer(full_tiles(placed).range(), loop.members)) for placed in maps(loop.iterations)]
    return 0 if None in found else max((box.cells for box in found if box is not None), default=0)


def _by_outer(times: isl.Set, members: int) -> isl.Map:
    """Return `{ [outer] -> [own] }` for the members of a loop itself."""
    outer = times.dim(isl.dim_type.set) - members
    return isl.Map.from_range(times).move_dims(IN, 0, OUT, 0, outer)
