"""Barriers where shared memory passes from thread to thread, and only there."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.insert_barriers import insert_barriers, remove_barriers
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift, mul, sub
from polytile.ir.expr import DOUBLE, Access, Assign, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.gpu_ops import ThreadIndex
from polytile.ir.kernel import Barrier, Comment, Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage

T, U, I, N, X = (Name(n) for n in "tuinx")  # noqa: E741
Z = Literal("0.0", DOUBLE)


def kernel(*body: Stmt, block: tuple[int, int, int] = (32, 1, 1)) -> Kernel:
    storage = (
        Storage("s", Space.SHARED, DOUBLE, (lift(64),), "s"),
        Storage("r", Space.SHARED, DOUBLE, (lift(8), lift(32)), "r"),
        Storage("A", Space.GLOBAL, DOUBLE, (None,), "A"),
    )
    coordinates = (Coordinate("t", ThreadIndex("x")), Coordinate("u", ThreadIndex("y")))
    return Kernel(
        "k", (KernelParameter("n", N.type), KernelParameter("A", DOUBLE, "A")), block, coordinates, storage, body
    )


def s(*subscripts: Expr | int) -> Access:
    return Access("s" if len(subscripts) == 1 else "r", tuple(lift(e) for e in subscripts))


def put(*subscripts: Expr | int) -> Assign:
    return Assign(s(*subscripts), "", Z)


def get(*subscripts: Expr | int) -> Assign:
    return Assign(Access("A", (T,)), "", s(*subscripts))


def shape(body: tuple[Stmt, ...]) -> str:
    """`|` for a barrier, `w` for a write, `r` for a read, `d` for a declaration, brackets for what is inside."""
    out = ""
    for stmt in body:
        match stmt:
            case Barrier():
                out += "|"
            case Assign(target=Access(array=array)):
                out += "r" if array == "A" else "w"
            case Declare():
                out += "d"
            case For(body=inner) | Scope(body=inner):
                out += f"({shape(inner)})"
            case If(then=then, otherwise=otherwise):
                out += f"[{shape(then)}/{shape(otherwise)}]"
    return out


def inserted(*body: Stmt, block: tuple[int, int, int] = (32, 1, 1)) -> str:
    return shape(insert_barriers(kernel(*body, block=block)).body)


def loop(*body: Stmt, end: Expr = N) -> For:
    return For("i", lift(0), compare("<", I, end), 1, body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([put(T), get(add(T, 1)), put(T), get(T)], "w|r|wr"),
        ([put(T), get(T), put(T)], "wrw"),
        ([put(0), get(0)], "w|r"),  # all threads write one element
        ([put(mul(T, 2)), get(mul(T, 2))], "wr"),
        ([get(T), get(0), get(sub(31, T))], "rrr"),
        ([put(T), put(3, T), get(T), get(3, T)], "wwrr"),
        ([put(T), Barrier("there"), get(0)], "w|r"),
        ([put(T), Barrier("there", "warp"), get(0)], "w||r"),
        ([Declare("x", X.type, add(T, 1)), put(X), get(add(T, 1)), get(T)], "dwr|r"),
        ([put(T), If(compare("<", T, lift(3)), (get(0),)), put(T)], "w|[r/]|w"),
        ([put(T), Scope((get(0), put(1)))], "w|(r|w)"),
    ],
)
def test_straight_statements(body: list[Stmt], expected: str) -> None:
    assert inserted(*body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([loop(put(T), get(0))], "(|w|r)"),
        ([loop(put(T), get(T))], "(wr)"),
        ([put(T), loop(get(0))], "w|(r)"),
        ([loop(put(I, T), get(I, T))], "(|wr)"),  # r[i][t] of this iteration only
        ([loop(put(add(T, I)), get(add(T, I)))], "(|wr)"),  # of another thread, in another iteration
        ([If(compare("<", N, lift(3)), (put(T), get(0)), (put(T),)), get(1)], "[w|r/w]|r"),
    ],
)
def test_loops_and_branches(body: list[Stmt], expected: str) -> None:
    assert inserted(*body) == expected


@pytest.mark.parametrize(
    ("subscript", "expected"),
    [(add(T, mul(U, 32)), "wr"), (add(T, mul(U, 31)), "w|r"), (T, "w|r"), (add(mul(T, 2), U), "wr")],
)
def test_two_coordinates_in_one_subscript(subscript: Expr, expected: str) -> None:
    assert inserted(put(subscript), get(subscript), block=(32, 2, 1)) == expected


def test_no_barrier_where_some_threads_do_not_come() -> None:
    with pytest.raises(InternalError, match="where some threads do not come"):
        insert_barriers(kernel(If(compare("<", T, lift(3)), (put(T), get(0)))))


def test_a_second_barrier_with_nothing_between() -> None:
    count = Declare("x", X.type, add(T, 1))
    body = (put(T), Barrier("a"), Comment("why"), count, Barrier("b"), Barrier("a"), get(0), Barrier("c"))
    got = remove_barriers(kernel(*body)).body
    assert got == (put(T), Barrier("a; b"), Comment("why"), count, get(0), Barrier("c"))


def test_barriers_that_stay() -> None:
    memory = Assign(Access("A", (T,)), "", Z)
    body = (Barrier("a", "warp"), Barrier("b"), memory, Barrier("c"), loop(Barrier("d"), get(0)))
    assert remove_barriers(kernel(*body)).body == body
