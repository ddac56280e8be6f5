"""What is proven of a stream plan: its blocks of iterations leave in memory what those of the source leave.

- values: each cell that a step claims is computed from the values that the source computes it from (values.py);
- sums: terms are added up in another order only where a step is a sum, each term of a single plane (values.py);
- order: these are in the slots that the step reads, which lie in its tile (order.py);
- memory: every block finds its inputs, and the last one leaves what is read or seen afterwards (memory.py).

Sizes, the first iteration of a block and the owner box of a tile are any. Owner boxes part space, tile beside tile.
"""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.ir.stream_plan import StreamPlan
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.proof.streaming.device_memory import check_memory
from polytile.scheduling.proof.streaming.slot_order import check_order
from polytile.scheduling.proof.streaming.time_loop import single_iteration, time_loop
from polytile.scheduling.proof.streaming.values import check_reads, check_sums
from polytile.scheduling.proof.wrong_plans import WrongStreamError


@dataclass(frozen=True, slots=True)
class StreamProof:
    """What was shown, in lines for a reader."""

    facts: tuple[str, ...]


def prove_stream(source: Scop, scop: Scop, dependences: Dependences, plan: StreamPlan) -> StreamProof:
    """Prove that the blocks of a plan do what as many iterations of `scop` do, in which arrays of `source` are seen.

    Raises WrongStreamError, with the first reason against it.
    """
    try:
        loop = single_iteration(scop, plan.dims) if plan.once else time_loop(scop, plan.dims)
        groups = check_reads(plan, loop, dependences)
        check_order(plan)
        sums = tuple(check_sums(plan, scop))
        left = tuple(check_memory(plan, source, loop, groups))
    except WrongStreamError as error:
        kernels = "a kernel of a DAG of stencils" if plan.once else f"kernels of {plan.iterations} iterations"
        raise WrongStreamError(f"{scop.name}: {kernels}: {error.message}") from None
    count = sum(len(group.accesses) for group in groups)
    read = f"{count} accesses of {len(plan.made)} steps: each reads what it read in the source"
    kept = f"{len(plan.reads)} reads of slots: made before, in the tile, and not yet replaced"
    return StreamProof((read, kept, *sums, *left))
