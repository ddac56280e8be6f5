"""The loop tree for threads: coalesced accesses first, even at the cost of barriers [Shirako, Hayashi, Sarkar 2017,
algorithm 2].

before: for (r) for (q) { for (p) { sum = 0; for (s) sum[p] += A[r][q][s] * C[s][p]; } for (p) A[r][q][p] = sum[p]; }
after:  parallel for (r, q) { parallel for (p) { sum = 0; for (s) sum[p] += ...; } parallel for (p) A[r][q][p] = ...; }
"""

from __future__ import annotations

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.superposed.fusion_candidates import Judge
from polytile.scheduling.strategies.superposed.loop_tree import Tree
from polytile.scheduling.strategies.superposed.tree_search import OPERATIONS, Search, bounded, search


def thread_level(
    scop: Scop, dependences: Dependences, *, relax: bool = True, max_operations: int = OPERATIONS
) -> Tree:
    """Build the loop tree for threads; `relax` lets reductions change their order.

    Parallel loops are outermost, the one that coalesces best last of them; a reduction's loop comes after them, first
    where it is the one that coalesces. Raises OverBudgetError, and NoLoopTreeError where there is no such tree.
    """
    with bounded(max_operations):
        return threads(search(scop, dependences, relax=relax))


def threads(found: Search) -> Tree:
    """Build the loop tree for threads from loops that are not fused yet."""
    return found.fused(Judge(found.scop, found.ranking, found.locality, found.along_x()))
