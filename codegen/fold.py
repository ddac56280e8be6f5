"""Integer expressions without what adds nothing: sums and products with 0 and 1, constants added in two steps."""

from __future__ import annotations

from typing import Any

from polytile.ir.expr import Binary, Expr, Literal, Ternary, Unary, rewrite


def folded(expr: Expr) -> Expr:
    """The same value, shorter. Only for sizes in 64 bits, where reordering a sum overflows nothing.

    before: ((n >= 1 ? n - 1 : -1) + 1) * m * 1 + 0 * k
    after:  (n >= 1 ? n : 0) * m
    """
    result: Expr = rewrite(expr, _fold)
    return result


def constant(expr: Expr) -> int | None:
    """The value of an integer literal, perhaps with a sign."""
    match expr:
        case Literal(text=text) if text.removeprefix("-").isdigit():
            return int(text)
        case Unary(op="-", operand=Literal(text=text)) if text.isdigit():
            return -int(text)
    return None


def _fold(node: Any) -> Any:
    match node:
        case Binary(op="*"):
            return _product(node)
        case Binary(op="+" | "-"):
            return _sum(node)
    return node


def _product(node: Binary) -> Expr:
    for factor, other in ((node.left, node.right), (node.right, node.left)):
        match constant(factor):
            case 0:
                return factor
            case 1:
                return other
    return node


def _sum(node: Binary) -> Expr:
    added = constant(node.right)
    if added is None:
        return node.right if node.op == "+" and constant(node.left) == 0 else node
    return _plus(node.left, added if node.op == "+" else -added, node)


def _plus(expr: Expr, value: int, like: Binary) -> Expr:
    """`expr + value`."""
    known = constant(expr)
    if known is not None:
        return Literal(str(known + value), like.type)
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right) if (inner := constant(right)) is not None:
            return _plus(left, value + (inner if op == "+" else -inner), like)
        case Ternary(condition=condition, then=then, otherwise=otherwise, type=ctype):
            return Ternary(condition, _plus(then, value, like), _plus(otherwise, value, like), ctype)
    if value == 0:
        return expr
    return Binary("+" if value > 0 else "-", expr, Literal(str(abs(value)), like.type), like.type)
