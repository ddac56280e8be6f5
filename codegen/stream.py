"""Loads of what nobody reads again, which go from the cache first.

before: double A_at0 = i < n ? A[i] : 0.0;
after:  double A_at0; A_at0 = i < n ? __ldcs(&A[i]) : 0.0;
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from polytile.ir.device import Load
from polytile.ir.expr import BOOL, Access, Declare, Literal, Name, Stmt, Ternary, with_bodies


def streamed(body: tuple[Stmt, ...], arrays: AbstractSet[str]) -> tuple[Stmt, ...]:
    """The statements in which elements of these arrays that a name is declared for are loaded so."""
    return tuple(s for stmt in body for s in _streamed(stmt, arrays)) if arrays else body


def _streamed(stmt: Stmt, arrays: AbstractSet[str]) -> Iterator[Stmt]:
    match stmt:
        case Declare(value=Access() as source) if _is_of(source, arrays):
            guard = None
        case Declare(value=Ternary(condition=guard, then=Access() as source, otherwise=Literal())) if (
            _is_of(source, arrays)
        ):
            pass
        case _:
            yield with_bodies(stmt, lambda inner: streamed(inner, arrays))
            return
    yield Declare(stmt.name, stmt.type, None)
    yield Load((Name(stmt.name, stmt.type),), source, "streaming", guard, stmt.location)


def _is_of(source: Access, arrays: AbstractSet[str]) -> bool:
    return source.array in arrays and source.field is None and source.type.kind != "struct" and source.type != BOOL
