"""Which loops of two nests can be one: the conditions of fusion, and what it gains.

The leading loops of a nest that carry no dependence but those of reductions may change places. A match pairs some of
them with such loops of the other nest. It is legal where all dependences between the nests stay within an iteration of
each common loop, after turning and shifting the second nest's.

Greedy fusion of neighbouring nests, level by level [Shirako, Hayashi, Sarkar 2017, algorithms 2 and 3, last part].

before: for (i) tmp[i] = 0;  for (i) for (j) tmp[i] += A[i][j] * x[j];
after:  for (i) { tmp[i] = 0;  for (j) tmp[i] += A[i][j] * x[j]; }

Nests are neighbours where the dependences allow nothing between them; of all pairs, the one that shares most is fused
first, and then again, until no pair gains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Listed
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.ir.digraph import Graph, graph_of, has_path, in_order, merged, reached
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.distances import Edge, among, loop_over, together
from polytile.scheduling.strategies.superposed.fusion_reuse import Locality, Ranking
from polytile.scheduling.strategies.superposed.loop_tree import (
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    Tree,
    in_sequence,
    statements_of,
)

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
        if not loops or (best is not None and (len(loops), len(loops)) <= _match_worth(best)):
            continue  # a rank is at most the number of loops
        found = judge.match(first, second, loops, around, kept)
        if found is not None and (best is None or _match_worth(found) > _match_worth(best)):
            best = found
    return best


def _kept_parallel(nest: FusionNest) -> int:
    """Return how many common parallel loops leave each statement as many outermost ones as it had, or enough."""
    counts = (sum(loop.kind(name) is Kind.FORALL for loop in nest.loops) for name in nest.statements)
    return min(MAX_KEPT_PARALLEL_LOOPS, max(counts))


def _match_worth(match: Match) -> tuple[int, int]:
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


@dataclass(frozen=True, slots=True)
class _Joined:
    """What fusing two groups gives, and what it is worth: what they share, the loops they share, how close they are."""

    tree: Tree
    worth: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Around:
    """The loops that a tree is in."""

    loops: tuple[Loop, ...] = ()

    @property
    def parallel(self) -> bool:
        return any(loop.parallel for loop in self.loops)

    @property
    def rows(self) -> list[dict[str, Row]]:
        return [{row.statement: row for row in loop.rows} for loop in self.loops]


NOTHING = Around()


@dataclass(slots=True)
class Fusion:
    """Fusion of a Scop's nests, by what its judge allows."""

    judge: Judge

    def run(self, tree: Tree, edges: Listed[Edge], around: Around = NOTHING) -> Tree:
        """Fuse all sequences of the tree."""
        match tree:
            case Leaf():
                return tree
            case Loop():
                within = Around((*around.loops, tree))
                return replace(tree, body=self.run(tree.body, together(edges, tree.rows), within))
            case Sequence(children):
                joined = self._joined(children, edges, around)
                return in_sequence([self.run(t, among(edges, statements_of(t)), around) for t in joined])

    def _joined(self, children: Listed[Tree], edges: Listed[Edge], around: Around) -> list[Tree]:
        """Fuse the children wherever it is worth it, and return them in order."""
        children = sorted(children, key=lambda child: min(self._places(child)))
        groups = dict(enumerate(children))
        graph = _order(children, edges)
        found: dict[tuple[int, int], _Joined | None] = {}
        while True:
            near = _neighbours(graph, groups)
            found |= {p: self._pair(groups, graph, p, edges, around) for p in near if p not in found}
            best = max((pair for pair in near if found[pair]), key=lambda pair: _worth(found, pair), default=None)
            if best is None:
                break
            i, j = best
            joined = found[best]
            assert joined is not None
            groups[i] = joined.tree
            del groups[j]
            graph = merged(graph, i, j)
            found = {pair: f for pair, f in found.items() if not {i, j} & set(pair)}
        return [groups[i] for i in in_order(graph, lambda i: i)]

    def _places(self, tree: Tree) -> list[int]:
        own = statements_of(tree)
        return [i for i, statement in enumerate(self.judge.scop.statements) if statement.name in own]

    def _pair(
        self, groups: dict[int, Tree], graph: Graph[int], pair: tuple[int, int], edges: Listed[Edge], around: Around
    ) -> _Joined | None:
        first, second = (groups[k] for k in (reversed(pair) if has_path(graph, *reversed(pair)) else pair))
        return self._fused(first, second, edges, around)

    def _fused(self, first: Tree, second: Tree, edges: Listed[Edge], around: Around) -> _Joined | None:
        """Fuse both trees in common loops, the first one's bodies before the second one's; None for no such loops."""
        a, b = nest_of(first), nest_of(second)
        related = self.judge.locality.arrays(a.statements) & self.judge.locality.arrays(b.statements)
        if not related and not (a.is_point and b.is_point):
            return None
        between = _between(edges, set(a.statements), set(b.statements))
        close = -min(abs(p - q) for p in self._places(first) for q in self._places(second))
        match = best_match(a, b, between, self.judge, around.rows)
        if match is not None:
            tree = in_sequence([a.without([c.first for c in match.loops]), b.without([c.second for c in match.loops])])
            for common in reversed(match.loops):
                tree = self._loop(common, tree)
            return _Joined(tree, (match.rank, len(match.loops), close))
        serial = self._serial(first, second, between, around) if around.parallel else None
        return None if serial is None else _Joined(serial, (1, 0, close))

    def _loop(self, common: Common, body: Tree) -> Loop:
        order = [s.name for s in self.judge.scop.statements]
        rows = tuple(sorted(common.rows, key=lambda row: order.index(row.statement)))
        return Loop(rows, tuple(common.kinds[row.statement] for row in rows), body)

    def _serial(self, first: Tree, second: Tree, between: Listed[Edge], around: Around) -> Loop | None:
        """Fuse both trees in one serial loop, with parallel loops of theirs around it moved into it; None for none."""
        a, b = _serial_loop(first), _serial_loop(second)
        if a is None or b is None:
            return None
        apart = {r.statement: r for r in (*a.rows, *b.rows)}
        known = [d for d in (edge.distance(apart)[0] for edge in between) if d is not None]
        if len(known) < len(between):
            return None
        rows = (*a.rows, *moved(b.rows, False, max(0, -min(known, default=0))))
        loops = [{row.statement: row for row in rows}]
        if not self.judge.locality.shared_rank(around.rows, loops, statements_of(a), statements_of(b)):
            return None
        return loop_over(self.judge.scop, rows, between, in_sequence((a.body, b.body)))


