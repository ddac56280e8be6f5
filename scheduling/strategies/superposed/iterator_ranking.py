"""Which iterator of a statement should run along thread.x, by the cost model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.cost import coalescing, is_coalesced
from polytile.scheduling.strategies.superposed.fusion_reuse import shape
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Row, Tree, rows_of

DEPTH_WEIGHT = 16.0  # how much more often a statement runs for each loop around it, as a guess


@dataclass(slots=True)
class Ranking:
    """The costs of the iterators of a Scop's statements, each computed once.

    References that differ by constants alone, as in a stencil, mostly find each other's lines in a cache: they count
    once.
    """

    scop: Scop
    _costs: dict[tuple[str, int], float] = field(default_factory=dict)
    _ideal: dict[tuple[str, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scop = replace(self.scop, statements=tuple(_distinct(self.scop, s) for s in self.scop.statements))

    def cost(self, statement: str, iterator: int) -> float:
        """Estimate the sectors for the requests of a warp along this iterator."""
        key = (statement, iterator)
        if key not in self._costs:
            self._costs[key] = coalescing(self.scop, statement, iterator)
        return self._costs[key]

    def coalesces(self, statement: str, iterator: int) -> bool:
        key = (statement, iterator)
        if key not in self._ideal:
            self._ideal[key] = is_coalesced(self.scop, statement, iterator)
        return self._ideal[key]

    def total(self, rows: Iterable[Row]) -> float:
        """Sum up the cost of a loop for all statements in it, the deeper ones counting more."""
        return sum(
            self.cost(r.statement, r.iterator) * DEPTH_WEIGHT ** len(self.scop.statement(r.statement).iterators)
            for r in rows
        )

    def best(self, statement: str, iterators: Collection[int]) -> int | None:
        """Return the cheapest iterator along a warp, the innermost of equals; None of none."""
        return min(iterators, key=lambda i: (round(self.cost(statement, i), 6), -i), default=None)

    def along_x(self, statement: str, parallel: Collection[int], reductions: Collection[int]) -> int | None:
        """Choose the iterator for thread.x: the best parallel one, unless only one that is a reduction coalesces."""
        best = self.best(statement, parallel)
        if not reductions:
            return best
        if best is not None and self.coalesces(statement, best):
            return best
        ideal = [i for i in reductions if self.coalesces(statement, i)]
        return self.best(statement, ideal) if ideal else best

    def along_x_in(self, tree: Tree, statement: str) -> int | None:
        """Choose the iterator for thread.x among the loops of a tree around a statement."""
        rows = rows_of(tree, statement)
        parallel, reductions = (
            [row.iterator for row, kind in rows if kind is wanted and row.iterator >= 0]
            for wanted in (Kind.FORALL, Kind.REDUCTION)
        )
        return self.along_x(statement, parallel, reductions)


def _distinct(scop: Scop, statement: Statement) -> Statement:
    """Return the statement with one access for each kind and shape of its references."""
    kept = {(r.access.kind, shape(r)): r.access for r in reversed(references(scop, statement))}
    return replace(statement, accesses=tuple(a for a in statement.accesses if any(a is k for k in kept.values())))
