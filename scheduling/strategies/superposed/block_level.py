"""The loop tree for blocks: the outermost loops that need no synchronisation [Shirako, Hayashi, Sarkar 2017,
algorithm 3].

before: for (i) for (j) E[i][j] = f(A[i][j]);  for (i) for (j) F[j][i] = g(E[i][j]);
after:  parallel for (i, j) { E[i][j] = f(A[i][j]); F[j][i] = g(E[i][j]); }

Nests are fused while each statement keeps two of its outermost parallel loops, or all that it has; which loop coalesces
does not matter here. Where nothing outermost is parallel, the serial loop is the host's, and blocks are found inside.
"""

from __future__ import annotations

from dataclasses import replace

from polytile.ir.scop import Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.cost import priority
from polytile.scheduling.strategies.superposed.fusion_candidates import Judge, nest_of
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Sequence, Tree
from polytile.scheduling.strategies.superposed.parallelism import labelled
from polytile.scheduling.strategies.superposed.tree_search import OPERATIONS, Search, bounded, search


def block_level(
    scop: Scop, dependences: Dependences, *, relax: bool = True, max_operations: int = OPERATIONS
) -> Tree:
    """Build the loop tree for blocks; `relax` lets reductions change their order.

    It is a whole schedule, as the one for threads; the leading loops of each nest are for blocks (`block_loops`).
    Raises OverBudgetError, and NoLoopTreeError where there is no such tree.
    """
    with bounded(max_operations):
        return blocks(search(scop, dependences, relax=relax))


def blocks(found: Search) -> Tree:
    """Build the loop tree for blocks from loops that are not fused yet."""
    ordered = _ordered(found.scop, found.fused(Judge(found.scop, found.ranking, found.locality)))
    return labelled(found.scop, ordered, found.edges)


def block_loops(scop: Scop, tree: Loop, enough: int) -> tuple[Loop, ...]:
    """Return the leading loops of a nest that blocks should share, outermost first, block.x last.

    Those are the loops that are parallel for all statements, at most three; where fewer than `enough` are, then also
    loops that are a reduction for some, in the order of locality: neighbouring blocks then use neighbouring memory.
    """
    nest = nest_of(tree)
    parallel = [loop for loop in nest.loops if loop.parallel]
    others = [loop for loop in nest.loops if not loop.parallel]
    if len(parallel) >= enough:
        return tuple(parallel[:MAX_DIMENSIONS])
    found = [*parallel, *others][:enough]
    return tuple(found[i] for i in priority(scop, nest.statements, [loop.rows for loop in found]))


def _ordered(scop: Scop, tree: Tree) -> Tree:
    """Order the leading loops of each nest by the locality between neighbouring blocks."""
    match tree:
        case Leaf():
            return tree
        case Sequence(children):
            return Sequence(tuple(_ordered(scop, child) for child in children))
        case Loop():
            nest = nest_of(tree)
            if not nest.loops:
                return replace(tree, body=_ordered(scop, tree.body))
            order = priority(scop, nest.statements, [loop.rows for loop in nest.loops])
            ranked = sorted((_freedom(nest.loops[i]), place, i) for place, i in enumerate(order))
            body = nest.body
            for _, _, i in reversed(ranked):
                body = replace(nest.loops[i], body=body)
            return body


def _freedom(loop: Loop) -> int:
    """Rank parallel loops first, then those that are parallel for some statement, then reductions."""
    if loop.parallel:
        return 0
    return 1 if Kind.FORALL in loop.kinds else 2
