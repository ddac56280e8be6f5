"""Directed graphs of statements: who reaches whom, in which order, and what hangs together.

A few dozen nodes each: a library of graphs takes longer to import than all of them take.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView
from typing import Any, Generic, TypeVar

from polytile.diagnostics import InternalError

N = TypeVar("N", bound=Hashable)


class Graph(Generic[N]):
    """Nodes, and for each those that its edges lead to, both in the order in which they were added."""

    __slots__ = ("_sinks", "_sources")

    def __init__(self, nodes: Iterable[N] = (), edges: Iterable[tuple[N, N]] = ()) -> None:
        self._sinks: dict[N, dict[N, None]] = {}
        self._sources: dict[N, dict[N, None]] = {}
        for node in nodes:
            self._add(node)
        for source, sink in edges:
            self._add(source)
            self._add(sink)
            self._sinks[source][sink] = self._sources[sink][source] = None

    def _add(self, node: N) -> None:
        self._sinks.setdefault(node, {})
        self._sources.setdefault(node, {})

    def __iter__(self) -> Iterator[N]:
        return iter(self._sinks)

    def __getitem__(self, node: N) -> KeysView[N]:
        return self._sinks[node].keys()

    def successors(self, node: N) -> KeysView[N]:
        return self._sinks[node].keys()

    def predecessors(self, node: N) -> KeysView[N]:
        return self._sources[node].keys()

    @property
    def edges(self) -> Iterator[tuple[N, N]]:
        return ((source, sink) for source, sinks in self._sinks.items() for sink in sinks)


def graph_of(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> Graph[N]:
    """The graph of these nodes and edges; the ends of edges are nodes, too."""
    return Graph(nodes, edges)


def both_ways(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """Each edge with the one back."""
    return [edge for a, b in edges for edge in ((a, b), (b, a))]


def reached(graph: Graph[N], start: N) -> list[N]:
    """A node and all that it reaches, the nearest first."""
    found, left = {start: None}, deque([start])
    while left:
        for sink in graph[left.popleft()]:
            if sink not in found:
                found[sink] = None
                left.append(sink)
    return list(found)


def has_path(graph: Graph[N], start: N, end: N) -> bool:
    """Whether `start` reaches `end`; every node reaches itself."""
    seen, left = {start}, [start]
    while left:
        node = left.pop()
        if node == end:
            return True
        new = [n for n in graph[node] if n not in seen]
        seen.update(new)
        left += new
    return False


def connected(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> list[set[N]]:
    """What hangs together when edges lead both ways, in the order of the first nodes."""
    graph = Graph(nodes, both_ways(edges))
    found: list[set[N]] = []
    seen: set[N] = set()
    for node in graph:
        if node not in seen:
            found.append(set(reached(graph, node)))
            seen |= found[-1]
    return found


def condensed(graph: Graph[N]) -> tuple[list[set[N]], Graph[int]]:
    """The sets of nodes that all reach one another, and the graph of their numbers, which has no cycles."""
    components = list(_components(graph))
    number = {node: k for k, members in enumerate(components) for node in members}
    edges = ((number[a], number[b]) for a, b in graph.edges)
    return components, Graph(range(len(components)), ((a, b) for a, b in edges if a != b))


def _components(graph: Graph[N]) -> Iterator[set[N]]:
    """The strongly connected components, sinks first [Tarjan 1972]: `lowest` is the first node, by the order in which a
    search comes to them, that a node and what it has found lead back to."""
    place: dict[N, int] = {}
    lowest: dict[N, int] = {}
    waiting: list[N] = []  # for the first node of their component to be done
    for root in graph:
        ways = [] if root in place else [(root, iter(graph[root]))]
        while ways:
            node, sinks = ways[-1]
            if node not in place:
                place[node] = lowest[node] = len(place)
                waiting.append(node)
            new = next((sink for sink in sinks if sink not in place), None)
            if new is not None:
                ways.append((new, iter(graph[new])))
                continue
            ways.pop()
            lowest[node] = min([lowest[node], *(lowest[sink] for sink in graph[node] if sink in lowest)])
            if lowest[node] == place[node]:
                at = waiting.index(node) if waiting[-1] != node else len(waiting) - 1
                members = waiting[at:]
                del waiting[at:]
                for member in members:
                    del lowest[member]  # done: no later node belongs to it
                yield set(members)


def in_order(graph: Graph[N], key: Callable[[N], Any]) -> list[N]:
    """The nodes, sources first; of those that may come next, the one with the least key.

    Raises InternalError when there is a cycle.
    """
    number = {node: k for k, node in enumerate(graph)}
    left = {node: len(graph.predecessors(node)) for node in graph}
    ready = [(key(node), number[node], node) for node in graph if not left[node]]
    heapq.heapify(ready)
    found: list[N] = []
    while ready:
        *_, node = heapq.heappop(ready)
        found.append(node)
        for sink in graph[node]:
            left[sink] -= 1
            if not left[sink]:
                heapq.heappush(ready, (key(sink), number[sink], sink))
    if len(found) < len(number):
        raise InternalError("what should have an order has a cycle")
    return found


def edge_of_a_cycle(graph: Graph[N]) -> tuple[N, N] | None:
    """The least edge of a cycle, if there is one."""
    done: set[N] = set()
    for root in graph:
        ways = [] if root in done else [(root, iter(graph[root]))]
        path = [node for node, _ in ways]
        while ways:
            node, sinks = ways[-1]
            sink = next((s for s in sinks if s not in done), None)
            if sink is None:
                done.add(node)
                ways.pop()
                path.pop()
            elif sink in path:
                cycle = path[path.index(sink) :]
                return min(zip(cycle, [*cycle[1:], sink], strict=True))
            else:
                ways.append((sink, iter(graph[sink])))
                path.append(sink)
    return None


def generations(graph: Graph[N]) -> list[list[N]]:
    """The nodes without predecessors, then those that only these precede, and so on; the graph has no cycles."""
    left = {node: len(graph.predecessors(node)) for node in graph}
    found = [[node for node in graph if not left[node]]]
    while found[-1]:
        found.append([])
        for node in found[-2]:
            for sink in graph[node]:
                left[sink] -= 1
                found[-1] += [] if left[sink] else [sink]
    return found[:-1]


def merged(graph: Graph[N], kept: N, gone: N) -> Graph[N]:
    """The graph with one node in place of two, and without an edge to itself."""
    own = [(a, b) for a, b in graph.edges if gone not in (a, b)]
    moved = [*((a, kept) for a in graph.predecessors(gone)), *((kept, b) for b in graph[gone])]
    edges = [*own, *((a, b) for a, b in moved if gone not in (a, b) and a != b)]
    return Graph((node for node in graph if node != gone), edges)
