"""Which accesses of a statement happen whenever it runs: those that no condition on data stands in front of.

    if (b[i] > 0) a[i] = a[i - 1];     b[i] is certain; a[i - 1] and a[i] are not
    c[i] = d[i] ? e[i] : 0;            d[i] and c[i] are certain
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polytile.diagnostics import InternalError
from polytile.ir.access_numbers import access_numbers
from polytile.ir.expr import (
    Access,
    Binary,
    Expr,
    For,
    If,
    Node,
    Scope,
    Stmt,
    Ternary,
    While,
    children,
    expressions,
    walk,
)
from polytile.ir.scop import Statement


def certain_numbers(statement: Statement) -> frozenset[int]:
    """The positions in `statement.accesses` of those that certainly touch the element that their relation has."""
    found: set[int] = set()
    for access in _certain(statement.body):
        found.update(numbers_of(statement, access))
    return frozenset(
        k
        for k in found
        if statement.accesses[k].writes or statement.accesses[k].relation.is_single_valued()
    )


def numbers_of(statement: Statement, access: Access) -> tuple[int, ...]:
    """The positions of an access in `statement.accesses`; none where its subscripts leave a choice."""
    try:
        return access_numbers(statement, access)
    except InternalError:
        return ()


def accesses_in(statement: Statement) -> Iterator[Access]:
    """The accesses in the body of a statement, in the order of the text."""
    return (node for node in walk(*statement.body) if isinstance(node, Access))


def _certain(body: Iterable[Stmt]) -> Iterator[Access]:
    """The accesses of some statements that run whenever these do."""
    for stmt in body:
        match stmt:
            case If(condition=condition) | While(condition=condition):
                yield from _evaluated(condition)
            case For(lower=lower, condition=condition):
                yield from _evaluated(lower)
                yield from _evaluated(condition)
            case Scope(body=inside):
                yield from _certain(inside)
            case _:
                for expr in expressions(stmt):
                    yield from _evaluated(expr)


def _evaluated(expr: Expr) -> Iterator[Access]:
    """The accesses that are made whenever an expression is evaluated."""
    if isinstance(expr, Access):
        yield expr
    parts: Iterable[Node] = children(expr)
    match expr:
        case Ternary(condition=condition):
            parts = (condition,)
        case Binary(op="&&" | "||", left=left):
            parts = (left,)
    for part in parts:
        if isinstance(part, Expr):
            yield from _evaluated(part)
