"""What two nests of a common loop nest would both touch: the locality that their fusion gains.

Which iterator of a statement should run along thread.x, by the cost model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.affine_references import Number, Reference, references
from polytile.scheduling.cost import coalescing, is_coalesced
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Kind, Row, Tree, rows_of

Rows = dict[str, Row]  # of one loop, by statement
Slopes = tuple[Number, ...]
Way = tuple[tuple[int, int], ...]  # (iterator, sign) of a statement in each of some loops
Shape = tuple[str, int | None, tuple[Slopes | None, ...]]  # an array, a field of its elements, slopes by subscript


@dataclass(slots=True)
class Locality:
    """The references of a Scop's statements, as far as it matters which of them reach the same data."""

    scop: Scop
    _shapes: dict[str, frozenset[Shape]] = field(default_factory=dict)
    _moved: dict[tuple[str, Way], frozenset[Shape]] = field(default_factory=dict)

    def arrays(self, statements: Iterable[str]) -> frozenset[str]:
        """Return the arrays that these statements reach in memory."""
        return frozenset(array for name in statements for array, _, _ in self._of(name))

    def shared_rank(
        self, around: Sequence[Rows], loops: Sequence[Rows], first: Sequence[str], second: Sequence[str]
    ) -> int:
        """Return how many of the loops a reference follows that statements of both groups make.

        They reuse what it reaches within one iteration of these loops, and of those around them. 0 when there is no
        such reference.

        Example: A[r][q][s] and A[r][q][p] share 2 of the loops r, q; A[i][j] and A[j][i] share 2 of i ~ j, j ~ i.
        """
        nest = (*around, *loops)
        own, others = self._in_time(nest, first), self._in_time(nest, second)
        followed = (_followed(a, b) for a in own for b in others)
        return max((sum(loop >= len(around) for loop in loops) for loops in followed), default=0)

    def _of(self, statement: str) -> frozenset[Shape]:
        if statement not in self._shapes:
            self._shapes[statement] = frozenset(map(shape, references(self.scop, self.scop.statement(statement))))
        return self._shapes[statement]

    def _in_time(self, loops: Sequence[Rows], statements: Iterable[str]) -> set[Shape]:
        """Return the references by their slopes along the loops; no slopes where other loops move a subscript."""
        found: set[Shape] = set()
        for name in statements:
            found |= self._along(name, tuple((row.iterator, row.sign) for row in (rows[name] for rows in loops)))
        return found

    def _along(self, name: str, way: Way) -> frozenset[Shape]:
        """Return the references of one statement, cached: searches ask for the same loops again and again."""
        if (name, way) not in self._moved:
            known = {iterator for iterator, _ in way}
            self._moved[name, way] = frozenset(
                (array, number, tuple(_slopes_along(way, known, slopes) for slopes in subscripts))
                for array, number, subscripts in self._of(name)
            )
        return self._moved[name, way]


def shape(reference: Reference) -> Shape:
    """Return what a reference has in common with those that run over memory in step with it."""
    slopes = (None if form is None else form.slopes for form in reference.subscripts)
    return reference.array.name, reference.field, tuple(slopes)


def _slopes_along(way: Way, known: set[int], slopes: Slopes | None) -> Slopes | None:
    if slopes is None or any(slope and i not in known for i, slope in enumerate(slopes)):
        return None
    return tuple(0 if iterator == CONSTANT else sign * slopes[iterator] for iterator, sign in way)


def _followed(a: Shape, b: Shape) -> frozenset[int]:
    """Return the loops that two references follow alike; none where they follow them differently."""
    if a[:2] != b[:2]:
        return frozenset()
    followed: set[int] = set()
    for first, second in zip(a[2], b[2], strict=True):
        if first is None or second is None:
            continue
        if first != second:
            return frozenset()
        followed.update(i for i, slope in enumerate(first) if slope)
    return frozenset(followed)


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
