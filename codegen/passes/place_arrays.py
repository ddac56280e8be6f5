"""The subscripts of contracted arrays, where each thread or block has a part of them.

before: int j = t + 64 * b + 32;  part[b][j % 64] += A[i][j];     the thread has every 32nd element, 0 <= t < 32
after:  int j = t + 64 * b + 32;  part[0][1] += A[i][j];          so that part[1] can be a register
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir import arith
from polytile.ir.expr import Access, Binary, Execution, Expr, For, If, Literal, Scope, Stmt, While
from polytile.ir.expr_trees import rewrite
from polytile.ir.fold import constant
from polytile.ir.gpu_ops import ThreadIndex
from polytile.ir.kernel import Kernel
from polytile.ir.linear_access import Known, behind, expanded
from polytile.ir.memory import Storage
from polytile.ir.polynomial import Linear, linear


def place_arrays(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Give arrays that live inside the kernel the cells that are planned, and no more."""
    threads = ((c.name, c.source.axis) for c in kernel.coordinates if isinstance(c.source, ThreadIndex))
    counts = {name: kernel.block["xyz".index(axis)] for name, axis in threads}
    body = Contracted(plan.placements, counts).addressed(kernel.body)
    return replace(kernel, body=body, storage=tuple(plan.placements.get(s.array, s) for s in kernel.storage))


@dataclass(frozen=True, slots=True)
class Contracted:
    """The homes of contracted arrays in one kernel; `coordinates` are those of its threads, with their numbers."""

    homes: Mapping[str, Storage]
    coordinates: Mapping[str, int]

    def addressed(self, body: tuple[Stmt, ...], known: Known | None = None) -> tuple[Stmt, ...]:
        """Subscript each array as its placement says; what it does not keep becomes 0, which no text mentions.

        `known` are the values of names declared around the statements.
        """
        known, found = known or {}, []
        for stmt in body:
            found.append(self._statement(stmt, known))
            known = behind(known, stmt)
        return tuple(found)

    def _statement(self, stmt: Stmt, known: Known) -> Stmt:
        def change(node: Any) -> Any:
            return self._access(node, known) if isinstance(node, Access) else node

        match stmt:
            case Scope() | Execution():
                return replace(stmt, body=self.addressed(stmt.body, known))
            case For():
                bounds = {"lower": rewrite(stmt.lower, change), "condition": rewrite(stmt.condition, change)}
                return replace(stmt, body=self.addressed(stmt.body, known), **bounds)
            case While():
                return replace(stmt, condition=rewrite(stmt.condition, change), body=self.addressed(stmt.body, known))
            case If():
                then, otherwise = (self.addressed(part, known) for part in (stmt.then, stmt.otherwise))
                return replace(stmt, condition=rewrite(stmt.condition, change), then=then, otherwise=otherwise)
        result: Stmt = rewrite(stmt, change)
        return result

    def _access(self, access: Access, known: Known) -> Access:
        home = self.homes.get(access.array)
        if home is None or home.keeps is None:
            return access
        strides = dict(zip(home.keeps, home.strides or (1,) * len(home.keeps), strict=True))
        subscripts = tuple(
            self._quotient(s, strides[i], known) if i in strides else Literal("0")
            for i, s in enumerate(access.subscripts)
        )
        return replace(access, subscripts=subscripts)

    def _quotient(self, subscript: Expr, stride: int, known: Known) -> Expr:
        """Divide a subscript, which is not negative, by a stride.

        The result is a number where all else is less than a stride.
        """
        low, high = self._range(expanded(subscript, known))
        if low is not None and high is not None and low // stride == high // stride:
            return constant(low // stride)
        if stride == 1:
            return subscript
        return Binary("/", subscript, Literal(str(stride)), subscript.type)

    def _range(self, subscript: Expr) -> tuple[int | None, int | None]:
        """Return the least and the greatest value of a linear form in the coordinates, or of its remainder.

        For a remainder, multiples of the divisor do not count.
        """
        match subscript:
            case Binary(op="%", left=value, right=divisor) if (by := arith.known(divisor)):
                form = linear(value)
                rest = None if form is None else {name: f % by for name, f in form.items() if f % by}
                low, high = self._bounds(rest)
                return (low, high) if high is not None and high < by else (None, None)
        return self._bounds(linear(subscript))

    def _bounds(self, form: Linear | None) -> tuple[int | None, int | None]:
        if form is None or any(name not in self.coordinates or f < 0 for name, f in form.items() if name):
            return None, None
        first = form.get("", 0)
        return first, first + sum(f * (self.coordinates[name] - 1) for name, f in form.items() if name)
