"""Statement instances: a body with its iterators bound to the values that a schedule gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytile.diagnostics import InternalError
from polytile.ir.access_numbers import access_numbers
from polytile.ir.def_use import value_names
from polytile.ir.expr import (
    Access,
    Address,
    Assign,
    Binary,
    Call,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    If,
    Invoke,
    Literal,
    Name,
    Scope,
    Stmt,
    Ternary,
    Unary,
    While,
    rewrite,
)
from polytile.ir.gpu_ops import Atomic
from polytile.ir.scop import Statement
from polytile.ir.substitute import with_values


def with_cells(statement: Statement, cells: Mapping[int, Access]) -> Statement:
    """The statement whose accesses of these numbers go to cells.

    before: C[i][j] += A[i][k]        cells {1: A_tile[16 * c2 + ti][c1]}
    after:  C[i][j] += A_tile[16 * c2 + ti][c1]

    An access without a number is never evaluated, and stays.
    """
    if not cells:
        return statement

    def change(node: Any) -> Any:
        numbers = access_numbers(statement, node) if isinstance(node, Access) else ()
        found = {cells.get(k) for k in numbers} or {None}
        if len(found) > 1:
            raise InternalError(f"an access of {statement.name} to {node.array} has several cells")
        return found.pop() or node

    return replace(statement, body=tuple(rewrite(stmt, change) for stmt in statement.body))


def bind(statement: Statement, values: Sequence[Expr], integer: CType) -> tuple[Stmt, ...]:
    """A statement's body for one instance.

    before: S0(8*bi + ti, k) with body A[i][j] = 0
    after:  { const int i = 8*bi + ti; A[i][k] = 0; }, or without braces when every value is a name already
    """
    declared: list[Stmt] = []
    inline: dict[str, Expr] = {}
    body_names = value_names(*statement.body)
    for iterator, value in zip(statement.iterators, values, strict=True):
        if isinstance(value, Name) and value.name == iterator:
            continue
        if iterator not in body_names:
            continue
        if isinstance(value, Literal):
            inline[iterator] = value
        else:
            declared.append(Declare(iterator, integer, value, statement.location))

    body = tuple(_with_c_types(with_values(s, inline)) for s in statement.body)
    if declared and len(body) == 1 and isinstance(body[0], Scope):
        body = body[0].body
    return (Scope((*declared, *body)),) if declared else body


def _with_c_types(node: Any) -> Any:
    """Unsigned iterators and parameters keep their arithmetic where their values are used; subscripts are known to be
    in range.

    before: A[i] = i / n                         i and n are size_t in the source, long in the kernel
    after:  A[i] = (size_t)i / (size_t)n
    """
    match node:
        case Access() | Address():
            return node
        case Name(type=ctype) if ctype.kind == "int" and not ctype.signed:
            return Cast(ctype, node)
        case Unary() | Cast():
            return replace(node, operand=_with_c_types(node.operand))
        case Binary():
            return replace(node, left=_with_c_types(node.left), right=_with_c_types(node.right))
        case Ternary():
            c, a, b = (_with_c_types(n) for n in (node.condition, node.then, node.otherwise))
            return replace(node, condition=c, then=a, otherwise=b)
        case Call() | Invoke():
            return replace(node, arguments=tuple(_with_c_types(a) for a in node.arguments))
        case Assign() | Atomic():
            return replace(node, value=_with_c_types(node.value))
        case Declare() if node.value is not None:
            return replace(node, value=_with_c_types(node.value))
        case Scope():
            return replace(node, body=tuple(_with_c_types(s) for s in node.body))
        case If():
            then, otherwise = (tuple(_with_c_types(s) for s in b) for b in (node.then, node.otherwise))
            return replace(node, condition=_with_c_types(node.condition), then=then, otherwise=otherwise)
        case For():
            return replace(node, body=tuple(_with_c_types(s) for s in node.body))
        case While():
            body = tuple(_with_c_types(s) for s in node.body)
            return replace(node, condition=_with_c_types(node.condition), body=body)
    return node
