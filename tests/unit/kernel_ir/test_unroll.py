"""Unrolled loops, substituted and folded."""

from __future__ import annotations

import pytest

from polytile.codegen.resources.unroll import unrolled
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift, sub
from polytile.ir.expr import (
    BOOL,
    DOUBLE,
    LLONG,
    Access,
    Assign,
    Binary,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
    Ternary,
)
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import PrivateArray
from polytile.ir.substitute import substituted

I, J, N, V = (Name(name) for name in "ijnv")  # noqa: E741
L = Name("l", DOUBLE)


def at(array: str, *subscripts: Expr | int) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts))


def loop(iterator: Name, lower: int, end: Expr | int, body: list[Stmt], unroll: int | None = 0, step: int = 1) -> For:
    op = "<" if step > 0 else ">"
    condition = Binary(op, iterator, lift(end), BOOL)
    return For(iterator.name, lift(lower), condition, step, tuple(body), unroll=unroll)


def array(name: str, *extents: int) -> PrivateArray:
    return PrivateArray(name, DOUBLE, extents)


def assign(target: Access, value: Expr) -> Assign:
    return Assign(target, "", value)


# Folding ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (Binary("+", Binary("-", I, lift(1)), lift(1)), I),
        (Binary("-", Binary("+", I, lift(2)), lift(5)), Binary("-", I, lift(3))),
        (Binary("*", Binary("*", I, lift(3)), lift(4)), Binary("*", I, lift(12))),
        (Binary("*", I, lift(0)), lift(0)),
        (Binary("%", lift(-7), lift(4)), lift(-3)),
        (Binary("/", lift(-7), lift(4)), lift(-1)),
        (Binary("&", compare("<", I, N), Literal("1", BOOL)), compare("<", I, N)),
        (Binary("&&", Literal("0", BOOL), compare("<", I, N)), Literal("0", BOOL)),
        (Binary("&&", lift(3), I), Binary("!=", I, lift(0), BOOL)),
        (Ternary(compare("==", 0, 0), L, at("x", 0), DOUBLE), L),
        (Binary("<<", lift(1), lift(5)), lift(32)),
    ],
)
def test_folding(expr: Expr, expected: Expr) -> None:
    assert folded(expr) == expected


@pytest.mark.parametrize(
    "expr",
    [
        Binary("*", L, lift(0), DOUBLE),
        Binary("+", L, Literal("0.0", DOUBLE), DOUBLE),
        Binary("/", lift(1), lift(0)),
        Binary("+", Literal("010"), lift(1)),
        Binary("&", I, lift(1)),
    ],
)
def test_what_does_not_fold(expr: Expr) -> None:
    """Floating point keeps its zeros and NaN; division by zero, octal literals and low bits stay."""
    assert folded(expr) == expr


def test_a_folded_value_keeps_its_width() -> None:
    wide = Binary("*", Binary("+", Cast(LLONG, lift(3)), lift(1), LLONG), N, LLONG)
    assert folded(wide) == Binary("*", Literal("4LL", LLONG), N, LLONG)
    assert folded(Binary("+", Cast(LLONG, lift(0)), N, LLONG)) == Cast(LLONG, N)
    assert folded(Ternary(compare("==", 0, 0), lift(1), L, DOUBLE)) == Cast(DOUBLE, lift(1))


def test_branches_and_loops_that_never_run_are_dropped() -> None:
    inner = loop(J, 0, V, [assign(at("x", J), L)], None)
    branch = If(compare("<", V, lift(1)), (assign(at("x", V), L),), (assign(at("y", V), L),))
    assert substituted((branch, inner), {"v": lift(0)}) == (assign(at("x", 0), L),)


def test_a_name_that_changes_is_not_replaced() -> None:
    with pytest.raises(InternalError, match="v is replaced by its value but not constant"):
        substituted((Assign(V, "+", lift(1)),), {"v": lift(0)})


# Full unrolling -----------------------------------------------------------------------------------
def test_a_neighbour_from_registers_or_from_the_next_lane() -> None:
    neighbour = Ternary(Binary("==", V, lift(0), BOOL), L, at("y", sub(V, 1)), DOUBLE)
    got = unrolled((loop(V, 0, 3, [assign(at("x", V), neighbour)]),))
    assert got == (assign(at("x", 0), L), assign(at("x", 1), at("y", 0)), assign(at("x", 2), at("y", 1)))


def test_nested_loops_whose_bounds_become_constant() -> None:
    got = unrolled((loop(I, 0, 3, [loop(J, 0, add(I, 1), [assign(at("x", I, J), L)])]),))
    assert [s.target.subscripts for s in got if isinstance(s, Assign) and isinstance(s.target, Access)] == [
        (lift(i), lift(j)) for i in range(3) for j in range(i + 1)
    ]


def test_steps_downwards() -> None:
    got = unrolled((loop(I, 5, -1, [assign(at("x", I), L)], step=-3),))
    assert got == (assign(at("x", 5), L), assign(at("x", 2), L))


def test_declarations_keep_scopes_of_their_own() -> None:
    got = unrolled((loop(V, 0, 2, [Declare("t", DOUBLE, at("y", V)), assign(at("x", V), Name("t", DOUBLE))]),))
    assert got == tuple(
        Scope((Declare("t", DOUBLE, at("y", v)), assign(at("x", v), Name("t", DOUBLE)))) for v in range(2)
    )


def test_loops_without_constant_trips_stay() -> None:
    body = (loop(I, 0, N, [assign(at("x", I), L)]),)
    assert unrolled(body) == body


def test_too_much_code() -> None:
    with pytest.raises(InternalError, match="more than 100 nodes"):
        unrolled((loop(I, 0, 50, [assign(at("x", I), L)]),), limit=100)
    with pytest.raises(InternalError, match="runs more than 1000 times"):
        unrolled((loop(I, 0, 10**9, [assign(at("x", I), L)]),), limit=1000)
