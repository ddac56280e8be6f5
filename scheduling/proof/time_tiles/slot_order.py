"""Boxes, planes and slots of a plan of overlapped tiles: what a step reads was made, is still there, and may be seen.

A step makes plane z when plane z + lag arrives, after the steps before it. So of a plane d away, `ahead` = lag - lag of
its source - d planes have arrived since it was made, and slots - ahead more arrive before its place is written again.
A step that is retimed reads a plane earlier, as soon as it is there (read_when).
Threads meet once a plane (BLOCK) or at each shuffle (WARP): with shared memory, what another thread made must be of
an earlier plane. A thread sees its own cells at once. A split barrier keeps as much: whoever arrives has shown what it
made of a plane, and read what it reads there, and whoever has waited for that reads and overwrites in the next one.

Steps of one iteration alone (PLANES, COLUMNS) share planes of inputs in another way: shared_planes.py.
"""

from __future__ import annotations

from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, read_when
from polytile.ir.time_tile import Exchange
from polytile.scheduling.proof.time_tiles.shared_planes import check_shared_planes
from polytile.scheduling.proof.time_tiles.time_loop import require


def check_order(plan: OverlappedTiles) -> None:
    """Raise WrongTimeTileError unless each step finds in the slots of its sources what was made there for it."""
    for step in plan.steps:
        require(plan.streamed > 0 or step.lag == 0, f"step {step.index} lags behind in a stream of a single plane")
    for read in plan.reads:
        _check_box(plan, read)
        if not plan.exchange.is_one_step:
            _check_slots(plan, read)
    if plan.exchange.is_one_step:
        check_shared_planes(plan)


def _check_box(plan: OverlappedTiles, read: StreamRead) -> None:
    step, source = plan.steps[read.step], plan.steps[read.source]
    for k, away in enumerate(read.offset):
        below = step.lower[k] + away < source.lower[k]
        if below or step.upper[k] + away > source.upper[k]:
            side = "before" if below else "behind"
            where = f"{away:+d} along dimension {k}, {side} the box of step {source.index}"
            require(False, f"step {step.index} reads a cell of {source.array} {where}")


def _check_slots(plan: OverlappedTiles, read: StreamRead) -> None:
    step, source = plan.steps[read.step], plan.steps[read.source]
    away = read.offset[0] if plan.streamed else 0
    ahead = read_when(plan.steps, read, plan.streamed, plan.exchange)
    apart = plan.exchange is Exchange.BLOCK and any(read.offset[plan.streamed :])
    plane = f"plane z{away:+d} of step {source.index}" if plan.streamed else f"step {source.index}"
    what = f"step {step.index} reads {plane}"
    made = ahead > 0 or (ahead == 0 and source.index < step.index)
    require(made, f"{what} before it is made")
    require(not apart or ahead > 0, f"{what}, of other threads, with no barrier behind the step that makes it")
    if plan.streamed:
        left = source.slots - ahead
        kept = left > 0 or (left == 0 and step.index < source.index)
        require(kept, f"{what} when plane z{away + source.slots:+d} has its slot")
        require(not apart or left > 0, f"{what}, of other threads, with no barrier before its slot is written again")
