"""How well threads along a loop coalesce, by the cost model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from polytile.ir.scop import Scop
from polytile.scheduling.cost import coalescing
from polytile.scheduling.superposed.nest import CONSTANT, Loop, Row

CLEARLY = 0.75  # of the sectors: a shifted access needs one more, and no other order of loops would help


@dataclass(frozen=True, slots=True)
class Steps:
    """Answers for one Scop, each computed once."""

    scop: Scop
    _known: dict[Row, float] = field(default_factory=dict)

    def sectors(self, loop: Loop, statements: Iterable[str]) -> float:
        """Sectors for one request of each access of these statements, with threads along `loop`."""
        return sum(self._of(loop.row(s)) for s in statements)

    def deepest(self, statements: Iterable[str]) -> list[str]:
        """Those of the statements with the most iterators: they run most often."""
        found = list(statements)
        ranks = {s: len(self.scop.statement(s).iterators) for s in found}
        return [s for s in found if ranks[s] == max(ranks.values())]

    def _of(self, row: Row) -> float:
        if row not in self._known:
            statement = self.scop.statement(row.statement)
            moves = row.iterator != CONSTANT
            self._known[row] = (
                coalescing(self.scop, row.statement, row.iterator, row.sign) if moves else len(statement.accesses)
            )
        return self._known[row]
