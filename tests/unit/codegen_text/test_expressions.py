"""Expressions as text: few parentheses, no warning, C's meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytile.codegen.targets.expressions import Printer, linear_index, type_name
from polytile.diagnostics import InternalError
from polytile.ir.expr import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    Access,
    Binary,
    Call,
    Cast,
    CType,
    Expr,
    Literal,
    Name,
    Ternary,
    Unary,
)


def element(access: Access, printer: Printer) -> str:
    return access.array + "".join(f"[{printer(s)}]" for s in access.subscripts)


CUDA = Printer(element)
C = Printer(element, cpp=False)
a, b, c = Name("a"), Name("b"), Name("c")
x = Access("x", (a,), FLOAT)


def op(left: Expr, operator: str, right: Expr) -> Binary:
    return Binary(operator, left, right)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (op(op(a, "+", b), "+", c), "a + b + c"),
        (op(a, "+", op(b, "+", c)), "a + (b + c)"),
        (op(op(a, "+", b), "*", c), "(a + b) * c"),
        (op(a, "-", Literal("-1")), "a + 1"),
        (op(a, "+", Literal("-1")), "a - 1"),
        (op(a, "+", Literal("-1.5", DOUBLE)), "a + -1.5"),
        (Unary("-", Unary("-", a)), "-(-a)"),
        (Unary("-", Literal("-1")), "-(-1)"),
        (op(a, "-", Unary("-", b)), "a - -b"),
        (Unary("!", op(a, "<", b)), "!(a < b)"),
        (op(Unary("!", a), "==", b), "(!a) == b"),
        (op(op(a, "<", b), "==", op(b, "<", c)), "(a < b) == (b < c)"),
        (op(op(a, "&&", b), "||", c), "(a && b) || c"),
        (op(op(a, "&", b), "|", c), "(a & b) | c"),
        (op(op(a, "|", b), "|", c), "a | b | c"),
        (op(op(a, "+", b), "<<", c), "(a + b) << c"),
        (op(op(a, "*", b), "&&", c), "a * b != 0 && c"),
        (Unary("!", op(a, "*", b)), "!(a * b != 0)"),
        (Unary("~", op(a, "<", b)), "~(int)(a < b)"),
        (Cast(LLONG, op(a, "+", b)), "(long long)(a + b)"),
        (Ternary(op(a, "<", b), a, Ternary(b, b, c)), "a < b ? a : b ? b : c"),
        (Ternary(Ternary(a, b, c), b, c), "(a ? b : c) != 0 ? b : c"),
        (op(Ternary(a, b, c), "+", a), "(a ? b : c) + a"),
        (Call("min", (a, op(b, "-", Literal("1"))), INT), "polytile_min(a, b - 1)"),
        (Call("max", (a, b, c), INT), "polytile_max(a, polytile_max(b, c))"),
        (Call("min", (op(a, "+", b),), INT), "(a + b)"),
    ],
)
def test_text(expr: Expr, text: str) -> None:
    assert CUDA(expr) == text


def test_math_keeps_the_types_of_c() -> None:
    assert CUDA(Call("sqrt", (x,), DOUBLE)) == "sqrt((double)x[a])"
    assert CUDA(Call("sqrtf", (x,), FLOAT)) == "sqrtf(x[a])"
    assert CUDA(Call("pow", (Access("d"), Literal("2")), DOUBLE)) == "pow(d, (double)2)"
    assert CUDA(Call("abs", (x,), INT)) == "abs((int)x[a])"
    assert C(Call("sqrt", (x,), DOUBLE)) == "sqrt(x[a])"


def test_names_that_are_keywords_of_cpp() -> None:
    assert CUDA(op(Name("new"), "+", Name("old"))) == "polytile_new + old"
    assert C(Name("new")) == "new"
    assert type_name(BOOL) == "bool"
    assert type_name(BOOL, cpp=False) == "_Bool"
    assert type_name(CType("struct class", "struct", 8)) == "struct polytile_class"


@pytest.mark.parametrize(
    ("subscripts", "extents", "text"),
    [
        ((), (), "0"),
        ((a,), (None,), "a"),
        ((a, b), (None, Name("m")), "(long long)a * m + b"),
        ((a, b, c), (Name("n"), Name("m"), op(Name("k"), "+", Literal("1"))), "((long long)a * m + b) * (k + 1) + c"),
        ((a, b), (Literal("1000"), Literal("1200")), "a * 1200 + b"),
        ((a, b), (Literal("100000"), Literal("100000")), "(long long)a * 100000 + b"),
        ((a, Literal("0")), (None, Name("m")), "(long long)a * m"),
        ((Literal("0"), a, b), (None, Name("m"), Name("k")), "(long long)a * k + b"),
        ((a, op(b, "-", Literal("1"))), (None, Name("m")), "(long long)a * m + b - 1"),
        ((a, op(b, "-", Literal("1"))), (Literal("9"), Literal("9")), "a * 9 + (b - 1)"),
        ((Literal("0"), Literal("0")), (None, Name("m")), "0"),
    ],
)
def test_linear_index(subscripts: tuple[Expr, ...], extents: tuple[Expr | None, ...], text: str) -> None:
    assert CUDA(linear_index(subscripts, extents)) == text


def test_an_inner_extent_must_be_known() -> None:
    with pytest.raises(InternalError, match="inner extent"):
        linear_index((a, b), (None, None))


def leaves() -> st.SearchStrategy[Expr]:
    return st.integers(-9, 9).map(lambda value: Literal(str(value)))


def nodes(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = st.builds(Binary, st.sampled_from(["+", "-", "*"]), children, children)
    return st.one_of(binary, st.builds(Unary, st.just("-"), children))


def value(expr: Expr) -> int:
    match expr:
        case Literal(text=text):
            return int(text)
        case Unary(operand=operand):
            return -value(operand)
        case Binary(op=operator, left=left, right=right):
            l, r = value(left), value(right)  # noqa: E741
            return l + r if operator == "+" else l - r if operator == "-" else l * r
    raise AssertionError(expr)


@given(st.recursive(leaves(), nodes, max_leaves=12))
def test_the_text_means_the_tree(expr: Expr) -> None:
    assert eval(CUDA(expr)) == value(expr)
