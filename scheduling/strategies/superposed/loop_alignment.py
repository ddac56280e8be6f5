"""Rows that the statements of one component could run in together: one iterator of each, by a constant apart.

The rows are found along the dependences: where one statement's iterator is chosen, a dependence with a distance that
is constant (for a parallel loop) or bounded from below (for a serial one) proposes the iterator, the direction and the
shift of the statement at its other end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.ir.digraph import both_ways, graph_of, reached
from polytile.scheduling.strategies.superposed.distances import Edge
from polytile.scheduling.strategies.superposed.loop_tree import Row

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
