"""Quotients by square roots as products with reciprocal square roots, which GPUs have an instruction for.

before: B[i] = x[i] / sqrt(y[i]);       C[i] = 1.0f / sqrtf(z[i]);
after:  B[i] = x[i] * rsqrt(y[i]);      C[i] = rsqrtf(z[i]);

A root and a quotient are some 40 instructions in double precision and 25 in single, with branches to special cases;
CUDA's rsqrt is within one unit of the last digit, rsqrtf within two. Zeros, infinities and what is not a number give
the same as before.
"""

from __future__ import annotations

from dataclasses import replace

from polytile.ir.expr import Assign, Binary, Call, Expr, Stmt
from polytile.ir.scop import Scop
from polytile.scheduling.transform.constant_divisors import constant
from polytile.scheduling.transform.rewritten_bodies import with_rewritten_bodies

RECIPROCALS = {"sqrt": "rsqrt", "sqrtf": "rsqrtf"}


def multiply_by_reciprocal_roots(scop: Scop) -> Scop:
    """Replace quotients by square roots of their own type by products in a Scop."""
    return with_rewritten_bodies(scop, _multiplied)


def _multiplied(node: Expr | Stmt) -> Expr | Stmt:
    match node:
        case Binary(op="/", left=left, right=Call(function="sqrt" | "sqrtf") as root) if root.type == node.type:
            return _reciprocal(root) if constant(left) == 1 else Binary("*", left, _reciprocal(root), node.type)
        case Assign(op="/", target=target, value=Call(function="sqrt" | "sqrtf") as root) if root.type == target.type:
            return replace(node, op="*", value=_reciprocal(root))
    return node


def _reciprocal(root: Call) -> Call:
    return replace(root, function=RECIPROCALS[root.function])
