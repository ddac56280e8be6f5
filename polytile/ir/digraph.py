"""Directed graphs of statements (of networkx): who reaches whom, in which order, and what hangs together.

networkx is imported with the first graph: what needs none should not wait a tenth of a second for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from polytile.diagnostics import InternalError

Graph = Any  # networkx's DiGraph
N = TypeVar("N", bound=Hashable)


def _networkx() -> Any:
    import networkx

    return networkx


def graph_of(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> Graph:
    """The graph of these nodes and edges; the ends of edges are nodes, too."""
    graph = _networkx().DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def both_ways(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """Each edge with the one back."""
    return [edge for a, b in edges for edge in ((a, b), (b, a))]


def reached(graph: Graph, start: N) -> list[N]:
    """A node and all that it reaches, the nearest first."""
    return [start, *(sink for _, sink in _networkx().bfs_edges(graph, start))]


def has_path(graph: Graph, start: N, end: N) -> bool:
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
    return list(_networkx().weakly_connected_components(graph_of(nodes, edges)))


def condensed(graph: Graph) -> tuple[list[set[Any]], Graph]:
    """The sets of nodes that all reach one another, and the graph of their numbers, which has no cycles."""
    components = list(_networkx().strongly_connected_components(graph))
    return components, _networkx().condensation(graph, components)


def in_order(graph: Graph, key: Callable[[Any], Any]) -> list[Any]:
    """The nodes, sources first; of those that may come next, the one with the least key.

    Raises InternalError when there is a cycle.
    """
    try:
        return list(_networkx().lexicographical_topological_sort(graph, key))
    except _networkx().NetworkXUnfeasible:
        raise InternalError("what should have an order has a cycle") from None


def edge_of_a_cycle(graph: Graph) -> tuple[Any, Any] | None:
    """The least edge of a cycle, if there is one."""
    nx = _networkx()
    if nx.is_directed_acyclic_graph(graph):
        return None
    source, sink = min(nx.find_cycle(graph))[:2]
    return source, sink


def generations(graph: Graph) -> list[list[Any]]:
    """The nodes without predecessors, then those that only these precede, and so on; the graph has no cycles."""
    return list(_networkx().topological_generations(graph))


def merged(graph: Graph, kept: N, gone: N) -> Graph:
    """The graph with one node in place of two, and without an edge to itself."""
    return _networkx().contracted_nodes(graph, kept, gone, self_loops=False)
