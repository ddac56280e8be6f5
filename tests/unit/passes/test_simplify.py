"""Ranges of names: what follows from them for guards, for index arithmetic, and for its width."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.codegen.passes.index_width import intervals, widen
from polytile.codegen.passes.simplify import simplified, simplify
from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.ir.arith import add, both, compare, div, either, least, lift, mod, most, mul, sub
from polytile.ir.expr import (
    BOOL,
    DOUBLE,
    LLONG,
    UINT,
    Access,
    Assign,
    Binary,
    Call,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
    Unary,
)
from polytile.ir.gpu_ops import Leave, Pointer, Store, ThreadIndex
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.ir.ranges import Interval, Intervals, Range

I, J, N, M, T = (Name(name) for name in "ijnmt")  # noqa: E741
TRUE, FALSE = Literal("1", BOOL), Literal("0", BOOL)
SIZES = (Range("n", lift(1)), Range("m", N))


def store(index: Expr) -> Assign:
    return Assign(Access("A", (index,)), "", Literal("0.0", DOUBLE))


def loop(body: list[Stmt], lower: Expr | int = 0, end: Expr = N) -> For:
    return For("i", lift(lower), compare("<", I, end), 1, tuple(body))


# Guards -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (compare("<", I, N), True),
        (compare("<=", I, sub(N, 1)), True),
        (compare("<", add(I, 1), N), None),
        (compare(">=", I, N), False),
        (compare("<", I, M), True),  # n <= m
        (compare("<", sub(mul(I, 2), 1), mul(M, 2)), True),
        (compare("!=", I, -1), True),
        (compare("==", I, N), False),
        (both(compare(">=", I, 0), compare("<", I, M)), True),
        (either(compare("<", I, 0), compare(">", I, M)), False),
        (Unary("!", compare("<", I, N), BOOL), False),
        (Binary("&&", compare("<", I, N), compare("<", J, N), BOOL), None),
        (compare("<", I, Access("limit", (lift(0),))), None),
    ],
)
def test_guards_within_loops(condition: Expr, expected: bool | None) -> None:
    got = simplified((loop([If(condition, (store(I),))]),), SIZES)
    if expected is None:
        assert got != (loop([store(I)]),) and got != ()
    else:
        assert got == (loop([store(I)] if expected else []),)


def test_what_is_left_of_a_conjunction() -> None:
    guard = both(compare("<", I, M), compare("<", J, N))
    (got,) = simplified((loop([Store(Access("A", (I,)), (Literal("1.0", DOUBLE),), guard=guard)]),), SIZES)
    assert isinstance(got, For) and got.body[0] == Store(
        Access("A", (I,)), (Literal("1.0", DOUBLE),), guard=compare("<", J, N)
    )


def test_branches_know_their_conditions() -> None:
    inner = If(compare("<", J, add(N, 1)), (store(J),), (store(I),))
    (got,) = simplified((If(compare("<", J, N), (inner,), (If(compare("<", J, N), (store(N),)),)),))
    assert got == If(compare("<", J, N), (store(J),))


def test_who_has_left_is_gone() -> None:
    leave = If(compare(">=", I, N), (Leave("beyond the end"),))
    assert simplified((leave, If(compare("<", I, N), (store(I),)))) == (leave, store(I))


def test_names_that_change_say_nothing() -> None:
    body = (Declare("t", T.type, lift(0)), Assign(T, "+", I), If(compare("<", T, lift(1)), (store(T),)))
    assert simplified(body) == body


def test_a_name_in_another_scope_is_another_name() -> None:
    guard = If(compare("<", T, lift(2)), (store(T),))
    body = (Scope((Declare("t", T.type, lift(1)), guard)), Scope((Declare("t", T.type, J), guard)))
    assert simplified(body) == (Scope((Declare("t", T.type, lift(1)), store(T))), body[1])


def test_unsigned_numbers_wrap() -> None:
    u = Name("u", UINT)
    body = (Declare("u", UINT, sub(I, 1)), If(compare(">=", u, lift(0)), (store(u),)))
    assert simplified(body) == body


def test_coordinates_are_bounded_by_the_launch() -> None:
    ti = Name("ti")
    kernel = Kernel(
        "k", (), (32, 1, 1), (Coordinate("ti", ThreadIndex("x")),), (), (If(compare("<", ti, lift(32)), (store(ti),)),)
    )
    assert simplify(kernel).body == (store(ti),)


# Arithmetic ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (least(I, N), I),
        (most(I, 0), I),
        (mod(I, 8), mod(I, 8)),
        (mod(J, 8), J),
        (div(J, 8), lift(0)),
        (Call("pmod()", (J, lift(4)), J.type), mod(J, 4)),
        (Call("floord", (sub(J, 1), lift(4)), J.type), Call("floord", (sub(J, 1), lift(4)), J.type)),
        (sub(add(I, 3), I), lift(3)),
    ],
)
def test_arithmetic_within_ranges(expr: Expr, expected: Expr) -> None:
    ranges = (*SIZES, Range("j", lift(0), lift(7)))
    assert simplified((loop([store(expr)]),), ranges) == (loop([store(expected)]),)


def test_quotients_and_remainders_have_ranges() -> None:
    warp, lane = Name("warp"), Name("lane")
    body = (
        Declare("warp", T.type, div(T, 32)),
        Declare("lane", T.type, mod(T, 32)),
        If(
            both(compare("<", warp, lift(4)), compare("<", lane, lift(32)), compare(">=", lane, lift(0))),
            (store(lane),),
        ),
    )
    assert simplified(body, (Range("t", lift(0), lift(127)),)) == (*body[:2], store(lane))


CONSTANTS = st.integers(-6, 6).map(lift)
LEAVES = st.one_of(CONSTANTS, st.sampled_from([I, J]))


def _grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    by = st.integers(1, 5).map(lift)
    return st.one_of(
        st.builds(lambda op, a, b: Binary(op, a, b), st.sampled_from("+-*"), inner, inner),
        st.builds(lambda op, a, b: Binary(op, a, b), st.sampled_from("/%"), inner, by),
        st.builds(lambda f, a, b: Call(f, (a, b), I.type), st.sampled_from(["min", "max"]), inner, inner),
        st.builds(lambda f, a, b: Call(f, (a, b), I.type), st.sampled_from(["pmod()", "floord"]), inner, by),
    )


EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=8)


def evaluated(expr: Expr, i: int, j: int) -> int:
    from polytile.ir.arith import known
    from polytile.ir.substitute import substituted_expr

    value = known(substituted_expr(expr, {"i": lift(i), "j": lift(j)}))
    assert value is not None
    return value


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_simpler_is_equal_and_intervals_hold(a: Expr, b: Expr, op: str) -> None:
    """Over all values of i in -2 .. 5 and j in i .. 5."""
    ranges = (Range("i", lift(-2), lift(5)), Range("j", I, lift(5)))
    guard = If(Binary(op, a, b, BOOL), (store(add(a, b)),), (store(sub(a, b)),))
    got = simplified((guard,), ranges)
    assert len(got) == 1
    found = Intervals(ranges)(a)
    for i, j in product(range(-2, 6), range(-2, 6)):
        if i > j:
            continue
        x, y = evaluated(a, i, j), evaluated(b, i, j)
        holds = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
        assert evaluated(_taken(got[0], i, j), i, j) == (x + y if holds else x - y)
        assert (found.least is None or found.least <= x) and (found.most is None or x <= found.most)


def _taken(stmt: Stmt, i: int, j: int) -> Expr:
    if isinstance(stmt, If):
        (stmt,) = stmt.then if evaluated(stmt.condition, i, j) else stmt.otherwise
    assert isinstance(stmt, Assign) and isinstance(stmt.target, Access)
    return stmt.target.subscripts[0]


# Widths -------------------------------------------------------------------------------------------
def kernel_of(body: tuple[Stmt, ...], *ranges: Range) -> Kernel:
    storage = (Storage("A", Space.GLOBAL, DOUBLE, (None, M), "A"),)
    parameters = (KernelParameter("n", N.type), KernelParameter("m", M.type))
    parameters = (*parameters, KernelParameter("j", J.type), KernelParameter("A", DOUBLE, "A"))
    return Kernel("k", parameters, (1, 1, 1), (), storage, body, ranges=ranges)


def element(*subscripts: Expr) -> Assign:
    return Assign(Access("A", subscripts), "", Literal("0.0", DOUBLE))


def test_indices_of_32_bits() -> None:
    body = (loop([element(I, add(J, 1))]),)
    small = tuple(Range(name, lift(1), lift(20_000)) for name in "nmj")
    assert "A[i * m + (j + 1)] = 0.0;" in print_kernel(kernel_of(body, *small))
    large = tuple(Range(name, lift(1), lift(100_000)) for name in "nmj")
    assert "A[(long long)i * m + j + 1] = 0.0;" in print_kernel(kernel_of(body, *large))
    assert "A[(long long)i * m + j + 1] = 0.0;" in print_kernel(kernel_of(body))


def test_products_that_may_be_large_are_widened() -> None:
    target = Access("A", (lift(0), add(mul(I, M), J)))
    kernel = kernel_of((loop([Pointer("a", target)]),), Range("j", lift(0), lift(7)), Range("n", None, lift(1000)))
    wide = Binary("+", Binary("*", Cast(LLONG, I), M, LLONG), J, LLONG)
    (got,) = widen(kernel).body
    assert isinstance(got, For) and got.body[0] == Pointer("a", Access("A", (lift(0), wide)))
    limited = kernel_of(kernel.body, *kernel.ranges, Range("m", lift(0), lift(10_000)))
    assert widen(limited) == limited


def test_intervals_of_iterators_and_constants() -> None:
    inner = loop([Declare("t", T.type, add(mul(I, 4), 3)), store(T)], 2)
    found = intervals(kernel_of((inner,), Range("n", lift(5), lift(9))))
    assert (found(I), found(T), found(J)) == (Interval(2, 8), Interval(11, 35), Interval())
