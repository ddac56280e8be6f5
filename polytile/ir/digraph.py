"""Directed graphs of statements: who reaches whom, in which order, and what hangs together.

A package for graphs would serve, but importing networkx takes a tenth of a second, which is more than most compilations
spend on a stage.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

from polytile.diagnostics import InternalError

N = TypeVar("N", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Graph(Generic[N]):
    """Nodes in the order in which they were named; `graph[node]` are those that its edges lead to, each once."""

    _sinks: Mapping[N, Mapping[N, None]]

    def __iter__(self) -> Iterator[N]:
        return iter(self._sinks)

    def __len__(self) -> int:
        return len(self._sinks)

    def __getitem__(self, node: N) -> Iterable[N]:
        return self._sinks[node]

    def edges(self) -> Iterator[tuple[N, N]]:
        return ((source, sink) for source, sinks in self._sinks.items() for sink in sinks)

    def predecessors(self, node: N) -> list[N]:
        return [source for source, sinks in self._sinks.items() if node in sinks]


def graph_of(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> Graph[N]:
    """The graph of these nodes and edges; the ends of edges are nodes, too."""
    sinks: dict[N, dict[N, None]] = {node: {} for node in nodes}
    for source, sink in edges:
        sinks.setdefault(source, {})[sink] = None
        sinks.setdefault(sink, {})
    return Graph(sinks)


def both_ways(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """Each edge with the one back."""
    return [edge for a, b in edges for edge in ((a, b), (b, a))]


def reached(graph: Graph[N], start: N) -> list[N]:
    """A node and all that it reaches, the nearest first."""
    found = {start: None}
    order = [start]
    for node in order:  # which grows
        new = [sink for sink in graph[node] if sink not in found]
        found.update(dict.fromkeys(new))
        order += new
    return order


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
    graph = graph_of(nodes, edges)
    undirected = graph_of(graph, both_ways(graph.edges()))
    seen: set[N] = set()
    found = []
    for node in undirected:
        if node not in seen:
            found.append(set(reached(undirected, node)))
            seen |= found[-1]
    return found


def condensed(graph: Graph[N]) -> tuple[list[set[N]], Graph[int]]:
    """The sets of nodes that all reach one another, and the graph of their numbers, which has no cycles."""
    components = list(_strongly_connected(graph))
    number = {node: k for k, members in enumerate(components) for node in members}
    between = ((number[a], number[b]) for a, b in graph.edges() if number[a] != number[b])
    return components, graph_of(range(len(components)), between)


def _strongly_connected(graph: Graph[N]) -> Iterator[set[N]]:
    """Tarjan's algorithm, without recursion: a component is known when the search leaves the first of its nodes."""
    number: dict[N, int] = {}  # in the order in which the search meets them
    low: dict[N, int] = {}  # the least number on the stack that a node was seen to reach
    stack: list[N] = []
    for root in graph:
        path = [] if root in number else [(root, iter(graph[root]))]
        while path:
            node, sinks = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
            sink = next((s for s in sinks if s not in number), None)
            if sink is not None:
                path.append((sink, iter(graph[sink])))
                continue
            path.pop()
            low[node] = min([low[node], *(low[s] for s in graph[node] if s in low)])
            if low[node] == number[node]:
                members = {node}
                while (member := stack.pop()) != node:
                    members.add(member)
                for member in members:
                    del low[member]
                yield members


def in_order(graph: Graph[N], key: Callable[[N], Any]) -> list[N]:
    """The nodes, sources first; of those that may come next, the one with the least key.

    Raises InternalError when there is a cycle.
    """
    place = {node: i for i, node in enumerate(graph)}  # decides between equal keys
    missing = _numbers_of_predecessors(graph)
    ready = [(key(node), place[node], node) for node in graph if not missing[node]]
    heapify(ready)
    found = []
    while ready:
        node = heappop(ready)[2]
        found.append(node)
        for sink in graph[node]:
            missing[sink] -= 1
            if not missing[sink]:
                heappush(ready, (key(sink), place[sink], sink))
    if len(found) < len(graph):
        raise InternalError("what should have an order has a cycle")
    return found


def edge_of_a_cycle(graph: Graph[N]) -> tuple[N, N] | None:
    """The least edge of a cycle, if there is one."""
    done: set[N] = set()
    for root in graph:
        path = {root: iter(graph[root])}  # from the root to where the search is
        while path:
            node = next(reversed(path))
            sink = next((s for s in path[node] if s not in done), None)
            if sink is None:
                done.add(node)
                del path[node]
            elif sink in path:
                order = list(path)
                cycle = order[order.index(sink) :]
                edges: list[Any] = list(zip(cycle, [*cycle[1:], sink], strict=True))
                source, sink = min(edges)
                return source, sink
            else:
                path[sink] = iter(graph[sink])
    return None


def generations(graph: Graph[N]) -> list[list[N]]:
    """The nodes without predecessors, then those that only these precede, and so on; the graph has no cycles."""
    missing = _numbers_of_predecessors(graph)
    found = []
    ready = [node for node in graph if not missing[node]]
    while ready:
        found.append(ready)
        following = []
        for sink in (sink for node in ready for sink in graph[node]):
            missing[sink] -= 1
            if not missing[sink]:
                following.append(sink)
        ready = following
    return found


def _numbers_of_predecessors(graph: Graph[N]) -> dict[N, int]:
    numbers = dict.fromkeys(graph, 0)
    for _, sink in graph.edges():
        numbers[sink] += 1
    return numbers


def merged(graph: Graph[N], kept: N, gone: N) -> Graph[N]:
    """The graph with one node in place of two, and without an edge to itself."""
    edges = ((kept if a == gone else a, kept if b == gone else b) for a, b in graph.edges())
    return graph_of((n for n in graph if n != gone), ((a, b) for a, b in edges if not a == b == kept))
