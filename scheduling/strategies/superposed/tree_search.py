"""What the searches for both trees share: dependences as edges, the cost of iterators, and the distributed loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.superposed.component_loops import Distribution
from polytile.scheduling.strategies.superposed.distances import Edge, among, edges_of
from polytile.scheduling.strategies.superposed.fusion import Fusion
from polytile.scheduling.strategies.superposed.fusion_candidates import Judge
from polytile.scheduling.strategies.superposed.fusion_reuse import Locality
from polytile.scheduling.strategies.superposed.iterator_ranking import Ranking
from polytile.scheduling.strategies.superposed.loop_tree import Tree, in_sequence, restrict
from polytile.scheduling.strategies.superposed.parallelism import labelled

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
