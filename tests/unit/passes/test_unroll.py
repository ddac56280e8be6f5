"""Unrolled loops, substituted and folded; rotations as renaming and as moves."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.unroll import unrolled
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, div, lift, most, mul, sub
from polytile.ir.expr import (
    BOOL,
    DOUBLE,
    INT,
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
from polytile.ir.gpu_ops import PrivateArray, Rotate
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


# Rotations ----------------------------------------------------------------------------------------
def rotating(*names: str) -> list[Stmt]:
    return [assign(at("out", I), at(names[0], 0)), Rotate(names)]


def test_a_rotation_between_straight_statements_is_renaming() -> None:
    body = (array("a", 1), array("b", 1), Rotate(("a", "b")), assign(at("out", 0), at("a", 0)))
    assert unrolled(body)[2:] == (assign(at("out", 0), at("b", 0)),)


def test_a_rotation_in_a_full_unrolling() -> None:
    declared = tuple(array(name, 1) for name in "abc")
    got = unrolled((*declared, loop(I, 0, 4, rotating("a", "b", "c")), assign(at("out", 9), at("a", 0))))
    copies = [assign(at("out", i), at(name, 0)) for i, name in enumerate("abca")]
    assert got[3:] == (*copies, assign(at("out", 9), at("b", 0)))


MOVED = Scope(
    (
        Declare("moved", DOUBLE, at("a", 0)),
        assign(at("a", 0), at("b", 0)),
        Assign(at("b", 0), "", Name("moved", DOUBLE)),
    )
)


def test_a_rotation_in_a_serial_loop_moves() -> None:
    got = unrolled((array("a", 1), array("b", 1), loop(I, 0, N, rotating("a", "b"), None)))
    assert got[2] == loop(I, 0, N, [assign(at("out", I), at("a", 0)), MOVED], None)


def test_unrolled_by_the_period_no_moves_are_left_in_the_main_loop() -> None:
    main, rest = unrolled((array("a", 1), array("b", 1), loop(I, 0, N, rotating("a", "b"), 2)))[2:]
    copies = [assign(at("out", I), at("a", 0)), assign(at("out", add(I, 1)), at("b", 0))]
    assert main == loop(I, 0, sub(N, 1), copies, None, step=2)
    start = mul(div(most(N, 0), 2), 2)
    assert rest == For(
        "i", start, Binary("<", I, N, BOOL), 1, (assign(at("out", I), at("a", 0)), MOVED), INT, unroll=None
    )


def test_what_remains_of_constant_trips_is_peeled_without_moves() -> None:
    main, *rest = unrolled(
        (array("a", 1), array("b", 1), loop(I, 0, 5, rotating("a", "b"), 2), assign(at("out", 9), at("a", 0)))
    )[2:]
    assert isinstance(main, For) and main.condition == Binary("<", I, lift(4), BOOL)
    assert rest == [assign(at("out", 4), at("a", 0)), assign(at("out", 9), at("b", 0))]


def test_the_factor_is_a_multiple_of_the_period() -> None:
    declared = tuple(array(name, 1) for name in "abc")
    with pytest.raises(InternalError, match="rotates with another period"):
        unrolled((*declared, loop(I, 0, N, rotating("a", "b", "c"), 2)))


def test_a_rotation_in_a_branch_moves_at_its_end() -> None:
    branch = If(compare("<", I, N), (Rotate(("a", "b")), assign(at("out", 0), at("a", 0))))
    got = unrolled((array("a", 1), array("b", 1), branch, assign(at("out", 1), at("a", 0))))
    assert got[2:] == (
        If(compare("<", I, N), (assign(at("out", 0), at("b", 0)), MOVED)),
        assign(at("out", 1), at("a", 0)),
    )


def test_only_registers_can_be_moved() -> None:
    with pytest.raises(InternalError, match="cannot change places by moves: s, t"):
        unrolled((loop(I, 0, N, rotating("s", "t"), None),))


def test_longer_cycles_of_scalars_move_in_one_go() -> None:
    names = tuple(Name(name, DOUBLE) for name in "abc")
    declared = tuple(Declare(n.name, DOUBLE, None) for n in names)
    got = unrolled((*declared, loop(I, 0, N, [Rotate(("a", "b", "c"))], None)))[3]
    a, b, c = names
    moved = Name("moved", DOUBLE)
    expected = (Declare("moved", DOUBLE, a), Assign(a, "", b), Assign(b, "", c), Assign(c, "", moved))
    assert got == loop(I, 0, N, [Scope(expected)], None)
