"""Conditions that always hold, and index arithmetic that known ranges make simpler.

before: ti in 0 .. 31, n >= 32: if (ti < n) { A[(b * 32 + ti) % 32] = min(ti, n); }
after:  A[ti] = ti;  where (b * 32 + ti) % 32 is ti for b = 0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from polytile.dataclass import dataclass
from polytile.ir import arith
from polytile.ir.affine_facts import Facts
from polytile.ir.arith import known
from polytile.ir.def_use import assigned_names
from polytile.ir.expr import BOOL, COMPARISONS, Binary, Call, Expr, For, Literal, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.fold import fold_node
from polytile.ir.kernel import Kernel
from polytile.ir.polynomial import linear
from polytile.ir.ranges import Range
from polytile.ir.substitute import Body, Context, rewritten


def simplify(kernel: Kernel) -> Kernel:
    """Remove the guards that a kernel's ranges, its launch and its loops make superfluous."""
    return replace(kernel, body=simplified(kernel.body, kernel.known_ranges))


def simplified(body: Body, ranges: Iterable[Range] = ()) -> Body:
    """Remove superfluous guards from statements, within `ranges`."""
    return rewritten(body, _Simpler(Facts.of(ranges, frozenset(assigned_names(*body)))))


@dataclass(frozen=True, slots=True)
class _Simpler(Context):
    """Values are as short as facts allow."""

    facts: Facts

    def value(self, node: Any) -> Any:
        return rewrite(node, lambda n: _simpler(fold_node(n), self.facts))

    def behind(self, stmt: Stmt) -> Self:
        return replace(self, facts=self.facts.after(stmt))

    def where(self, condition: Expr, holds: bool) -> Self:
        return replace(self, facts=self.facts.where(condition, holds))

    def around(self, loop: For) -> Self:
        return replace(self, facts=self.facts.without(loop.iterator))

    def within(self, loop: For) -> Self:
        return replace(self, facts=self.facts.within(loop))


def _simpler(node: Any, facts: Facts) -> Any:
    match node:
        case Binary(op=op) if op in COMPARISONS:
            holds = facts.value(node)
            return node if holds is None else Literal(str(int(holds)), BOOL)
        case Binary(op="+" | "-", type=ctype) if ctype.kind == "int" and (form := linear(node)) is not None:
            return node if set(form) - {""} else arith.lift(form.get("", 0))
        case Binary(op="%" | "/" as op, left=x, right=y) if (by := known(y)) is not None and by > 0:
            return _divided(node, op, x, by, facts)
        case Call(function="min" | "max", arguments=(a, b)):
            return _extreme(node, a, b, facts)
        case Call(function="pmod()" | "floord" as function, arguments=(x, y)) if facts.positive(x):
            return _simpler(arith.mod(x, y) if function == "pmod()" else arith.div(x, y), facts)
    return node


def _divided(node: Binary, op: str, x: Expr, by: int, facts: Facts) -> Expr:
    """Fold a quotient or remainder of what is smaller than the divisor."""
    if facts.positive(x) and facts.value(Binary("<", x, arith.lift(by), BOOL)):
        return x if op == "%" else arith.lift(0)
    return node


def _extreme(node: Call, a: Expr, b: Expr, facts: Facts) -> Expr:
    """Fold a minimum or maximum of values whose order is known."""
    first, second = (a, b) if node.function == "min" else (b, a)
    if facts.value(Binary("<=", first, second, BOOL)):
        return a
    return b if facts.value(Binary("<=", second, first, BOOL)) else node
