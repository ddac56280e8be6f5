"""Directed graphs of statements: who reaches whom, in which order, and what hangs together."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias, TypeVar

from polytile.diagnostics import InternalError

N = TypeVar("N", bound=Hashable)
Graph: TypeAlias = Mapping[N, Mapping[N, None]]  # the nodes in their order, each with those that its edges lead to


def graph_of(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> Graph[N]:
    """Build the graph of these nodes and edges; the ends of edges are nodes, too."""
    sinks: dict[N, dict[N, None]] = {node: {} for node in nodes}
    for source, sink in edges:
        sinks.setdefault(source, {})[sink] = None
        sinks.setdefault(sink, {})
    return sinks


def edges_of(graph: Graph[N]) -> list[tuple[N, N]]:
    """Return the edges, those of the first node first."""
    return [(source, sink) for source, sinks in graph.items() for sink in sinks]


def both_ways(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """Return each edge followed by its reverse."""
    return [edge for a, b in edges for edge in ((a, b), (b, a))]


def reached(graph: Graph[N], start: N, without: Container[N] = ()) -> list[N]:
    """Return a node and all that it reaches on paths that avoid some nodes, the nearest first."""
    found, seen = [start], {start}
    for node in found:  # which grows
        new = [sink for sink in graph[node] if sink not in seen and sink not in without]
        seen.update(new)
        found += new
    return found


def has_path(graph: Graph[N], start: N, end: N) -> bool:
    """Return whether `start` reaches `end`; every node reaches itself."""
    return end in reached(graph, start)


def connected(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> list[set[N]]:
    """Return the weakly connected components, in the order of the first nodes."""
    given = graph_of(nodes, edges)
    around = graph_of(given, both_ways(edges_of(given)))
    found: list[set[N]] = []
    seen: set[N] = set()
    for node in given:
        if node not in seen:
            found.append(set(reached(around, node)))
            seen |= found[-1]
    return found


def condensed(graph: Graph[N]) -> tuple[list[set[N]], Graph[int]]:
    """Return the strongly connected components, and the acyclic graph of their numbers (Kosaraju)."""
    back = graph_of(graph, ((sink, source) for source, sink in edges_of(graph)))
    components: list[set[N]] = []
    number: dict[N, int] = {}
    for node in reversed(_finished(graph)):
        if node not in number:
            components.append(set(reached(back, node, number)))
            number |= dict.fromkeys(components[-1], len(components) - 1)
    edges = ((number[source], number[sink]) for source, sink in edges_of(graph))
    return components, graph_of(range(len(components)), ((a, b) for a, b in edges if a != b))


def in_order(graph: Graph[N], key: Callable[[N], Any]) -> list[N]:
    """Return the nodes in topological order; of those that may come next, the one with the least key.

    Raises InternalError when there is a cycle.
    """
    preferred = sorted(graph, key=key)
    place = {node: k for k, node in enumerate(preferred)}
    sorter = _sorter(graph)
    found: list[N] = []
    ready = [place[node] for node in sorter.get_ready()]
    heapify(ready)
    while ready:
        found.append(preferred[heappop(ready)])
        sorter.done(found[-1])
        for node in sorter.get_ready():
            heappush(ready, place[node])
    return found


def edge_of_a_cycle(graph: Graph[N]) -> tuple[N, N] | None:
    """Return the least edge that is part of a cycle, or None."""
    components, _ = condensed(graph)
    number = {node: k for k, members in enumerate(components) for node in members}
    return min(((a, b) for a, b in edges_of(graph) if number[a] == number[b]), default=None)


def generations(graph: Graph[N]) -> list[list[N]]:
    """Return the nodes without predecessors, then those that only these precede, and so on.

    Raises InternalError when there is a cycle.
    """
    place = {node: k for k, node in enumerate(graph)}
    sorter = _sorter(graph)
    found: list[list[N]] = []
    while ready := sorter.get_ready():
        found.append(sorted(ready, key=place.__getitem__))
        sorter.done(*ready)
    return found


def predecessors(graph: Graph[N], node: N) -> list[N]:
    """Return the nodes from which an edge leads to this one."""
    return [source for source, sinks in graph.items() if node in sinks]


def merged(graph: Graph[N], kept: N, gone: N) -> Graph[N]:
    """Merge node `gone` into `kept`, without an edge from it to itself."""
    ends = ((kept if a == gone else a, kept if b == gone else b) for a, b in edges_of(graph))
    return graph_of((node for node in graph if node != gone), ((a, b) for a, b in ends if a != b or a != kept))


def _sorter(graph: Graph[N]) -> TopologicalSorter[N]:
    """Return a topological sorter, which yields each node after its predecessors.

    Raises InternalError when there is a cycle.
    """
    sorter: TopologicalSorter[N] = TopologicalSorter(dict.fromkeys(graph, ()))
    for source, sink in edges_of(graph):
        sorter.add(sink, source)
    try:
        sorter.prepare()
    except CycleError:
        raise InternalError("what should have an order has a cycle") from None
    return sorter


def _finished(graph: Graph[N]) -> list[N]:
    """Return the nodes in the order in which a depth-first search leaves them (post-order)."""
    found: list[N] = []
    seen: set[N] = set()
    stack = [(node, False) for node in graph]
    while stack:
        node, leaves = stack.pop()
        if leaves:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            stack += ((node, True), *((sink, False) for sink in graph[node]))
    return found
