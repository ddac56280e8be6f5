"""Stores whose element is stored again before anything can read it.

before: F[i] = x; F[i] = x - y; F[i] = x - y - z;
after:  F[i] = x - y - z;

Compilers do so, too, but not where addresses are computed in a way that they do not see through.
"""

from __future__ import annotations

from dataclasses import replace

from polytile.codegen.ordering.value_graph import Kind, ValueGraph


def without_dead_stores(graph: ValueGraph) -> ValueGraph:
    """Eliminate dead stores from a graph; return the same one where there are none."""
    dead = _dead(graph)
    if not dead:
        return graph
    made, new, before = ValueGraph(), dict[int, int](), dict[int, tuple[int, ...]]()
    for number, node in enumerate(graph.nodes):
        after = tuple(dict.fromkeys(m for n in node.after for m in before.get(n, (new.get(n, -1),)) if m >= 0))
        if number in dead:
            before[number] = after  # whoever comes behind it comes behind these
            continue
        new[number] = made.add(replace(node, operands=tuple(new[o] for o in node.operands), after=after))
    made.names = {new[n]: name for n, name in graph.names.items() if n in new}
    return made


def _dead(graph: ValueGraph) -> set[int]:
    """Return the stores that another one of the same element follows, without a load between them that may read it."""
    read = {n for node in graph.nodes if node.kind is Kind.LOAD for n in node.after}
    found: set[int] = set()
    stored: set[object] = set()
    for number in reversed(graph.stores):
        key = graph.nodes[number].key
        if key in stored and number not in read:
            found.add(number)
        stored.add(key)
    return found
