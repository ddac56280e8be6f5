"""Whether two blocks compute the same: equal values in equal places, each read seeing the same store.

Values are numbered for both blocks in one table, from their leaves up; a load differs by the stores that may have
reached its element, and those by what they store and by what they come behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from polytile.codegen.ordering.value_graph import Kind, ValueGraph


def equivalent(one: ValueGraph, other: ValueGraph) -> bool:
    """Return whether both graphs store the same values, operation by operation.

    The order of stores and of the loads that these may change must be the same, too.
    """
    table: dict[Hashable, int] = {}
    return _stores(one, table) == _stores(other, table)


def _stores(graph: ValueGraph, table: dict[Hashable, int]) -> Counter[int]:
    """Return the numbers of the stores, in a table that grows."""
    numbers: list[int] = []
    for node in graph.nodes:
        place = node.key[:2] if node.kind is Kind.LOAD and isinstance(node.key, tuple) else node.key
        after = frozenset(numbers[n] for n in node.after)
        key = (node.kind, place, tuple(numbers[o] for o in node.operands), after)
        numbers.append(table.setdefault(key, len(table)))
    return Counter(numbers[n] for n in graph.stores)
