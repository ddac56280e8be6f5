"""Folding keeps the value and drops what adds nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytile.codegen.targets.expressions import Printer
from polytile.ir.expr import Binary, Expr, Literal, Name, Ternary, Unary
from polytile.ir.fold import folded

n, m = Name("n"), Name("m")
ZERO, ONE = Literal("0"), Literal("1")
TEXT = Printer(lambda access, _: access.array)


def op(left: Expr, operator: str, right: Expr) -> Binary:
    return Binary(operator, left, right)


ROWS = Ternary(op(n, ">=", ONE), op(n, "-", ONE), Unary("-", ONE))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (op(op(op(ROWS, "+", ONE), "*", m), "*", ONE), "(n >= 1 ? n : 0) * m"),
        (op(op(n, "*", ONE), "+", op(ZERO, "*", m)), "n"),
        (op(ZERO, "+", n), "n"),
        (op(op(n, "+", Literal("3")), "-", ONE), "n + 2"),
        (op(op(n, "-", Literal("3")), "+", ONE), "n - 2"),
        (op(n, "-", m), "n - m"),
        (op(Literal("2"), "+", Literal("-5")), "-3"),
    ],
)
def test_text(expr: Expr, text: str) -> None:
    assert TEXT(folded(expr)) == text


def leaves() -> st.SearchStrategy[Expr]:
    return st.one_of(st.just(n), st.just(m), st.integers(-3, 3).map(lambda value: Literal(str(value))))


def nodes(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = st.builds(Binary, st.sampled_from(["+", "-", "*"]), children, children)
    return st.one_of(binary, st.builds(Ternary, children, children, children))


def value(expr: Expr, names: dict[str, int]) -> int:
    match expr:
        case Literal(text=text):
            return int(text)
        case Name(name=name):
            return names[name]
        case Unary(op="-", operand=operand):
            return -value(operand, names)
        case Ternary(condition=c, then=a, otherwise=b):
            return value(a if value(c, names) else b, names)
        case Binary(op=operator, left=left, right=right):
            x, y = value(left, names), value(right, names)
            return x + y if operator == "+" else x - y if operator == "-" else x * y
    raise AssertionError(expr)


@given(st.recursive(leaves(), nodes, max_leaves=10), st.integers(-5, 5), st.integers(-5, 5))
def test_the_value_stays(expr: Expr, first: int, second: int) -> None:
    names = {"n": first, "m": second}
    assert value(folded(expr), names) == value(expr, names)
