"""Bodies of statements in kernels that keep values of steps near the threads.

before: S0(t, i, j): A[(t + 1) % 2][i][j] = 0.5 * (A[t % 2][i][j - 1] + C[i][j])
after:  x1[0][v + 1] = 0.5 * (x0[1][v] + C[row - 1][left + v])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from polytile.codegen.lowering.instantiate import bind
from polytile.diagnostics import InternalError
from polytile.ir.arith import known
from polytile.ir.def_use import integer_divisors
from polytile.ir.expr import Access, Assign, Binary, CType, Expr, Name, Stmt
from polytile.ir.expr_trees import rewrite, statements, walk
from polytile.ir.scop import Scop, Statement


def instance(
    scop: Scop,
    statement: Statement,
    target: Access | Name,
    reads: Mapping[Access, Access],
    iterators: tuple[Expr, ...],
    integer: CType,
) -> tuple[Stmt, ...]:
    """Return an instance that writes to `target`, and whose accesses read elsewhere."""
    written = [n for n in statements(*statement.body) if isinstance(n, Assign) and isinstance(n.target, Access)]
    if len(written) != 1:
        raise InternalError(f"{statement.name} assigns to {len(written)} elements")
    divisors = walk(*integer_divisors(*statement.body))
    if any(isinstance(n, Access) and scop.written(n.array) for n in divisors):
        raise InternalError(f"{statement.name} divides integers by what steps make, which may be garbage")

    def change(node: Any) -> Any:
        if isinstance(node, Assign) and isinstance(node.target, Access):
            value = node.value
            if node.op:
                value = Binary(node.op, node.target, value, _common(node.target.type, value.type))
            return Assign(target, "", value, node.location)
        return reads.get(node, node) if isinstance(node, Access) else node

    body = tuple(rewrite(stmt, change) for stmt in statement.body)
    return bind(replace(statement, body=body), iterators, integer)


def _common(a: CType, b: CType) -> CType:
    """Return the type of an operation by C's usual arithmetic conversions."""
    return max((a, b), key=lambda t: (t.kind == "float", t.size, not t.signed))


def is_pure(scop: Scop, statement: Statement, loaded: Collection[Access] = ()) -> bool:
    """Return whether an instance can be run anywhere.

    It then reads no memory but what steps made or have `loaded`, and divides integers by constants alone.
    """
    for node in walk(*statement.body):
        if isinstance(node, Access) and node.subscripts and not scop.written(node.array) and node not in loaded:
            return False
    return all(known(divisor) for divisor in integer_divisors(*statement.body))
