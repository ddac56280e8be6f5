"""Loads of what nobody reads again, which go from the cache first.

before: double A_at0 = i < n ? A[i] : 0.0;
after:  double A_at0; A_at0 = i < n ? __ldcs(&A[i]) : 0.0;

Vectors, and names that are declared elsewhere, are loaded in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.ir.expr import BOOL, Access, Assign, Declare, Expr, Literal, Name, Stmt, Ternary
from polytile.ir.expr_trees import with_bodies
from polytile.ir.gpu_ops import Load
from polytile.ir.kernel import Kernel


def cache_hints(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Load what nobody reads again so that it leaves the cache first."""
    if not kernel.wanted_registers:
        return kernel
    return replace(kernel, body=streamed(kernel.body, plan.last_reads))


def streamed(body: tuple[Stmt, ...], arrays: AbstractSet[str]) -> tuple[Stmt, ...]:
    """Stream loads of these arrays' elements where a name is declared for them."""
    return tuple(s for stmt in body for s in _streamed(stmt, arrays)) if arrays else body


def _streamed(stmt: Stmt, arrays: AbstractSet[str]) -> Iterator[Stmt]:
    match stmt:
        case Load(source=source, cache="") if _is_of(source, arrays):
            yield replace(stmt, cache="streaming")
        case Declare(value=Expr() as value) if (found := _element(value, arrays)) is not None:
            yield Declare(stmt.name, stmt.type, None)
            yield Load((Name(stmt.name, stmt.type),), *found, stmt.location)
        case Assign(target=Name() as target, op="", value=value) if (found := _element(value, arrays)) is not None:
            yield Load((target,), *found, stmt.location)
        case _:
            yield with_bodies(stmt, lambda inner: streamed(inner, arrays))


def _element(value: Expr, arrays: AbstractSet[str]) -> tuple[Access, str, Expr | None] | None:
    """Return an element of these arrays that a value is, how to load it, and the guard beside a 0; else None."""
    match value:
        case Access() if _is_of(value, arrays):
            return value, "streaming", None
        case Ternary(condition=guard, then=Access() as source, otherwise=Literal()) if _is_of(source, arrays):
            return source, "streaming", guard
    return None


def _is_of(source: Access, arrays: AbstractSet[str]) -> bool:
    return source.array in arrays and source.field is None and source.type.kind != "struct" and source.type != BOOL
