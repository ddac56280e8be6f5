"""Graphs, held against their definitions by reachability."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytile.diagnostics import InternalError
from polytile.ir.digraph import (
    both_ways,
    condensed,
    connected,
    edge_of_a_cycle,
    generations,
    graph_of,
    has_path,
    in_order,
    merged,
    reached,
)

SIZE = 7
EDGES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)


def closure(edges: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """All (a, b) with a way from a to b; every node reaches itself (Warshall)."""
    found = {(n, n) for n in range(SIZE)} | set(edges)
    for k, a, b in product(range(SIZE), repeat=3):
        if (a, k) in found and (k, b) in found:
            found.add((a, b))
    return found


@given(EDGES)
def test_paths(edges: list[tuple[int, int]]) -> None:
    graph, paths = graph_of(range(SIZE), edges), closure(edges)
    for a, b in product(range(SIZE), repeat=2):
        assert has_path(graph, a, b) == ((a, b) in paths)
    assert set(reached(graph, 0)) == {n for n in range(SIZE) if (0, n) in paths}


@given(EDGES)
def test_the_nearest_come_first(edges: list[tuple[int, int]]) -> None:
    graph = graph_of(range(SIZE), edges)
    order = reached(graph, 0)
    assert order[0] == 0 and len(set(order)) == len(order)
    distance = {0: 0}
    for n in order:
        for sink in graph[n]:
            distance.setdefault(sink, distance[n] + 1)
    assert [distance[n] for n in order] == sorted(distance.values())


@given(EDGES)
def test_components(edges: list[tuple[int, int]]) -> None:
    paths = closure(edges)
    found, _ = condensed(graph_of(range(SIZE), edges))
    assert sorted(n for members in found for n in members) == list(range(SIZE))
    for members in found:
        first = min(members)
        assert members == {n for n in range(SIZE) if (first, n) in paths and (n, first) in paths}


@given(EDGES)
def test_what_hangs_together(edges: list[tuple[int, int]]) -> None:
    found = connected(range(SIZE), edges)
    paths = closure(both_ways(edges))
    least = {min(b for b in range(SIZE) if (a, b) in paths) for a in range(SIZE)}
    assert [min(members) for members in found] == sorted(least)
    assert all((a, b) in paths for members in found for a, b in product(members, repeat=2))
    assert sum(map(len, found)) == SIZE


@given(EDGES)
def test_orders_of_components(edges: list[tuple[int, int]]) -> None:
    components, graph = condensed(graph_of(range(SIZE), edges))
    number = {n: k for k, members in enumerate(components) for n in members}
    order = in_order(graph, lambda k: min(components[k]))
    assert sorted(order) == sorted(graph)
    levels = {k: level for level, nodes in enumerate(generations(graph)) for k in nodes}
    for a, b in edges:
        if number[a] != number[b]:
            assert order.index(number[a]) < order.index(number[b])
            assert levels[number[a]] < levels[number[b]]
    for k, level in levels.items():
        before = [levels[s] for s in graph if k in graph[s]]
        assert level == max(before, default=-1) + 1


def test_the_least_that_may_come_next_comes_next() -> None:
    graph = graph_of(range(5), [(4, 0), (3, 1)])
    assert in_order(graph, lambda n: n) == [2, 3, 1, 4, 0]


def test_a_cycle_has_no_order() -> None:
    with pytest.raises(InternalError, match="cycle"):
        in_order(graph_of((), [(0, 1), (1, 2), (2, 1)]), lambda n: n)
    with pytest.raises(InternalError, match="cycle"):
        generations(graph_of((), [(0, 1), (1, 2), (2, 1)]))


def test_a_graph_without_cycles() -> None:
    graph = graph_of(range(4), [(3, 1), (1, 0), (2, 0), (0, 0)])
    components, order = condensed(graph)
    assert sorted(components, key=min) == [{0}, {1}, {2}, {3}]
    levels = [[components[k] for k in level] for level in generations(order)]
    assert [sorted(level, key=min) for level in levels] == [[{2}, {3}], [{1}], [{0}]]
    assert in_order(order, lambda k: -min(components[k])) == [components.index({n}) for n in (3, 2, 1, 0)]
    assert edge_of_a_cycle(order) is None
    assert connected(range(5), [(0, 1), (1, 3)]) == [{0, 1, 3}, {2}, {4}]


@given(EDGES)
def test_the_edge_of_a_cycle(edges: list[tuple[int, int]]) -> None:
    found, paths = edge_of_a_cycle(graph_of(range(SIZE), edges)), closure(edges)
    assert found == min(((a, b) for a, b in edges if (b, a) in paths), default=None)


def test_one_node_in_place_of_two() -> None:
    graph = graph_of(range(4), [(0, 1), (1, 2), (2, 1), (2, 3)])
    found = merged(graph, 1, 2)
    assert {n: list(found[n]) for n in found} == {0: [1], 1: [3], 3: []}


@pytest.mark.slow
def test_a_long_chain() -> None:
    n = 50_000
    graph = graph_of((), [(k, k + 1) for k in range(n)])
    assert len(condensed(graph)[0]) == n + 1
    assert has_path(graph, 0, n) and not has_path(graph, 1, 0)
