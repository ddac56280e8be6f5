"""Which loops of two nests can be one: the conditions of fusion, and what it gains.

The leading loops of a nest that carry no dependence but those of reductions may change places. A match pairs some of
them with such loops of the other nest. It is legal where all dependences between the nests stay within an iteration of
each common loop, after turning and shifting the second nest's.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Listed
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.distances import Edge
from polytile.scheduling.strategies.superposed.fusion_reuse import Locality
from polytile.scheduling.strategies.superposed.iterator_ranking import Ranking
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Row, Sequence, Tree, statements_of

MAX_UNRELATED_STATEMENTS = 4  # statements that share a kernel only to save launches: each may bring bounds of its own
MAX_KEPT_PARALLEL_LOOPS = 2  # loops that fusion leaves to each nest; more threads or blocks hardly help


@dataclass(frozen=True, slots=True)
class FusionNest:
    """A tree as its leading loops that may change places, and what is below them."""

    loops: tuple[Loop, ...]
    body: Tree
    statements: tuple[str, ...]

    @property
    def is_point(self) -> bool:
        """Return whether no loop is below the leading ones, and these are parallel."""
        bodies = self.body.children if isinstance(self.body, Sequence) else (self.body,)
        return all(isinstance(body, Leaf) for body in bodies) and all(loop.parallel for loop in self.loops)

    def without(self, loops: Listed[Loop]) -> Tree:
        """Return the tree without some of the leading loops."""
        body = self.body
        for loop in reversed([one for one in self.loops if one not in loops]):
            body = replace(loop, body=body)
        return body


def nest_of(tree: Tree) -> FusionNest:
    """Return the nest at the top of a tree."""
    loops: list[Loop] = []
    body = tree
    while isinstance(body, Loop) and Kind.SEQUENTIAL not in body.kinds:
        loops.append(body)
        body = body.body
    return FusionNest(tuple(loops), body, statements_of(tree))


@dataclass(frozen=True, slots=True)
class Common:
    """A loop of both nests: the two it is made of, and its rows."""

    first: Loop
    second: Loop
    rows: tuple[Row, ...]
    by_name: dict[str, Row] = field(default_factory=dict, init=False, compare=False)
    kinds: dict[str, Kind] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        self.by_name.update((row.statement, row) for row in self.rows)
        for loop in (self.first, self.second):
            self.kinds.update((row.statement, kind) for row, kind in zip(loop.rows, loop.kinds, strict=True))

    @property
    def parallel(self) -> bool:
        return self.first.parallel and self.second.parallel

    @property
    def mixed(self) -> bool:
        """Return whether it is parallel for one statement and a reduction of another."""
        return len(set(self.kinds.values())) > 1


@dataclass(frozen=True, slots=True)
class Match:
    """Common loops, outermost first, and what both nests share in them."""

    loops: tuple[Common, ...]
    rank: int


def best_match(
    first: FusionNest, second: FusionNest, between: Listed[Edge], judge: Judge, around: Listed[dict[str, Row]]
) -> Match | None:
    """Return the legal and profitable match that shares most, or None."""
    best: Match | None = None
    kept = max(_kept_parallel(nest) for nest in (first, second))
    pairs = _Pairs(first.loops, second.loops, between)
    for loops in pairs.matches(0, tuple(range(len(second.loops)))):
        if not loops or (best is not None and (len(loops), len(loops)) <= _worth(best)):
            continue  # a rank is at most the number of loops
        found = judge.match(first, second, loops, around, kept)
        if found is not None and (best is None or _worth(found) > _worth(best)):
            best = found
    return best


def _kept_parallel(nest: FusionNest) -> int:
    """Return how many common parallel loops leave each statement as many outermost ones as it had, or enough."""
    counts = (sum(loop.kind(name) is Kind.FORALL for loop in nest.loops) for name in nest.statements)
    return min(MAX_KEPT_PARALLEL_LOOPS, max(counts))


def _worth(match: Match) -> tuple[int, int]:
    return match.rank, len(match.loops)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The loops of two nests, and which of them can be one, as far as somebody asked."""

    first: Listed[Loop]
    second: Listed[Loop]
    between: Listed[Edge]
    found: dict[tuple[int, int], Common | None] = field(default_factory=dict)

    def matches(self, i: int, free: tuple[int, ...]) -> Iterator[tuple[Common, ...]]:
        """Yield all ways to pair the first nest's loops from `i` on with those of the second one that are free."""
        if i == len(self.first):
            yield ()
            return
        for j in free:
            common = self._common(i, j)
            if common is not None:
                for rest in self.matches(i + 1, tuple(k for k in free if k != j)):
                    yield (common, *rest)
        yield from self.matches(i + 1, free)

    def _common(self, i: int, j: int) -> Common | None:
        if (i, j) not in self.found:
            self.found[i, j] = aligned(self.first[i], self.second[j], self.between)
        return self.found[i, j]


