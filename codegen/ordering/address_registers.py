"""Registers of values and of the addresses that their accesses have in common.

before: v0 = A[(k * m + j) * n + i]; v1 = A[(k * m + j) * n + i + 1]; v2 = A[((k + 1) * m + j) * n + i]
after:  two addresses of 64 bits: of v0 and v1, of v2; each lives from its first access to its last
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from polytile.codegen.ordering.value_graph import Kind, ValueGraph, ValueNode
from polytile.machine import ADDRESS_BYTES, REGISTER_BYTES


def live_registers(graph: ValueGraph, sequence: Sequence[int]) -> int:
    """Return the most registers that values and addresses of 64 bits take at a time, when computed in this sequence."""
    last: dict[Hashable, int] = {}
    first: dict[Hashable, int] = {}
    for at, number in enumerate(sequence):
        node = graph.nodes[number]
        for operand in node.operands:
            last[operand] = at
        if (row := _row(node)) is not None:
            last[row] = at
            first.setdefault(row, at)
    live = most = 0
    for at, number in enumerate(sequence):
        node, row = graph.nodes[number], _row(graph.nodes[number])
        live += ADDRESS_BYTES // REGISTER_BYTES if row is not None and first[row] == at else 0
        most = max(most, live)
        live -= sum(graph.nodes[o].width for o in dict.fromkeys(node.operands) if last[o] == at)
        live -= ADDRESS_BYTES // REGISTER_BYTES if row is not None and last[row] == at else 0
        live += node.width if number in last else 0
        most = max(most, live)
    return most


def _row(node: ValueNode) -> Hashable:
    """Return what the addresses of an access have in common with those of its neighbours.

    None for what is in no memory.
    """
    match node.kind, node.key:
        case Kind.LOAD | Kind.STORE, (array, frozenset() as index, *_):
            return array, frozenset(item for item in index if item[0])
    return None
