"""The subscripts of arrays of which each thread has a part."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.place_arrays import Contracted
from polytile.ir.expr import INT, Access, Assign, Binary, Declare, Expr, Literal, Name, Scope
from polytile.ir.memory import Space, Storage

PART = Storage("part", Space.PRIVATE, INT, (Literal("2"),), "part", keeps=(1,), strides=(32,))
T, B, J = (Name(name, INT) for name in ("t", "b", "j"))
AT = Contracted({"part": PART}, {"t": 32, "u": 8})


def lit(value: int) -> Literal:
    return Literal(str(value), INT)


def plus(*terms: Expr) -> Expr:
    first, *others = terms
    for other in others:
        first = Binary("+", first, other, INT)
    return first


def times(factor: int, value: Expr) -> Expr:
    return Binary("*", lit(factor), value, INT)


def rest(value: Expr, by: int) -> Expr:
    return Binary("%", value, lit(by), INT)


def subscript(value: Expr, *declared: Declare) -> Expr:
    """Where `part[b][value]` is, behind declarations."""
    access = Access("part", (B, value), INT)
    (scope,) = AT.addressed((Scope((*declared, Assign(access, "", lit(0)))),))
    assert isinstance(scope, Scope) and isinstance(scope.body[-1], Assign)
    target = scope.body[-1].target
    assert isinstance(target, Access) and target.subscripts[0] == Literal("0")
    return target.subscripts[1]


@pytest.mark.parametrize(
    ("value", "element"),
    [
        (rest(plus(T, times(64, B)), 64), 0),
        (rest(plus(T, times(64, B), lit(32)), 64), 1),
        (rest(plus(T, times(64, B), lit(96)), 64), 1),
        (rest(plus(lit(-32), T, times(128, B)), 128), 3),
        (plus(T, lit(32)), 1),
        (T, 0),
    ],
)
def test_numbers(value: Expr, element: int) -> None:
    assert subscript(value) == lit(element)


@pytest.mark.parametrize(
    "value",
    [
        rest(plus(T, times(32, B)), 64),  # b may be odd
        rest(plus(T, lit(33)), 64),  # from 33 to 64, which is 0
        rest(plus(T, lit(16)), 64),  # half of the threads have the first, half the second
        rest(plus(T, J), 64),
        plus(T, times(64, B)),
        rest(plus(times(-1, T), lit(31)), 64),
        Binary("/", T, lit(2), INT),
    ],
)
def test_no_numbers(value: Expr) -> None:
    assert subscript(value) == Binary("/", value, lit(32), INT)


def test_declared_names_are_known() -> None:
    declared = Declare("j", INT, plus(T, times(64, B), lit(32)))
    assert subscript(rest(J, 64), declared) == lit(1)
    assert subscript(rest(J, 64)) == Binary("/", rest(J, 64), lit(32), INT)


def test_without_strides_subscripts_stay() -> None:
    plain = Contracted({"part": Storage("part", Space.SHARED, INT, (lit(64),), "part", keeps=(1,))}, {"t": 32})
    access = Access("part", (B, rest(J, 64)), INT)
    (stmt,) = plain.addressed((Assign(access, "", lit(0)),))
    assert isinstance(stmt, Assign) and stmt.target == Access("part", (Literal("0"), rest(J, 64)), INT)