def aligned(first: Loop, second: Loop, between: Listed[Edge]) -> Common | None:
    """Align both loops as one, the second turned and shifted so that no dependence between them crosses iterations."""
    for turned in (False, True):
        rows = {r.statement: r for r in (*first.rows, *moved(second.rows, turned, 0))}
        distances = {edge.distance(rows) for edge in between}
        if not distances:
            return Common(first, second, tuple(rows.values()))
        if len(distances) == 1:
            least, most = distances.pop()
            if least is not None and least == most:
                return Common(first, second, (*first.rows, *moved(second.rows, turned, -least)))
    return None


def moved(rows: Listed[Row], turned: bool, shift: int) -> tuple[Row, ...]:
    """Return the rows of a loop that runs the other way, and some iterations later."""
    way = -1 if turned else 1
    return tuple(Row(r.statement, r.iterator, way * r.sign, way * r.shift + shift) for r in rows)


@dataclass(slots=True)
class Judge:
    """What fusion may not lose. For threads, `along_x` has the iterator of each statement for thread.x."""

    scop: Scop
    ranking: Ranking
    locality: Locality
    along_x: dict[str, int | None] | None = None

    def match(
        self, first: FusionNest, second: FusionNest, loops: Listed[Common], around: Listed[dict[str, Row]], kept: int
    ) -> Match | None:
        """Match these loops in order; None where that loses parallelism or gains nothing.

        To lose parallelism is to have fewer than `kept` loops of it. `around` are the loops that both nests are in
        already.
        """
        whole = len(loops) == len(first.loops) == len(second.loops)
        if not all(c.parallel for c in loops):
            if not whole:
                return None
        elif len(loops) < kept:
            return None
        if not self._keeps_x(loops, (*first.statements, *second.statements)):
            return None
        rank = self.locality.shared_rank(around, [c.by_name for c in loops], first.statements, second.statements)
        least = len(loops) if any(c.mixed for c in loops) else 1
        few = len(first.statements) + len(second.statements) <= MAX_UNRELATED_STATEMENTS
        if rank < least and not (whole and few and first.is_point and second.is_point and len(loops) == 1):
            return None
        return Match(tuple(sorted(loops, key=self._place)), rank)

    def _keeps_x(self, loops: Listed[Common], statements: Listed[str]) -> bool:
        """Return whether no loop is thread.x for one of the deepest statements and bad as such for another of them."""
        if self.along_x is None:
            return True
        depth = max(len(self.scop.statement(name).iterators) for name in statements)
        deep = [name for name in statements if len(self.scop.statement(name).iterators) == depth]
        return all(len({self._takes_x(c, name) for name in deep if self.along_x[name] is not None}) < 2 for c in loops)

    def _takes_x(self, common: Common, name: str) -> bool:
        assert self.along_x is not None
        x, iterator = self.along_x[name], common.by_name[name].iterator
        return x == iterator or (x is not None and self._as_good(name, iterator, x))

    def _as_good(self, name: str, iterator: int, x: int) -> bool:
        return self.ranking.cost(name, iterator) <= self.ranking.cost(name, x)

    def _place(self, common: Common) -> int:
        """Rank a loop by its place among common loops, outermost first.

        Parallel loops are outermost, the one for thread.x after those that are a reduction for some statement, then
        reductions.
        """
        kinds = set(common.kinds.values())
        if self.along_x is not None and any(common.by_name[s].iterator == self.along_x[s] for s in common.by_name):
            return 2
        if len(kinds) > 1:
            return 1
        return 0 if kinds == {Kind.FORALL} else 3
