"""Directed graphs of a few nodes: who reaches whom, in which order, and what hangs together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

from polytile.diagnostics import InternalError

N = TypeVar("N", bound=Hashable)
Graph = Mapping[N, Collection[N]]  # the successors of each node, in the order in which they were given


def graph_of(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> dict[N, dict[N, None]]:
    """The graph of these nodes and edges; the ends of edges are nodes, too."""
    found: dict[N, dict[N, None]] = {node: {} for node in nodes}
    for source, sink in edges:
        found.setdefault(source, {})[sink] = None
        found.setdefault(sink, {})
    return found


def both_ways(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """Each edge with the one back."""
    return [edge for a, b in edges for edge in ((a, b), (b, a))]


def reached(graph: Graph[N], start: N) -> list[N]:
    """A node and all that it reaches, the nearest first."""
    return _swept(graph, [start])[0]


def has_path(graph: Graph[N], start: N, end: N) -> bool:
    """Whether `start` reaches `end`; every node reaches itself."""
    found = {start}
    waiting = [start]
    while waiting and end not in found:
        new = [n for n in graph[waiting.pop()] if n not in found]
        found.update(new)
        waiting += new
    return end in found


def connected(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> list[list[N]]:
    """What hangs together when edges lead both ways, in the order of the first nodes."""
    graph = graph_of(nodes, both_ways(edges))
    return _swept(graph, graph)


def strong_components(graph: Graph[N]) -> list[list[N]]:
    """The sets of nodes that all reach one another [Kosaraju; Sharir 1981]."""
    backwards = graph_of(graph, ((sink, source) for source, sinks in graph.items() for sink in sinks))
    return _swept(backwards, reversed(_finished(graph)))


def _swept(graph: Graph[N], starts: Iterable[N]) -> list[list[N]]:
    """What each start reaches that no earlier one did, the nearest first."""
    done: set[N] = set()
    found = []
    for start in starts:
        if start in done:
            continue
        done.add(start)
        members = [start]
        for node in members:
            new = [n for n in graph[node] if n not in done]
            done.update(new)
            members += new
        found.append(members)
    return found


def _finished(graph: Graph[N]) -> list[N]:
    """The nodes in the order in which a depth-first search leaves them."""
    entered: set[N] = set()
    left: list[N] = []
    for start in graph:
        path = [(start, iter(graph[start]))] if start not in entered else []
        entered.add(start)
        while path:
            rest = path[-1][1]
            following = next((n for n in rest if n not in entered), None)
            if following is None:
                left.append(path.pop()[0])
            else:
                entered.add(following)
                path.append((following, iter(graph[following])))
    return left


def condensed(graph: Graph[N]) -> tuple[list[list[N]], dict[int, dict[int, None]]]:
    """The strong components, and the graph of their numbers, which has no cycles."""
    components = strong_components(graph)
    number = {node: k for k, members in enumerate(components) for node in members}
    edges = ((number[a], number[b]) for a, sinks in graph.items() for b in sinks)
    return components, graph_of(range(len(components)), ((a, b) for a, b in edges if a != b))


def in_order(graph: Graph[N], key: Callable[[N], Any]) -> list[N]:
    """The nodes, sources first; of those that may come next, the one with the least key (no two are the same).

    Raises InternalError when there is a cycle.
    """
    before = _incoming(graph)
    ready = [(key(node), node) for node, count in before.items() if count == 0]
    heapify(ready)
    found: list[N] = []
    while ready:
        _, node = heappop(ready)
        found.append(node)
        for sink in graph[node]:
            before[sink] -= 1
            if before[sink] == 0:
                heappush(ready, (key(sink), sink))
    if len(found) < len(graph):
        raise InternalError("what should have an order has a cycle")
    return found


def generations(graph: Graph[N]) -> list[list[N]]:
    """The nodes without predecessors, then those that only these precede, and so on; the graph has no cycles."""
    before = _incoming(graph)
    found = []
    current = [node for node, count in before.items() if count == 0]
    while current:
        found.append(current)
        following = []
        for node in current:
            for sink in graph[node]:
                before[sink] -= 1
                if before[sink] == 0:
                    following.append(sink)
        current = following
    return found


def _incoming(graph: Graph[N]) -> dict[N, int]:
    counts = dict.fromkeys(graph, 0)
    for sinks in graph.values():
        for sink in sinks:
            counts[sink] += 1
    return counts


def merged(graph: Graph[N], kept: N, gone: N) -> dict[N, dict[N, None]]:
    """The graph with one node in place of two, and without an edge to itself."""
    edges = ((a, b) for a, sinks in graph.items() for b in sinks)
    renamed = ((kept if a == gone else a, kept if b == gone else b) for a, b in edges)
    return graph_of((n for n in graph if n != gone), ((a, b) for a, b in renamed if a != b))
