"""Statement instances: a body with its iterators bound to the values that a schedule gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.access_numbers import access_numbers
from polytile.ir.def_use import value_names
from polytile.ir.expr import (
    INT,
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
)
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Atomic
from polytile.ir.scop import Statement
from polytile.ir.substitute import with_values


def with_cells(statement: Statement, cells: Mapping[int, Access]) -> Statement:
    """Replace the accesses of these numbers in a statement by cells.

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
    """Bind the iterators of a statement to the values of one instance, and return its body.

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

    types = _CTypes(integer)
    body = tuple(types.of(with_values(s, inline)) for s in statement.body)
    if declared and len(body) == 1 and isinstance(body[0], Scope):
        body = body[0].body
    return (Scope((*declared, *body)),) if declared else body


@dataclass(frozen=True, slots=True)
class _CTypes:
    """Iterators and parameters keep the arithmetic of their types in C, where kernels have them as `integer`, wherever
    their values are used. Sums in subscripts are known to be in range; others may wrap around.

    before: A[i] = i / n + B[(p[i] + i) % 5]     i and n are size_t in the source, long in the kernel
    after:  A[i] = (size_t)i / (size_t)n + B[(p[i] + (size_t)i) % 5]
    before: A[k] = (k * 2654435761u) >> 28       k is int in the source, long in the kernel
    after:  A[k] = ((unsigned)k * 2654435761u) >> 28
    before: A[l] = l * l                         l is long in the source, int in the kernel
    after:  A[l] = (long)l * (long)l
    """

    integer: CType

    def of(self, node: Any) -> Any:
        match node:
            case Name(type=ctype) if _is_unsigned(ctype) or self._is_narrower(ctype):
                return Cast(ctype, node)
            case Access():
                own, inside = (tuple(map(self._subscript, s)) for s in (node.subscripts, node.inside))
                same = (own, inside) == (node.subscripts, node.inside)
                return node if same else replace(node, subscripts=own, inside=inside)
            case Address():
                return replace(node, target=self.of(node.target))
            case Unary() | Cast():
                return replace(node, operand=self.of(node.operand))
            case Binary(op=op, left=left, right=right):
                common = _common(op, left.type, right.type)
                return replace(node, left=self._operand(left, common), right=self._operand(right, common))
            case Ternary(condition=c, then=a, otherwise=b):
                return replace(
                    node,
                    condition=self.of(c),
                    then=self._operand(a, node.type),
                    otherwise=self._operand(b, node.type),
                )
            case Call() | Invoke():
                return replace(node, arguments=tuple(map(self.of, node.arguments)))
        return self._statement(node)

    def _statement(self, node: Any) -> Any:
        match node:
            case Assign(target=target, op=op, value=value):
                common = _common(op, target.type, value.type) if op else value.type
                target = self.of(target) if isinstance(target, Access) else target
                return replace(node, target=target, value=self._operand(value, common))
            case Atomic():
                return replace(node, target=self.of(node.target), value=self.of(node.value))
            case Declare() if node.value is not None:
                return replace(node, value=self.of(node.value))
            case Scope():
                return replace(node, body=self._all(node.body))
            case If():
                then, otherwise = self._all(node.then), self._all(node.otherwise)
                return replace(node, condition=self.of(node.condition), then=then, otherwise=otherwise)
            case For():
                return replace(node, body=self._all(node.body))
            case While():
                return replace(node, condition=self.of(node.condition), body=self._all(node.body))
        return node

    def _is_narrower(self, ctype: CType) -> bool:
        return ctype.kind == "int" and ctype.size > self.integer.size

    def _all(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(self.of, body))

    def _subscript(self, subscript: Expr) -> Expr:
        return subscript if _is_sum(subscript) else self.of(subscript)

    def _operand(self, operand: Expr, common: CType) -> Expr:
        """Cast an operand that C converts to an unsigned type, where the kernel's integers are wider than that."""
        converted: Expr = self.of(operand)
        signed = operand.type.kind == "int" and operand.type.signed
        if not (signed and _is_unsigned(common) and self.integer.size > operand.type.size):
            return converted
        names = (n for n in walk(operand) if isinstance(n, Name))
        return Cast(common, converted) if any(n.type.kind == "int" for n in names) else converted


def _is_unsigned(ctype: CType) -> bool:
    return ctype.kind == "int" and not ctype.signed


def _common(op: str, left: CType, right: CType) -> CType:
    """Return the integer type to which C converts both operands of an operator, or `int` where there is none."""
    if op in ("<<", ">>", "&&", "||") or not left.kind == right.kind == "int":
        return INT
    return max(INT, left, right, key=lambda ctype: (ctype.size, not ctype.signed))


def _is_sum(subscript: Expr) -> bool:
    """Return whether a subscript adds up names times constants and nothing else."""
    match subscript:
        case Name() | Literal():
            return True
        case Unary(op="-" | "+", operand=operand) | Cast(operand=operand):
            return _is_sum(operand)
        case Binary(op="+" | "-", left=left, right=right):
            return _is_sum(left) and _is_sum(right)
        case Binary(op="*", left=left, right=right):
            return _is_sum(left) and _is_sum(right) and Literal in (type(left), type(right))
    return False
