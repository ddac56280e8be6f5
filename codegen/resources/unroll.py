"""Unrolling: registers get constant subscripts.

before: for (int v = 0; v < 2; ++v) x[v] = v == 0 ? l : y[v - 1];                      unroll = 0
after:  x[0] = l; x[1] = y[0];
"""

from __future__ import annotations

from dataclasses import replace

from polytile.diagnostics import InternalError
from polytile.ir.expr import For, If, Scope, Stmt
from polytile.ir.fold import constant
from polytile.ir.kernel import Kernel
from polytile.ir.substitute import Body, block, braces, count_nodes, substituted
from polytile.ir.trip_count import trip_values

LIMIT = 200_000  # nodes of one unrolled loop


def unroll(kernel: Kernel) -> Kernel:
    """Unroll a kernel's `unroll = 0` loops of constant trips.

    Raises InternalError where that takes more than LIMIT nodes.
    """
    return replace(kernel, body=unrolled(kernel.body))


def unrolled(body: Body, limit: int = LIMIT) -> Body:
    """Unroll statements alone, as `unroll` does kernels."""
    return tuple(new for stmt in body for new in _unrolled(stmt, limit))


def _unrolled(stmt: Stmt, limit: int) -> Body:
    match stmt:
        case For():
            return _loop(stmt, limit)
        case If(then=then, otherwise=otherwise):
            return (replace(stmt, then=unrolled(then, limit), otherwise=unrolled(otherwise, limit)),)
        case Scope(body=body):
            return braces(unrolled(body, limit))
    return (stmt,)


def _loop(stmt: For, limit: int) -> Body:
    values = trip_values(stmt, limit) if stmt.unroll == 0 else None
    if values is None:
        return (replace(stmt, body=unrolled(stmt.body, limit)),)
    out: list[Stmt] = []
    size = 0
    for value in values:
        copy = block(unrolled(substituted(stmt.body, {stmt.iterator: constant(value, stmt.type)}), limit))
        size += count_nodes(copy)
        if size > limit:
            raise InternalError(f"unrolling the loop over {stmt.iterator} takes more than {limit} nodes")
        out += copy
    return tuple(out)
