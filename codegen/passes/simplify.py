"""Conditions that always hold, and index arithmetic that known ranges make simpler.

before: ti in 0 .. 31, n >= 32: if (ti < n) { A[(b * 32 + ti) % 32] = min(ti, n); }
after:  A[ti] = ti;  where (b * 32 + ti) % 32 is ti for b = 0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from polytile.codegen.linear import linear
from polytile.codegen.passes.constants import Body, assigned_names, block, fold_node, settled, substituted_expr
from polytile.codegen.passes.facts import Facts, of_launch
from polytile.codegen.passes.flow import after, start, within
from polytile.ir import arith
from polytile.ir.arith import known
from polytile.ir.device import AsyncCopy, Load, Store
from polytile.ir.expr import BOOL, Binary, Call, Expr, For, If, Literal, Scope, Stmt, rewrite
from polytile.ir.kernel import Kernel
from polytile.ir.ranges import Range

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def simplify(kernel: Kernel) -> Kernel:
    """The kernel without guards that its ranges, its launch and its loops make superfluous."""
    ranges = of_launch(kernel.ranges, kernel.coordinates, kernel.block)
    return replace(kernel, body=simplified(kernel.body, ranges))


def simplified(body: Body, ranges: Iterable[Range] = ()) -> Body:
    """The same for statements, within `ranges`."""
    changing = frozenset(name for stmt in body for name in assigned_names(stmt))
    return _Simplifier().block(body, start(ranges, changing))


@dataclass(frozen=True, slots=True)
class _Simplifier:
    def block(self, body: Body, facts: Facts) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            out += self._statement(stmt, facts)
            facts = after(stmt, facts)
        return tuple(out)

    def _statement(self, stmt: Stmt, facts: Facts) -> Body:
        match stmt:
            case If():
                return self._branch(stmt, facts)
            case For():
                return self._loop(stmt, facts)
            case Scope(body=body):
                inside = self.block(body, facts)
                return (Scope(inside),) if inside else ()
            case Load() | Store() | AsyncCopy():
                return settled(_rewritten(stmt, facts))
        return (_rewritten(stmt, facts),)

    def _branch(self, stmt: If, facts: Facts) -> Body:
        condition = simplified_expr(stmt.condition, facts)
        then = self.block(stmt.then, facts.where(stmt.condition))
        otherwise = self.block(stmt.otherwise, facts.where(stmt.condition, holds=False))
        holds = known(condition)
        if holds is not None:
            return block(then if holds else otherwise)
        return (replace(stmt, condition=condition, then=then, otherwise=otherwise),) if then or otherwise else ()

    def _loop(self, stmt: For, facts: Facts) -> Body:
        lower = simplified_expr(stmt.lower, facts)
        outside = facts.without(stmt.iterator)
        condition = simplified_expr(stmt.condition, outside)
        if facts.value(substituted_expr(condition, {stmt.iterator: lower})) is False:
            return ()
        body = self.block(stmt.body, within(replace(stmt, lower=lower), facts))
        return (replace(stmt, lower=lower, condition=condition, body=body),)


def simplified_expr(expr: Expr, facts: Facts) -> Expr:
    """The same value where the facts hold."""
    return _rewritten(expr, facts)  # type: ignore[no-any-return]


def _rewritten(node: Any, facts: Facts) -> Any:
    return rewrite(node, lambda n: _simpler(fold_node(n), facts))


def _simpler(node: Any, facts: Facts) -> Any:
    match node:
        case Binary(op=op) if op in _COMPARISONS:
            holds = facts.value(node)
            return node if holds is None else Literal(str(int(holds)), BOOL)
        case Binary(op="+" | "-", type=ctype) if ctype.kind == "int" and (form := linear(node)) is not None:
            return node if set(form) - {""} else arith.lift(form.get("", 0))
        case Binary(op="%" | "/" as op, left=x, right=y) if (by := known(y)) is not None and by > 0:
            return _divided(node, op, x, by, facts)
        case Call(function="min" | "max", arguments=(a, b)):
            return _extreme(node, a, b, facts)
        case Call(function="pmod" | "floord" as function, arguments=(x, y)) if facts.positive(x):
            return _simpler(arith.mod(x, y) if function == "pmod" else arith.div(x, y), facts)
    return node


def _divided(node: Binary, op: str, x: Expr, by: int, facts: Facts) -> Expr:
    """A quotient or remainder of what is smaller than the divisor."""
    if facts.positive(x) and facts.value(Binary("<", x, arith.lift(by), BOOL)):
        return x if op == "%" else arith.lift(0)
    return node


def _extreme(node: Call, a: Expr, b: Expr, facts: Facts) -> Expr:
    """A minimum or maximum of values whose order is known."""
    first, second = (a, b) if node.function == "min" else (b, a)
    if facts.value(Binary("<=", first, second, BOOL)):
        return a
    return b if facts.value(Binary("<=", second, first, BOOL)) else node
