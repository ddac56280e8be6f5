"""Index expressions and host programs, executed from Python."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from polytile.diagnostics import InternalError
from polytile.ir.evaluate import evaluate, integer_range, wrap
from polytile.ir.expr import (
    INT,
    LLONG,
    UCHAR,
    Access,
    Binary,
    Call,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Ternary,
    Unary,
)
from polytile.ir.integer_constants import integer_value
from polytile.ir.kernel import Comment, Launch
from polytile.runtime import host_interpreter
from polytile.runtime.host_interpreter import execute

N = Name("n")


def lit(value: int) -> Literal:
    return Literal(str(value))


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (Binary("/", lit(-7), lit(2)), -3),
        (Binary("%", lit(-7), lit(2)), -1),
        (Binary("/", lit(7), lit(-2)), -3),
        (Call("floord", (lit(-7), lit(2)), INT), -4),
        (Call("pmod()", (lit(-7), lit(2)), INT), 1),
        (Call("min", (N, lit(3)), INT), 3),
        (Call("max", (N, lit(3)), INT), 5),
        (Binary("<", N, lit(5)), 0),
        (Binary("&&", lit(0), Binary("/", N, lit(0))), 0),
        (Binary("||", lit(1), Binary("/", N, lit(0))), 1),
        (Ternary(Binary(">", N, lit(4)), lit(1), lit(2)), 1),
        (Unary("!", N), 0),
        (Unary("~", N), -6),
        (Cast(UCHAR, lit(257)), 1),
        (Cast(LLONG, Unary("-", N)), -5),
        (Binary("<<", N, lit(2)), 20),
    ],
)
def test_expressions_have_the_values_of_c(expr: Expr, value: int) -> None:
    assert evaluate(expr, {"n": 5}) == value


def test_literals() -> None:
    assert [integer_value(t) for t in ("10", "0x1fUL", "017", "0", "5LL")] == [10, 31, 15, 0, 5]


def test_ranges_and_wrapping() -> None:
    assert integer_range(INT) == (-(2**31), 2**31 - 1)
    assert wrap(2**31, INT) == -(2**31)
    assert wrap(-1, UCHAR) == 255


def test_reading_memory_on_the_host_is_a_bug() -> None:
    with pytest.raises(InternalError, match="not an index expression"):
        evaluate(Access("A", (N,)), {"n": 1})


def test_loops_branches_and_launches() -> None:
    seen: list[tuple[str, tuple[int, int, int], int]] = []

    def launch(kernel: str, grid: tuple[int, int, int], scope: Mapping[str, int]) -> None:
        seen.append((kernel, grid, scope["t"]))

    t = Name("t")
    half = Declare("h", LLONG, Binary("/", N, lit(2)))
    body = (
        Comment("time"),
        For(
            "t",
            lit(0),
            Binary("<", t, N),
            2,
            (half, If(Binary("==", t, lit(2)), (Launch("odd", (t, lit(1), lit(1))),)), Launch("k", (t, Name("h"), N))),
        ),
    )
    execute(body, {"n": 5}, launch)
    assert seen == [("odd", (2, 1, 1), 2), ("k", (2, 2, 5), 2), ("k", (4, 2, 5), 4)], "the empty launch is skipped"


def test_a_body_is_made_ready_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[object] = []
    step = host_interpreter._step
    monkeypatch.setattr(host_interpreter, "_step", lambda statement: walked.append(statement) or step(statement))
    body = (Launch("k", (Name("n"), Literal("1"), Literal("1"))),)
    grids: list[tuple[int, ...]] = []
    for n in (3, 4, 0):
        execute(body, {"n": n}, lambda kernel, grid, scope: grids.append(grid))
    assert grids == [(3, 1, 1), (4, 1, 1)] and walked == [body[0]]
