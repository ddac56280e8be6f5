"""Shared index arithmetic gets a name, in the outermost block that has all it is made of."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.common_subexpressions import hoist
from polytile.ir.arith import add, compare, div, lift, mul
from polytile.ir.expr import DOUBLE, Access, Assign, Declare, Expr, For, If, Literal, Name, Stmt
from polytile.ir.kernel import Kernel, KernelParameter
from polytile.ir.memory import Space, Storage

AT, I, J, K, N, P = (Name(n) for n in ("at", "i", "j", "k", "n", "p"))  # noqa: E741
ROW = mul(add(mul(I, 4), J), P)


def kernel(*body: Stmt) -> Kernel:
    parameters = (*(KernelParameter(n, I.type) for n in "ijnp"), KernelParameter("A", DOUBLE, "A"))
    return Kernel("k", parameters, (1, 1, 1), (), (Storage("A", Space.GLOBAL, DOUBLE, (None,), "A"),), body)


def put(index: Expr) -> Assign:
    return Assign(Access("A", (index,)), "", Literal("0.0", DOUBLE))


def loop(*body: Stmt) -> For:
    return For("k", lift(0), compare("<", K, N), 1, body)


def test_two_statements_of_a_block() -> None:
    got = hoist(kernel(put(lift(0)), put(add(ROW, 1)), If(compare("<", J, N), (put(add(ROW, 2)),)))).body
    guarded = If(compare("<", J, N), (put(add(AT, 2)),))
    assert got == (put(lift(0)), Declare("at", I.type, ROW), put(add(AT, 1)), guarded)


def test_what_a_loop_does_not_change_comes_before_it() -> None:
    assert hoist(kernel(loop(put(add(ROW, K))))).body == (Declare("at", I.type, ROW), loop(put(add(AT, K))))


def test_what_a_loop_changes_is_named_in_it() -> None:
    cell = add(mul(K, 4), J)
    got = hoist(kernel(loop(put(cell), put(add(cell, 1))))).body
    assert got == (loop(Declare("at", I.type, cell), put(AT), put(add(AT, 1))),)


@pytest.mark.parametrize(
    "body",
    [
        (put(ROW),),  # once
        (put(add(I, 1)), put(add(I, 1))),  # too short
        (put(div(ROW, P)), put(add(J, div(I, J)))),  # divisions may trap
        (put(ROW), Assign(I, "+", lift(1)), put(ROW)),  # another value
    ],
)
def test_what_stays(body: tuple[Stmt, ...]) -> None:
    assert hoist(kernel(*body)).body == body
