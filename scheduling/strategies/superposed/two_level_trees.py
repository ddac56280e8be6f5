"""Both loop trees of a Scop, and what the searches for them share: dependences as edges, the cost of iterators, and the
distributed loops.

The tree for threads has coalesced accesses first, even at the cost of barriers [Shirako, Hayashi, Sarkar 2017,
algorithm 2]:

before: for (r) for (q) { for (p) { sum = 0; for (s) sum[p] += A[r][q][s] * C[s][p]; } for (p) A[r][q][p] = sum[p]; }
after:  parallel for (r, q) { parallel for (p) { sum = 0; for (s) sum[p] += ...; } parallel for (p) A[r][q][p] = ...; }

The tree for blocks has the outermost loops that need no synchronisation [algorithm 3]:

before: for (i) for (j) E[i][j] = f(A[i][j]);  for (i) for (j) F[j][i] = g(E[i][j]);
after:  parallel for (i, j) { E[i][j] = f(A[i][j]); F[j][i] = g(E[i][j]); }

Nests are fused while each statement keeps two of its outermost parallel loops, or all that it has; which loop coalesces
does not matter here. Where nothing outermost is parallel, the serial loop is the host's, and blocks are found inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.cost import priority
from polytile.scheduling.strategies.superposed.distances import Edge, among, edges_of, labelled
from polytile.scheduling.strategies.superposed.fusion import Fusion, Judge, nest_of
from polytile.scheduling.strategies.superposed.fusion_reuse import Locality, Ranking
from polytile.scheduling.strategies.superposed.loop_alignment import Distribution
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Sequence, Tree, in_sequence, restrict

OPERATIONS = 4_000_000  # of isl, for a search; the benchmark programs take less than a twentieth


@contextmanager
def bounded(operations: int) -> Iterator[None]:
    """Bound the isl operations; raises OverBudgetError also where isl hands out nothing instead of an error."""
    with budget(operations):
        try:
            yield
        except (AttributeError, TypeError, ValueError) as error:
            if _is_spent():
                raise OverBudgetError(str(error)) from error
            raise


def _is_spent() -> bool:
    try:
        return isl.Set("{ : }").is_empty() is None
    except (isl.Error, TypeError):
        return True


@dataclass(frozen=True, slots=True)
class Search:
    """A Scop with its edges and its loops before fusion."""

    scop: Scop
    edges: list[Edge]
    ranking: Ranking
    locality: Locality
    distributed: Tree

    def along_x(self) -> dict[str, int | None]:
        """Return the iterator of each statement for thread.x; None for one without parallel loops."""
        return {s.name: self.ranking.along_x_in(self.distributed, s.name) for s in self.scop.statements}

    def fused(self, judge: Judge) -> Tree:
        """Fuse the loops of all but the prologue and the epilogue, and label them with their kinds."""
        main = [s.name for s in self.scop.main]
        tree = Fusion(judge).run(restrict(self.distributed, main), among(self.edges, main))
        first, last = (
            [restrict(self.distributed, [name]) for name in apart]
            for apart in (self.scop.prologue, self.scop.epilogue)
        )
        return labelled(self.scop, in_sequence([*first, tree, *last]), self.edges)


def search(scop: Scop, dependences: Dependences, *, relax: bool) -> Search:
    """Find loops for each component of the dependences; `relax` lets reductions change their order.

    Raises NoLoopTreeError where no loop tree is found and the order of the source is none.
    """
    edges = edges_of(scop, dependences, relax=relax)
    ranking = Ranking(scop)
    return Search(scop, edges, ranking, Locality(scop), Distribution(scop, ranking).run(edges))


def threads(found: Search) -> Tree:
    """Build the loop tree for threads from loops that are not fused yet.

    Parallel loops are outermost, the one that coalesces best last of them; a reduction's loop comes after them, first
    where it is the one that coalesces.
    """
    return found.fused(Judge(found.scop, found.ranking, found.locality, found.along_x()))


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


@dataclass(frozen=True, slots=True)
class LoopTrees:
    """The schedules that blocks and threads are given loops from."""

    thread: Tree
    block: Tree


def loop_trees(
    scop: Scop, dependences: Dependences, *, relax: bool = True, max_operations: int = OPERATIONS
) -> LoopTrees:
    """Build the loop trees for threads and for blocks; `relax` lets reductions change their order.

    Raises OverBudgetError, and NoLoopTreeError where there are no such trees.
    """
    with bounded(max_operations):
        found = search(scop, dependences, relax=relax)
        return LoopTrees(threads(found), blocks(found))
