"""What is proven of overlapped tiles: its blocks of iterations leave in memory what those of the source leave.

- values: each cell that a step claims is computed from the values that the source computes it from (values.py);
- sums: terms are added up in another order only where a step is a sum, each term of a single plane (values.py);
- order: these are in the slots that the step reads, which lie in its tile (slot_order.py);
- memory: every block finds its inputs, and the last one leaves what is read or seen afterwards (device_memory.py).

Sizes, the first iteration of a block and the owner box of a tile are any. Owner boxes part space, tile beside tile.
"""

from __future__ import annotations

from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.proof.time_tiles.device_memory import check_memory
from polytile.scheduling.proof.time_tiles.slot_order import check_order
from polytile.scheduling.proof.time_tiles.time_loop import single_iteration, time_loop
from polytile.scheduling.proof.time_tiles.values import check_reads, check_sums


def prove_overlapped(source: Scop, scop: Scop, dependences: Dependences, plan: OverlappedTiles) -> tuple[str, ...]:
    """Prove that the blocks of a plan do what as many iterations of `scop` do, in which arrays of `source` are seen.

    Returns what was shown, in lines for a reader. Raises WrongTimeTileError, with the first reason against it.
    """
    loop = single_iteration(scop, plan.dims) if plan.once else time_loop(scop, plan.dims)
    groups = check_reads(plan, loop, dependences)
    check_order(plan)
    sums = tuple(check_sums(plan, scop))
    left = tuple(check_memory(plan, source, loop, groups))
    count = sum(len(group.accesses) for group in groups)
    read = f"{count} accesses of {len(plan.made)} steps: each reads what it read in the source"
    kept = f"{len(plan.reads)} reads of slots: made before, in the tile, and not yet replaced"
    return read, kept, *sums, *left
