"""Operations apart from their operands: what is computed, of whatever is in the slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from polytile.ir.expr import Binary, Call, Cast, CType, Expr, Name, Unary
from polytile.ir.expr_trees import children

OPERAND = "#"  # begins the name of an operand in an operation


def operands_of(expr: Expr) -> Sequence[Expr]:
    """Return the operands of an operation."""
    if isinstance(expr, Binary):  # most operations
        return expr.left, expr.right
    return [e for e in children(expr) if isinstance(e, Expr)]


def slots_of(expr: Expr, types: Sequence[CType]) -> Expr | None:
    """Return an operation with slots of these types in place of operands, or None for another kind of value."""
    if isinstance(expr, Binary):
        return binary_slots(expr.op, expr.type, *types)
    return with_operands(expr, [Name(f"{OPERAND}{k}", ctype) for k, ctype in enumerate(types)])


@cache
def binary_slots(op: str, ctype: CType, left: CType, right: CType) -> Binary:
    """Return an operation on two slots of these types: always the same object, which knows its hash."""
    return Binary(op, Name(f"{OPERAND}0", left), Name(f"{OPERAND}1", right), ctype)


def with_operands(expr: Expr, operands: Sequence[Expr]) -> Expr | None:
    """Replace the operands of an operation; None for another kind of value."""
    match expr, operands:
        case (Unary() | Cast()), (operand,):
            return replace(expr, operand=operand)
        case Binary(), (left, right):
            return replace(expr, left=left, right=right)
        case Call(), _:
            return replace(expr, arguments=tuple(operands))
    return None
