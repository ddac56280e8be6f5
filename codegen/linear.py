"""Subscripts as linear forms, so that two spellings of one element can be told from two elements."""

from __future__ import annotations

from polytile.codegen.fold import constant
from polytile.ir.expr import Binary, Expr, Name, Unary

Linear = dict[str, int]  # name -> factor, without zeros; the constant has the name ""


def linear(expr: Expr) -> Linear | None:
    """`2 * i + n - 1` as {"i": 2, "n": 1, "": -1}; None for what is not linear in its names."""
    value = constant(expr)
    if value is not None:
        return {"": value} if value else {}
    match expr:
        case Name(name=name):
            return {name: 1}
        case Unary(op="-", operand=operand):
            return _sum({}, linear(operand), -1)
        case Binary(op="+", left=left, right=right):
            return _sum(linear(left), linear(right), 1)
        case Binary(op="-", left=left, right=right):
            return _sum(linear(left), linear(right), -1)
        case Binary(op="*", left=left, right=right):
            return _product(linear(left), linear(right))
    return None


def _sum(a: Linear | None, b: Linear | None, sign: int) -> Linear | None:
    if a is None or b is None:
        return None
    total = {name: a.get(name, 0) + sign * b.get(name, 0) for name in {**a, **b}}
    return {name: factor for name, factor in total.items() if factor}


def _product(a: Linear | None, b: Linear | None) -> Linear | None:
    if a is None or b is None:
        return None
    for one, other in ((a, b), (b, a)):
        if set(one) <= {""}:
            scale = one.get("", 0)
            return {name: scale * factor for name, factor in other.items() if scale}
    return None