def _worth(found: dict[tuple[int, int], _Joined | None], pair: tuple[int, int]) -> tuple[int, ...]:
    """Rank a pair by what its fusion is worth, earlier pairs first."""
    joined = found[pair]
    assert joined is not None
    return *joined.worth, -pair[1], -pair[0]


def _between(edges: Listed[Edge], one: set[str], other: set[str]) -> list[Edge]:
    """Return the dependences of each of two groups on the other."""
    return [
        e for e in edges if (e.source in one and e.sink in other) or (e.source in other and e.sink in one)
    ]


def _serial_loop(tree: Tree) -> Loop | None:
    """Return the serial loop at the top of a tree, with the parallel loops around it moved into it, or None."""
    nest = nest_of(tree)
    if not isinstance(nest.body, Loop) or not all(loop.parallel for loop in nest.loops):
        return None
    serial = nest.body
    return replace(serial, body=replace(nest, body=serial.body).without(()))


def _order(children: Listed[Tree], edges: Listed[Edge]) -> Graph[int]:
    """Build the graph of which child must run before which."""
    place = {name: i for i, child in enumerate(children) for name in statements_of(child)}
    inner = (e for e in edges if not e.relaxed and place[e.source] != place[e.sink])
    return graph_of(range(len(children)), ((place[e.source], place[e.sink]) for e in inner))


def _neighbours(graph: Graph[int], groups: Iterable[int]) -> list[tuple[int, int]]:
    """Return the pairs between which nothing has to run."""
    behind = {i: set(reached(graph, i)) - {i} for i in groups}
    pairs = ((i, j) for i in groups for j in groups if i < j)
    return [(i, j) for i, j in pairs if _adjacent(graph, behind, i, j) and _adjacent(graph, behind, j, i)]


def _adjacent(graph: Graph[int], behind: dict[int, set[int]], first: int, second: int) -> bool:
    return second not in behind[first] or not any(second in behind[k] for k in graph[first] if k != second)
