"""How well threads along a loop coalesce, by the cost model, and how many iterations it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import inf

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.scheduling.cost import coalescing
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Loop, Row
from polytile.tuning import SharingTuning


@dataclass(frozen=True, slots=True)
class Steps:
    """Answers for one Scop, each computed once. `parameters` are the sizes that choices are made for: what is made is
    right for all others, too; `tuning` is the machine's."""

    scop: Scop
    parameters: Mapping[str, int] = field(default_factory=dict)
    tuning: SharingTuning = field(default_factory=SharingTuning)
    _known: dict[Row, float] = field(default_factory=dict)

    def sectors(self, loop: Loop, statements: Iterable[str]) -> float:
        """Estimate the sectors for one request of each access of these statements, with threads along `loop`."""
        return sum(self._of(loop.row(s)) for s in statements)

    def deepest(self, statements: Iterable[str]) -> list[str]:
        """Return the statements with the most iterators: they run most often."""
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

    def extent(self, loop: Loop) -> float:
        """Return how many iterations a loop has at most, as far as that is a number: infinity otherwise."""
        most = 1.0
        for row in (r for r in loop.rows if r.iterator != CONSTANT):
            values = self._sized(self.scop.statement(row.statement).domain.intersect_params(self.scop.context))
            low, high = values.dim_min_val(row.iterator), values.dim_max_val(row.iterator)
            known = low.is_int() and high.is_int()
            most = max(most, high.to_python() - low.to_python() + 1 if known else inf)
        return most

    def _sized(self, domain: isl.Set) -> isl.Set:
        """Fix a domain to the sizes that choices are made for; unchanged where it is empty then."""
        sized = domain
        for name, value in self.parameters.items():
            place = sized.find_dim_by_name(isl.dim_type.param, name)
            if place >= 0:
                sized = sized.fix_val(isl.dim_type.param, place, isl.Val(value))
        return domain if sized.is_empty() else sized
