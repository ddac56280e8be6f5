"""Directed graphs of statements: who reaches whom, in which order, and what hangs together.

networkx is asked for the cycles of graphs that have some, and for orders that are not simply those of the keys. It is
imported with the first such question, which takes a tenth of a second: most programs have none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from polytile.diagnostics import InternalError

N = TypeVar("N", bound=Hashable)
Graph: TypeAlias = Mapping[N, Mapping[N, None]]  # the nodes in their order, each with those that its edges lead to


def graph_of(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> Graph[N]:
    """The graph of these nodes and edges; the ends of edges are nodes, too."""
    sinks: dict[N, dict[N, None]] = {node: {} for node in nodes}
    for source, sink in edges:
        sinks.setdefault(source, {})[sink] = None
        sinks.setdefault(sink, {})
    return sinks


def edges_of(graph: Graph[N]) -> list[tuple[N, N]]:
    """The edges, those of the first node first."""
    return [(source, sink) for source, sinks in graph.items() for sink in sinks]


def both_ways(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """Each edge with the one back."""
    return [edge for a, b in edges for edge in ((a, b), (b, a))]


def reached(graph: Graph[N], start: N) -> list[N]:
    """A node and all that it reaches, the nearest first."""
    found, seen = [start], {start}
    for node in found:  # which grows
        new = [sink for sink in graph[node] if sink not in seen]
        seen.update(new)
        found += new
    return found


def has_path(graph: Graph[N], start: N, end: N) -> bool:
    """Whether `start` reaches `end`; every node reaches itself."""
    return end in reached(graph, start)


def connected(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> list[set[N]]:
    """What hangs together when edges lead both ways, in the order of the first nodes."""
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
    """The sets of nodes that all reach one another, and the graph of their numbers, which has no cycles."""
    components = [{node} for node in graph]
    if _topological(graph) is None:
        components = list(_networkx().strongly_connected_components(_of_networkx(graph)))
    number = {node: k for k, members in enumerate(components) for node in members}
    edges = ((number[source], number[sink]) for source, sink in edges_of(graph))
    return components, graph_of(range(len(components)), ((a, b) for a, b in edges if a != b))


def in_order(graph: Graph[N], key: Callable[[N], Any]) -> list[N]:
    """The nodes, sources first; of those that may come next, the one with the least key.

    Raises InternalError when there is a cycle.
    """
    preferred = sorted(graph, key=key)
    place = {node: k for k, node in enumerate(preferred)}
    if all(place[source] < place[sink] for source, sink in edges_of(graph)):
        return preferred
    try:
        return list(_networkx().lexicographical_topological_sort(_of_networkx(graph), key))
    except _networkx().NetworkXUnfeasible:
        raise InternalError("what should have an order has a cycle") from None


def edge_of_a_cycle(graph: Graph[N]) -> tuple[N, N] | None:
    """The least edge of a cycle, if there is one."""
    if _topological(graph) is not None and not any(node in sinks for node, sinks in graph.items()):
        return None
    source, sink = min(_networkx().find_cycle(_of_networkx(graph)))[:2]
    return source, sink


def generations(graph: Graph[N]) -> list[list[N]]:
    """The nodes without predecessors, then those that only these precede, and so on; the graph has no cycles."""
    levels = dict.fromkeys(graph, 0)
    for node in _topological(graph) or ():
        for sink in graph[node]:
            levels[sink] = max(levels[sink], levels[node] + 1)
    return [[node for node in graph if levels[node] == level] for level in sorted(set(levels.values()))]


def predecessors(graph: Graph[N], node: N) -> list[N]:
    """The nodes from which an edge leads to this one."""
    return [source for source, sinks in graph.items() if node in sinks]


def merged(graph: Graph[N], kept: N, gone: N) -> Graph[N]:
    """The graph with one node in place of two, and without an edge to itself."""
    ends = ((kept if a == gone else a, kept if b == gone else b) for a, b in edges_of(graph))
    return graph_of((node for node in graph if node != gone), ((a, b) for a, b in ends if a != b or a != kept))


def _topological(graph: Graph[N]) -> list[N] | None:
    """The nodes, sources first (Kahn); None where there is a cycle of several nodes."""
    left = dict.fromkeys(graph, 0)
    for source, sink in edges_of(graph):
        left[sink] += source != sink
    found = [node for node, before in left.items() if not before]
    for node in found:  # which grows
        for sink in graph[node]:
            left[sink] -= sink != node
            if not left[sink] and sink != node:
                found.append(sink)
    return found if len(found) == len(graph) else None


def _networkx() -> Any:
    import networkx

    return networkx


def _of_networkx(graph: Graph[N]) -> Any:
    found = _networkx().DiGraph()
    found.add_nodes_from(graph)
    found.add_edges_from(edges_of(graph))
    return found
