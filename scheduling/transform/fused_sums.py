"""Sums that begin with an addend which is no product, so that each of their products is fused with an addition.

before: B[i] = c * (A[i - 1] + A[i + 1]) + d * E[i] + A[i];       a product, two fused ones and an addition
after:  B[i] = A[i] + c * (A[i - 1] + A[i + 1]) + d * E[i];       two fused multiply-adds

CUDA's compilers fuse a * b + c where it stands, and never change the order of additions themselves. This changes it,
and so the last digits: strict arithmetic keeps sums as they are. heat-3d of PolyBench, whose sums end with their plain
addend, needs 30 registers less with four points a thread of overlapped tiles (CUDA 13.0).
"""

from __future__ import annotations

from typing import TypeGuard

from polytile.ir.expr import Access, Binary, Expr, Name, Stmt
from polytile.ir.scop import Scop
from polytile.scheduling.transform.rewritten_bodies import with_rewritten_bodies


def begin_with_addends(scop: Scop) -> Scop:
    """Reorder the sums of floating-point products in a Scop to begin with a plain addend, if they have one."""
    return with_rewritten_bodies(scop, _begun)


def _begun(node: Expr | Stmt) -> Expr | Stmt:
    """Begin a sum, whose left side is in order already, with its last term where that is the first plain one."""
    if not _is_sum(node) or node.op != "+" or not isinstance(node.right, Access | Name):
        return node
    behind: list[Binary] = []
    first = node.left
    while _is_sum(first) and first.type == node.type:
        behind.append(first)
        first = first.left
    if not (isinstance(first, Binary) and first.op == "*") or first.type != node.right.type:
        return node
    total: Expr = Binary("+", node.right, first, node.type)
    for one in reversed(behind):
        total = Binary(one.op, total, one.right, node.type)
    return total


def _is_sum(node: object) -> TypeGuard[Binary]:
    return isinstance(node, Binary) and node.op in "+-" and node.type.kind == "float"
