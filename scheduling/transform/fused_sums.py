"""Sums that begin with an addend which is no product, so that each of their products is fused with an addition.

before: B[i] = c * (A[i - 1] + A[i + 1]) + d * E[i] + A[i];       a product, two fused ones and an addition
after:  B[i] = A[i] + c * (A[i - 1] + A[i + 1]) + d * E[i];       two fused multiply-adds

CUDA's compilers fuse a * b + c where it stands, and never change the order of additions themselves. This changes it,
and so the last digits: strict arithmetic keeps sums as they are. heat-3d of PolyBench, whose sums end with their plain
addend, needs 30 registers less with four points a thread of overlapped tiles (CUDA 13.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polytile.ir.expr import Access, Binary, Expr, Name, Stmt, rewrite
from polytile.ir.scop import Scop, Statement


def begin_with_addends(scop: Scop) -> Scop:
    """The Scop whose sums of floating-point products begin with a plain addend, if they have one."""
    statements = tuple(map(_changed, scop.statements))
    same = all(a is b for a, b in zip(statements, scop.statements, strict=True))
    return scop if same else replace(scop, statements=statements)


def _changed(statement: Statement) -> Statement:
    body = tuple(rewrite(stmt, _begun) for stmt in statement.body)
    return statement if body == statement.body else replace(statement, body=body)


def _begun(node: Expr | Stmt) -> Expr | Stmt:
    """A whole sum, or a part of one: the parts inside are changed before, and are then as they should be."""
    if not (isinstance(node, Binary) and node.op in "+-" and node.type.kind == "float"):
        return node
    (_, first), *terms = _terms(node)
    plain = next((k for k, (op, term) in enumerate(terms) if op == "+" and isinstance(term, Access | Name)), None)
    if plain is None or not (isinstance(first, Binary) and first.op == "*") or first.type != terms[plain][1].type:
        return node
    _, total = terms.pop(plain)
    for op, term in (("+", first), *terms):
        total = Binary(op, total, term, node.type)
    return total


def _terms(node: Expr) -> Iterator[tuple[str, Expr]]:
    """The terms of a sum in one type, from left to right, each with the operator in front of it."""
    if isinstance(node, Binary) and node.op in "+-" and node.type.kind == "float":
        if node.left.type == node.type:
            yield from _terms(node.left)
        else:
            yield "+", node.left
        yield node.op, node.right
    else:
        yield "+", node
