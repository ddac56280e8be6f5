"""Orders of a block among which the one with the fewest live registers is taken, of several kinds."""

from __future__ import annotations

from collections.abc import Iterator

from polytile.codegen.ordering.code_motion import interleave
from polytile.codegen.ordering.label_sweeps import sweep_orders
from polytile.codegen.ordering.list_scheduling import list_order
from polytile.codegen.ordering.tree_order import depth_first
from polytile.codegen.ordering.value_graph import ValueGraph, max_live
from polytile.codegen.ordering.window_sweeps import with_swept_parts


def candidate_orders(graph: ValueGraph, *, trees: bool, sweeps: bool) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield sequences of these kinds, each with its number of live registers first."""
    found: list[tuple[int, ...]] = []
    if trees:
        found += [depth_first(graph), list_order(graph)]
    if sweeps:
        found += sweep_orders(graph)
    pairs = [(max_live(graph, sequence), sequence) for sequence in dict.fromkeys(found)]
    yield from pairs
    best = min(pairs, key=lambda one: one[0], default=(0, graph.order))[1]
    for sequence in dict.fromkeys((best, graph.order)):
        moved = interleave(graph, sequence)
        yield max_live(graph, moved), moved


def swept_by_parts(graph: ValueGraph) -> tuple[int, ...]:
    """Return the source's order with parts of it swept."""
    return interleave(graph, with_swept_parts(graph, interleave(graph, graph.order)))
