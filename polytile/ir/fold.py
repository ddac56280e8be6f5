"""Integer expressions with everything known computed: constants, what adds nothing, choices that are decided.

before: (v == 0 ? l : x[v - 1]) with v = 0;   ((n >= 1 ? n - 1 : -1) + 1) * m * 1 + 0 * k
after:  l;                                    (n >= 1 ? n : 0) * m
"""

from __future__ import annotations

from typing import Any

from polytile.ir import arith
from polytile.ir.arith import known
from polytile.ir.expr import (
    BOOL,
    COMPARISONS,
    INT,
    LLONG,
    TRUTHS,
    Binary,
    Call,
    Cast,
    CType,
    Expr,
    Literal,
    Ternary,
    Unary,
)
from polytile.ir.expr_trees import rewrite

_WIDEST = 2**63


def folded(expr: Expr) -> Expr:
    """Return the same value, shorter.

    Floating-point operations are left alone, and integers that 64 bits do not hold.

    A constant that is added to another one overflows nowhere new.
    """
    result: Expr = rewrite(expr, fold_node)
    return result


def constant(value: int, ctype: CType = INT) -> Expr:
    """Return a literal of this type, or of 64 bits where it needs them."""
    if ctype.size < 8 or ctype.kind != "int":
        return arith.lift(value)
    literal = Literal(f"{abs(value)}LL", LLONG)
    return literal if value >= 0 else Unary("-", literal, LLONG)


def fold_node(node: Any) -> Any:
    """Fold one node whose children are folded."""
    match node:
        case Binary(op=op, left=left, right=right) if _countable(left) and _countable(right):
            return _truth(op, left, right, node) if op in TRUTHS else _arithmetic(node)
        case Ternary(condition=condition, then=then, otherwise=otherwise) if (holds := known(condition)) is not None:
            return _as_type(then if holds else otherwise, node.type)
        case Unary(op=op, operand=operand) if _countable(operand) and (value := known(operand)) is not None:
            return _unary(op, value, node)
        case Cast(type=ctype, operand=operand) if ctype in (INT, LLONG) and (value := known(operand)) is not None:
            return constant(value, ctype) if -(2**31) < value < 2**31 or ctype == LLONG else node
        case Call(function="min" | "max" | "floord" | "pmod()"):
            return _helper(node)
    return node


def _countable(expr: Expr) -> bool:
    """Return whether a value computes like Python's integers, where it does not overflow."""
    ctype = expr.type
    return ctype.kind == "int" and (ctype.signed or ctype.size < 4)


def _as_type(result: Expr, ctype: CType) -> Expr:
    """Return the result with the type that C gives the operation: it decides how a product around is computed."""
    if result.type == ctype or (result.type.kind == ctype.kind == "int" and result.type.size >= ctype.size):
        return result
    if ctype.kind == "int" and ctype.size <= 4:
        return result
    value = known(result)
    return constant(value, ctype) if value is not None and ctype.kind == "int" else Cast(ctype, result)


def _unary(op: str, value: int, node: Unary) -> Expr:
    match op:
        case "!":
            return Literal(str(int(not value)), BOOL)
        case "~":
            return constant(~value, node.operand.type)
        case "-" if not isinstance(node.operand, Literal):
            return constant(-value, node.operand.type)
        case "-":
            return node
    return node.operand


def _truth(op: str, left: Expr, right: Expr, node: Binary) -> Expr:
    if op in COMPARISONS:
        both_known = known(left) is not None and known(right) is not None
        return arith.compare(op, left, right) if both_known else node
    decisive = op == "||"
    for one, other in ((left, right), (right, left)):
        value = known(one)
        if value is not None:
            return Literal(str(int(decisive)), BOOL) if bool(value) == decisive else _boolean(other)
    return node


