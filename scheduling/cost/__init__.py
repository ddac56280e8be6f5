"""The Distinct-Lines cost model: what memory accesses cost, in plain numbers. Nothing here edits a schedule.

For whoever orders loops (docs/cost-model.md explains the model):

    coalescing(scop, statement: str, iterator: int, sign=1, width=32) -> float
        Sectors per warp request, summed over the accesses of a statement, when this iterator (by number) runs
        along thread.x. Less is better.
    is_coalesced(scop, statement: str, iterator: int, sign=1) -> bool
        Whether every access is ideal then: neighbours, or one element for the whole warp.
    priority(scop, statements: str | Sequence[str], loops=None, tiles=None, line=128) -> tuple[int, ...]
        The numbers of the loops, outermost first: the most negative derivative of the memory cost last. `loops` has one
        entry for each loop: the rows (statement, iterator, sign, shift) of the statements that run in it; without it
        the loops are the iterators of the one statement.
    derivatives(...)  the same arguments -> tuple[float, ...]: the partial derivatives themselves.
    distinct_lines(scop, statements, loops=None, line=128) -> DistinctLines
        `.evaluate(tiles)`, `.text(names)`; memory_cost(lines, tiles) is the cost per iteration with its derivatives.
    predict(scop, statement, lanes: Sequence[Lane(iterator, extent=32, sign=1, unit=1, inner=1)], parameters=None)
        -> tuple[Request, ...]
        Sectors per request of each access, with the dimensions of the thread block from x on; neighbouring threads are
        `unit` iterations apart, each of which runs `inner` neighbours.
"""

from polytile.scheduling.cost.coalescing import Lane, Request, predict
from polytile.scheduling.cost.distinct_lines import DistinctLines, distinct_lines
from polytile.scheduling.cost.loop_order import coalescing, derivatives, is_coalesced, memory_cost, priority

__all__ = [
    "DistinctLines",
    "Lane",
    "Request",
    "coalescing",
    "derivatives",
    "distinct_lines",
    "is_coalesced",
    "memory_cost",
    "predict",
    "priority",
]
