"""Greedy fusion of neighbouring nests, level by level [Shirako, Hayashi, Sarkar 2017, algorithms 2 and 3, last part].

before: for (i) tmp[i] = 0;  for (i) for (j) tmp[i] += A[i][j] * x[j];
after:  for (i) { tmp[i] = 0;  for (j) tmp[i] += A[i][j] * x[j]; }

Nests are neighbours where the dependences allow nothing between them; of all pairs, the one that shares most is fused
first, and then again, until no pair gains.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Listed
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.digraph import Graph, graph_of, has_path, in_order, merged, reached
from polytile.scheduling.strategies.superposed.distances import Edge, among, together
from polytile.scheduling.strategies.superposed.fusion_candidates import Common, Judge, best_match, moved, nest_of
from polytile.scheduling.strategies.superposed.loop_tree import (
    Leaf,
    Loop,
    Row,
    Sequence,
    Tree,
    in_sequence,
    statements_of,
)
from polytile.scheduling.strategies.superposed.parallelism import loop_over


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
