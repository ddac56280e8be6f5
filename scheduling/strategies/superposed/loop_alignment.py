"""Rows that the statements of one component could run in together: one iterator of each, by a constant apart.

The rows are found along the dependences: where one statement's iterator is chosen, a dependence with a distance that
is constant (for a parallel loop) or bounded from below (for a serial one) proposes the iterator, the direction and the
shift of the statement at its other end.

Loops for each strongly connected component of the dependences [Allen, Kennedy 1987; Shirako, Hayashi, Sarkar 2017,
algorithm 2, first part].

before: for (t) { for (i) for (j) B[i][j] = f(A[i][j - 1], A[i][j + 1]); for (i) for (j) A[i][j] = B[i][j]; }
after:  parallel for (i) for (t) { parallel for (j) B[i][j] = ...; parallel for (j) A[i][j] = B[i][j]; }

A component gets the loops that are parallel for all its statements outermost, or carry nothing but reductions where
there are none, the one that coalesces best last, then a serial loop, the one that leaves the most parallelism; below
that it may fall apart into smaller components.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice

from polytile.dataclass import dataclass
from polytile.ir.digraph import both_ways, condensed, graph_of, in_order, reached
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.distances import Edge, among, labelled, loop_over, together
from polytile.scheduling.strategies.superposed.fusion_reuse import Ranking
from polytile.scheduling.strategies.superposed.loop_tree import (
    CONSTANT,
    Kind,
    Leaf,
    NoLoopTreeError,
    Row,
    Tree,
    in_sequence,
    original_tree,
    restrict,
    rows_of,
    statements_of,
)

Rows = tuple[Row, ...]
Choices = Mapping[str, Sequence[tuple[int, int]]]  # statement -> its unused (iterator, sign), preferred ones first
MOST_TRIED = 3000  # choices for a statement, in one search


@dataclass(slots=True)
class _Effort:
    """What a search may still try."""

    left: int = MOST_TRIED

    def spent(self) -> bool:
        self.left -= 1
        return self.left < 0


def parallel_rows(statements: Sequence[str], edges: Sequence[Edge], choices: Choices) -> Iterator[Rows]:
    """Yield loops across which none of the edges runs.

    Each is given once, with its first statement in the first of the directions that it has.
    """
    order = _connected(statements, edges)
    first = [Row(order[0], iterator) for iterator in dict.fromkeys(i for i, _ in choices[order[0]])]
    effort = _Effort()
    for row in first:
        yield from _parallel(order[1:], {order[0]: row}, edges, choices, effort)


def _parallel(
    rest: Sequence[str], chosen: dict[str, Row], edges: Sequence[Edge], choices: Choices, effort: _Effort
) -> Iterator[Rows]:
    name = next(reversed(chosen))
    own = [e for e in edges if name in (e.source, e.sink) and e.source in chosen and e.sink in chosen]
    if effort.spent() or any(e.distance(chosen) != (0, 0) for e in own):
        return
    if not rest:
        yield tuple(chosen.values())
        return
    for row in _aligned(rest[0], chosen, edges, choices):
        yield from _parallel(rest[1:], {**chosen, rest[0]: row}, edges, choices, effort)


def _aligned(name: str, chosen: Mapping[str, Row], edges: Sequence[Edge], choices: Choices) -> Iterator[Row]:
    """Yield the rows of a statement that keep a constant distance of 0 along one edge to those chosen."""
    edge = next(e for e in edges if (e.source in chosen and e.sink == name) or (e.sink in chosen and e.source == name))
    forward = edge.sink == name
    for iterator, sign in choices[name]:
        row = Row(name, iterator, sign)
        least, most = edge.bounds(chosen[edge.source], row) if forward else edge.bounds(row, chosen[edge.sink])
        if least is None or least != most:
            continue
        other = chosen[edge.source] if forward else chosen[edge.sink]
        yield Row(name, iterator, sign, other.shift + (-least if forward else least))


def serial_rows(statements: Sequence[str], edges: Sequence[Edge], choices: Choices) -> Iterator[Rows]:
    """Yield loops along which no edge runs backward, preferred choices first."""
    order = _connected(statements, edges)
    position = {name: k for k, name in enumerate(order)}
    own: dict[str, list[Edge]] = {name: [] for name in order}  # to the statement itself and to those before it
    for e in edges:
        own[max(e.source, e.sink, key=position.__getitem__)].append(e)
    yield from _SerialSearch(order, own, edges, choices).rows(0, {})


@dataclass(slots=True)
class _SerialSearch:
    """The choices for one statement after the other. Those round a cycle that no shifts satisfy are noted: whatever
    has all of them needs no second look at its edges."""

    order: Sequence[str]
    own: Mapping[str, Sequence[Edge]]
    edges: Sequence[Edge]
    choices: Choices
    effort: _Effort = field(default_factory=_Effort)
    cycles: list[frozenset[Row]] = field(default_factory=list)

    def rows(self, depth: int, chosen: dict[str, Row]) -> Iterator[Rows]:
        if depth == len(self.order):
            shifts = self._shifts(chosen)
            if shifts is not None:
                yield tuple(Row(r.statement, r.iterator, r.sign, shifts[r.statement]) for r in chosen.values())
            return
        name = self.order[depth]
        for iterator, sign in self.choices[name]:
            if self.effort.spent():
                return
            tried = {**chosen, name: Row(name, iterator, sign)}
            if all(_may_be_forward(e, tried) for e in self.own[name]):
                yield from self.rows(depth + 1, tried)

    def _shifts(self, rows: dict[str, Row]) -> dict[str, int] | None:
        taken = frozenset(rows.values())
        if any(cycle <= taken for cycle in self.cycles):
            return None
        shifts, cycle = least_shifts(tuple(rows), self.edges, rows)
        if cycle:
            self.cycles.append(frozenset(rows[name] for name in cycle))
        return shifts


def _may_be_forward(edge: Edge, rows: dict[str, Row]) -> bool:
    least = edge.least_distance(rows)
    return least is not None and (edge.source != edge.sink or least >= 0)


def least_shifts(
    statements: Sequence[str], edges: Sequence[Edge], rows: dict[str, Row]
) -> tuple[dict[str, int] | None, frozenset[str]]:
    """Compute the least shifts, at least 0, that leave no distance below 0.

    None when there are none, and the statements round a cycle that rules them out (a longest path in the graph of
    constraints: the shift of an edge's end >= the shift of its source - the least distance).
    """
    needed: dict[tuple[str, str], int] = {}
    for e in edges:
        least = e.least_distance(rows)
        if least is not None:
            needed[e.source, e.sink] = max(-least, needed.get((e.source, e.sink), -least))
    shifts = dict.fromkeys(statements, 0)
    longest = dict.fromkeys(statements, 0)  # what one step of a path without cycles adds at most
    for (_, sink), least in needed.items():
        longest[sink] = max(longest[sink], least)
    farthest = sum(longest.values())
    before: dict[str, str] = {}  # on the longest path to a statement
    changed = True
    while changed:
        changed = False
        for (source, sink), least in needed.items():
            if shifts[source] + least > shifts[sink]:
                shifts[sink] = shifts[source] + least
                before[sink] = source
                changed = True
                if shifts[sink] > farthest:
                    return None, _cycle(before, sink)
    return shifts, frozenset()


def _cycle(before: Mapping[str, str], name: str) -> frozenset[str]:
    """Return the statements round the cycle that the path to a statement comes from.

    Without a cycle no path is that long.
    """
    path: list[str] = []
    while name not in path:
        path.append(name)
        name = before[name]
    return frozenset(path[path.index(name) :])


def _connected(statements: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """Order the statements so that each comes after one that it depends on or that depends on it."""
    related = ((e.source, e.sink) for e in edges if e.source != e.sink)
    return reached(graph_of(statements, both_ways(related)), statements[0])


MOST_SERIAL = 12  # serial loops of one component that are looked at
MOST_EVALUATED = 120  # of those, in all, with what is left inside

Used = Mapping[str, frozenset[int]]


@dataclass(slots=True)
class Distribution:
    """The search for one Scop."""

    scop: Scop
    ranking: Ranking
    original: Tree | None = None
    left: int = MOST_EVALUATED
    _preferred: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self.original = original_tree(self.scop)
        except NoLoopTreeError:
            self.original = None
        for statement in self.scop.statements:
            around = rows_of(self.original, statement.name) if self.original else ()
            rows = [row for row, _ in around] or [Row(statement.name, i) for i in range(len(statement.iterators))]
            signs = {row.iterator: row.sign for row in reversed(rows) if row.iterator != CONSTANT}
            order = list(dict.fromkeys(row.iterator for row in rows if row.iterator != CONSTANT))
            order += [i for i in range(len(statement.iterators)) if i not in order]
            self._preferred[statement.name] = [(i, signs.get(i, 1)) for i in order]

    def run(self, edges: Sequence[Edge]) -> Tree:
        """Build a tree for everything, the prologue first and the epilogue last, each statement of these alone.

        Raises NoLoopTreeError where neither the search nor the order of the source gives one.
        """
        main = [s.name for s in self.scop.main]
        first, last = ([[name] for name in apart] for apart in (self.scop.prologue, self.scop.epilogue))
        groups = [*first, *components(main, among(edges, main)), *last]
        return in_sequence([self._outermost(names, among(edges, names)) for names in groups])

    def _outermost(self, names: Sequence[str], edges: Sequence[Edge]) -> Tree:
        found = self._component(names, edges, dict.fromkeys(names, frozenset()))
        if found is not None:
            return found
        if self.original is None:
            raise NoLoopTreeError(f"{self.scop.name}: no loop tree for {', '.join(names)}")
        return labelled(self.scop, restrict(self.original, names), list(edges))

    def _level(self, names: Sequence[str], edges: Sequence[Edge], used: Used) -> Tree | None:
        """Build the trees of these statements' components, in order; None where one of them finds no rows."""
        trees = []
        for component in components(names, edges):
            tree = self._component(component, among(edges, component), used)
            if tree is None:
                return None
            trees.append(tree)
        return in_sequence(trees)

    def _component(self, names: Sequence[str], edges: Sequence[Edge], used: Used) -> Tree | None:
        needed = [edge for edge in edges if not edge.relaxed]
        if len(names) == 1 and not needed:
            return self._free(names[0], edges, used)
        choices = {name: self._choices(name, used) for name in names}
        if not all(choices.values()):
            return None
        found = self._parallel(names, edges, choices) or self._parallel(names, needed, choices)
        for chosen in [found, *([rows] for rows in reversed(found))] if found else ():
            tree = self._inside(chosen, names, edges, used)
            if tree is not None or self.left <= 0:
                return tree
            self.left -= 1
        return self._serial(names, edges, choices, used)

    def _choices(self, name: str, used: Used) -> list[tuple[int, int]]:
        own = [(i, sign) for i, sign in self._preferred[name] if i not in used[name]]
        return own + [(i, -sign) for i, sign in own]

    def _inside(
        self, chosen: Sequence[Rows], names: Sequence[str], edges: Sequence[Edge], used: Used
    ) -> Tree | None:
        """Build the loops that were chosen, with what is left in them; None where that has no tree."""
        if not chosen:
            return self._level(names, edges, used)
        first, *rest = chosen
        taken = {r.statement: used[r.statement] | {r.iterator} for r in first}
        body = self._inside(rest, names, together(edges, first), taken)
        return None if body is None else loop_over(self.scop, first, edges, body)

    def _free(self, name: str, edges: Sequence[Edge], used: Used) -> Tree | None:
        """Nest all loops of a statement that depends on itself through a reduction at most.

        Parallel ones are outermost, then those of the reduction; the one for thread.x is last of its kind, or first
        where it is the reduction's.
        """
        rows = [Row(name, i) for i, _ in self._preferred[name] if i not in used[name]]
        parallel = [r for r in rows if all(e.distance({name: r}) == (0, 0) for e in edges)]
        others = [r for r in rows if r not in parallel]
        x = self.ranking.along_x(name, [r.iterator for r in parallel], [r.iterator for r in others])
        parallel.sort(key=lambda r: r.iterator == x)
        others.sort(key=lambda r: r.iterator != x)
        tree: Tree | None = Leaf(name)
        for row in reversed([*parallel, *others]):
            assert tree is not None
            tree = loop_over(self.scop, (row,), [] if row in parallel else edges, tree)
        return tree

    def _parallel(
        self, names: Sequence[str], edges: Sequence[Edge], choices: Mapping[str, Sequence[tuple[int, int]]]
    ) -> list[Rows]:
        """Choose loops that are parallel for all statements, no two of one iterator, the best for thread.x last."""
        found = list(parallel_rows(names, edges, choices))
        if not found:
            return []
        best = min(found, key=self.ranking.total)
        chosen: list[Rows] = []
        for rows in [best, *found]:
            if not any(_same_iterator(rows, other) for other in chosen):
                chosen.append(rows)
        return [*chosen[1:], best]

    def _serial(
        self,
        names: Sequence[str],
        edges: Sequence[Edge],
        choices: Mapping[str, Sequence[tuple[int, int]]],
        used: Used,
    ) -> Tree | None:
        """Find the serial loop with the fewest serial loops inside; of equals, the first one in the source."""
        needed = [edge for edge in edges if not edge.relaxed]
        found = list(islice(serial_rows(names, needed, choices), MOST_SERIAL))
        found.sort(key=lambda rows: len(together(needed, rows)))
        best: Tree | None = None
        for tree in self._evaluated(found, names, edges, used):
            if best is None or serial_loops(tree) < serial_loops(best):
                best = tree
            if self.left <= 0 or serial_loops(best)[0] == 1:
                break
        return best

    def _evaluated(
        self, found: Sequence[Rows], names: Sequence[str], edges: Sequence[Edge], used: Used
    ) -> Iterator[Tree]:
        for rows in found:
            self.left -= 1
            tree = self._inside([rows], names, edges, used)
            if tree is not None:
                yield tree


def _same_iterator(rows: Rows, other: Rows) -> bool:
    taken = {(row.statement, row.iterator) for row in other}
    return any((row.statement, row.iterator) in taken for row in rows)


def serial_loops(tree: Tree) -> tuple[int, ...]:
    """Count the serial loops around each statement, the largest number first."""
    counts = (sum(kind is Kind.SEQUENTIAL for _, kind in rows_of(tree, name)) for name in statements_of(tree))
    return tuple(sorted(counts, reverse=True))


def components(names: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    """Return the strongly connected components of the dependences, sources first, else in the given order."""
    position = {name: i for i, name in enumerate(names)}
    graph = graph_of(names, ((e.source, e.sink) for e in edges if not e.relaxed))
    found, order = condensed(graph)
    cycles = [sorted(members, key=position.__getitem__) for members in found]
    first = [position[members[0]] for members in cycles]
    return [cycles[k] for k in in_order(order, first.__getitem__)]