def is_truth(expr: Expr) -> bool:
    """Return whether a value is 0 or 1."""
    match expr:
        case Binary(op="&" | "|" | "^", left=left, right=right):
            return is_truth(left) and is_truth(right)
        case Binary(op=op):
            return op in TRUTHS
        case Unary(op="!"):
            return True
    return expr.type == BOOL or known(expr) in (0, 1)


def _boolean(expr: Expr) -> Expr:
    return expr if is_truth(expr) else Binary("!=", expr, Literal("0"), BOOL)


def _arithmetic(node: Binary) -> Expr:
    wide = max((node.left.type, node.right.type, INT), key=lambda t: t.size)
    result = _combined(node.op, node.left, node.right)
    if result is None or abs(known(result) or 0) >= _WIDEST:
        return node
    return _as_type(result, wide)


def _combined(op: str, left: Expr, right: Expr) -> Expr | None:
    x, y = known(left), known(right)
    match op:
        case "+" | "-" if y is not None:
            return _plus(left, y if op == "+" else -y)
        case "+" if x is not None:
            return _plus(right, x)
        case "*" if 0 in (x, y):
            return left if x == 0 else right
        case "*" if x is not None or y is not None:
            return _times(left, right)
        case "/" | "%" if y == 1:
            return left if op == "/" else arith.lift(0)
        case "&" | "|":
            return _bits(op, left, right)
    both_known = x is not None and y is not None
    folded_value = arith.binary(op, left, right) if both_known else None
    return folded_value if folded_value is not None and known(folded_value) is not None else None


def _plus(expr: Expr, value: int) -> Expr:
    """Return `expr + value`."""
    return expr if value == 0 else absorbed(expr, value) or arith.add(expr, value)


def absorbed(expr: Expr, value: int) -> Expr | None:
    """Return `expr + value` where the expression has a constant that takes it up, else None.

    before: n - 1,  n > 0 ? n - 1 : -1     value = 1
    after:  n,      n > 0 ? n : 0
    """
    own = known(expr)
    if own is not None:
        return _like(own + value, expr) if abs(own + value) < 2**31 - 1 else None
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right) if (
            left.type.size >= expr.type.size and (by := known(right)) is not None
        ):
            return _plus(left, value + (by if op == "+" else -by))
        case Ternary(condition=condition, then=then, otherwise=otherwise):
            first, second = absorbed(then, value), absorbed(otherwise, value)
            return None if first is None or second is None else Ternary(condition, first, second, expr.type)
    return None


def _like(value: int, other: Expr) -> Expr:
    """Return a constant that is spelt as the other one."""
    inner = other.operand if isinstance(other, Unary) else other
    if not isinstance(inner, Literal):
        return arith.lift(value)
    literal = Literal(f"{abs(value)}{'LL' if inner.text.endswith('L') else ''}", inner.type)
    return literal if value >= 0 else Unary("-", literal, inner.type)


def _times(left: Expr, right: Expr) -> Expr:
    match left:
        case Binary(op="*", left=inner, right=factor) if (
            (x := known(factor)) is not None and (y := known(right)) is not None and inner.type.size >= left.type.size
        ):
            return arith.mul(inner, x * y)
    return arith.mul(left, right)


def _bits(op: str, left: Expr, right: Expr) -> Expr | None:
    for one, other in ((left, right), (right, left)):
        value = known(one)
        if value == 0:
            return Literal("0", one.type) if op == "&" else other
        if value == 1 and is_truth(other):
            return other if op == "&" else one
    x, y = known(left), known(right)
    return arith.binary(op, left, right) if x is not None and y is not None else None


def _helper(node: Call) -> Expr:
    values = [v for a in node.arguments if (v := known(a)) is not None]
    if node.function in ("min", "max") and len(set(node.arguments)) == 1:
        return node.arguments[0]
    if len(values) < len(node.arguments):
        return node
    if node.function in ("min", "max"):
        return arith.lift(min(values) if node.function == "min" else max(values))
    a, b = values
    return node if b <= 0 else arith.lift(a // b if node.function == "floord" else a % b)
