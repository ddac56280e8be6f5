"""Planes of inputs that the threads of a block share, of kernels of one iteration: slots and barriers.

before: row p of the stream: all threads put plane p into slot p mod 3;  barrier;  step 1 makes plane p - 1;  barrier
after:  step 1 reads plane p - 1 + d, `ahead` = 1 - d rows after it was put there, behind a barrier: ahead >= 0; its
        slot is taken 3 - ahead rows later, with a barrier in between: 3 - ahead >= 1; without the second barrier a
        thread may be in the next row already, which takes other slots: 3 - ahead >= 2

An input that is read beside the own column has its planes in shared memory: all of them, as they arrive (PLANES), or
the one that is read beside, put there when it is read (COLUMNS). What a thread reads of its own column, of inputs that
no other thread reads (PLANES) or of all (COLUMNS), is in its registers, whose planes take slots in its own order.

Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes on GPU clusters (CGO 2012), section 4.
"""

from __future__ import annotations

from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep, planes_behind
from polytile.ir.time_tile import Exchange
from polytile.scheduling.proof.time_tiles.time_loop import require

TWO = 2  # barriers: behind what is put, and behind what is read


def check_shared_planes(plan: OverlappedTiles) -> None:
    """Raise WrongTimeTileError unless each step finds in shared planes and registers what was put there for it."""
    for source in plan.inputs:
        reads = [read for read in plan.reads if read.source == source.index]
        beside = [read for read in reads if any(read.offset[plan.streamed :])]
        shared = bool(beside) and plan.exchange is Exchange.PLANES
        for read in reads:
            _check_kept(plan, source, read, shared)
        if beside:
            what = f"planes of step {source.index} are read with no barrier behind what is put there"
            require(plan.barriers > 0, what)
        if beside and plan.exchange is Exchange.COLUMNS:
            _check_one_plane(plan, source, beside)


def _check_kept(plan: OverlappedTiles, source: StreamStep, read: StreamRead, shared: bool) -> None:
    """Check that the plane has arrived, and its slot is not taken before all threads have read it."""
    ahead = planes_behind(plan.steps, read, plan.streamed)
    what = f"step {read.step} reads plane z{read.offset[0]:+d} of step {source.index}"
    require(ahead >= 0, f"{what} before it is made")
    left = source.slots - ahead
    require(left > 0, f"{what} when plane z{read.offset[0] + source.slots:+d} has its slot")
    late = "of other threads, with no barrier before its slot is written again"
    require(not shared or left > 1 or plan.barriers == TWO, f"{what}, {late}")


def _check_one_plane(plan: OverlappedTiles, source: StreamStep, beside: list[StreamRead]) -> None:
    """Check that all that is read beside the own column is of the plane in shared memory.

    Threads put the plane there, and it stays until all have read it.
    """
    planes = {planes_behind(plan.steps, read, plan.streamed) for read in beside}
    require(len(planes) == 1, f"threads read several planes of step {source.index} beside their columns")
    enough = plan.shared_planes > 1 or (plan.shared_planes == 1 and plan.barriers == TWO)
    late = "with no barrier before its place is written again"
    require(enough, f"a plane of step {source.index} is read of other threads, {late}")
