"""The longest runs of statements without branches, in which large bodies are ordered and addressed."""

from __future__ import annotations

from collections.abc import Callable

from polytile.codegen.ordering.address_registers import live_registers
from polytile.codegen.ordering.build_graph import NotStraightError, build_graph, is_straight
from polytile.codegen.ordering.value_graph import ValueGraph
from polytile.ir.expr import Access, Literal, Name, Stmt
from polytile.ir.expr_trees import walk, with_bodies
from polytile.ir.gpu_ops import Offset
from polytile.ir.kernel import Kernel

AUTO_SHARE = 0.75  # of the registers of a thread that values may take before a body is ordered
LEAST_OPERATIONS = 32  # of a block that is worth ordering
MOST_OPERATIONS = 4000  # that are ordered in a few seconds
LEAST_LIVE = 48  # registers of values and addresses: with fewer, enough threads run at once
Body = tuple[Stmt, ...]
_LEAVES = (Access, Literal, Name)


def is_large(graph: ValueGraph) -> bool:
    """Return whether a block is worth ordering, and can be ordered in a few seconds."""
    return LEAST_OPERATIONS <= graph.operations <= MOST_OPERATIONS


def is_small(run: Body) -> bool:
    """Return whether a block is not worth ordering, whatever its graph is.

    Statements may add operations and conversions to it.
    """
    operations = sum(3 if isinstance(node, Stmt) else not isinstance(node, _LEAVES) for node in walk(*run))
    return operations < LEAST_OPERATIONS


def large_graphs(kernel: Kernel) -> tuple[ValueGraph, ...]:
    """Return the value graphs of a kernel's large blocks, in their order."""
    found: list[ValueGraph] = []

    def look(run: Body, behind: Body) -> Body:
        if is_small(run):
            return run
        try:
            graph = build_graph(kernel, run, behind).graph
        except NotStraightError:
            return run
        found.extend([graph] if is_large(graph) else [])
        return run

    each_block(kernel.body, look)
    return tuple(found)


def each_block(body: Body, change: Callable[[Body, Body], Body]) -> Body:
    """Change the longest runs of straight statements of a body, each given the statements that follow it."""
    found: list[Stmt] = []
    at = 0
    while at < len(body):
        end = at
        while end < len(body) and is_straight(body[end]):
            end += 1
        if end == at:
            found.append(with_bodies(body[at], lambda inner: each_block(inner, change)))
            end = at + 1
        else:
            found += change(body[at:end], body[end:])
        at = end
    return tuple(found)


def is_short_of_registers(kernel: Kernel, registers: int) -> bool:
    """Return whether a large block takes more than these registers for values and addresses in text order.

    Where there are offsets, it did.
    """
    offsets = any(isinstance(node, Offset) for node in kernel.nodes)
    return offsets or any(live_registers(graph, graph.order) > registers for graph in large_graphs(kernel))
