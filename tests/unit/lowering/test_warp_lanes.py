"""What lanes of a warp differ in."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.warp_lanes import warp_lanes
from polytile.ir.expr import BOOL, INT, Binary, Call, Declare, Expr, For, Literal, Name, Stmt
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex
from polytile.ir.kernel import Coordinate, Kernel
from polytile.ir.polynomial import Polynomial

T, U, B, N = (Name(n, INT) for n in ("t", "u", "b", "n"))


def number(value: int) -> Expr:
    return Literal(str(value))


def times(by: int, name: Expr) -> Expr:
    return Binary("*", number(by), name, INT)


def loop(lower: Expr) -> For:
    return For("k", lower, Binary("<", Name("k", INT), N, BOOL), 32, (Declare("x", INT, Name("k", INT)),))


def kernel(*body: Stmt, block: tuple[int, int, int] = (32, 8, 1)) -> Kernel:
    sources = {"t": ThreadIndex("x"), "u": ThreadIndex("y"), "b": BlockIndex("x")}
    return Kernel("k", (), block, tuple(Coordinate(n, s) for n, s in sources.items()), (), body)


CASES: dict[str, tuple[tuple[Stmt, ...], Polynomial, set[int]]] = {  # what excludes that vectors of 2 and 4 are aligned
    "lanes": ((), {("t",): 1}, {2, 4}),
    "two elements a lane": ((), {("t",): 2, ("b",): 1}, {4}),
    "rows of threads": ((), {("u",): 1}, set()),
    "rows of a size": ((), {("n", "t"): 1}, set()),
    "declared": ((Declare("j", INT, Binary("+", times(2, T), B, INT)),), {("j",): 1}, {4}),
    "declared twice alike": ((Declare("j", INT, times(4, T)), Declare("j", INT, times(4, T))), {("j",): 1}, set()),
    "declared twice": ((Declare("j", INT, times(4, T)), Declare("j", INT, times(2, T))), {("j",): 1}, {2, 4}),
    "of data": ((Declare("j", INT, Binary("%", T, N, INT)),), {("j",): 1}, {2, 4}),
    "from a lane on": ((loop(T),), {("k",): 1}, {2, 4}),
    "from a multiple of a lane on": ((loop(times(4, T)),), {("k",): 1}, set()),
    "from a number on": ((loop(number(0)),), {("k",): 1}, set()),
    "from the larger one on": ((loop(Call("max", (T, B), INT)),), {("k",): 1}, {2, 4}),
}


@pytest.mark.parametrize("case", CASES)
def test_excluded_vectors(case: str) -> None:
    body, index, excluded = CASES[case]
    lanes = warp_lanes(kernel(*body))
    assert {count for count in (2, 4) if lanes.exclude(index, count)} == excluded


def test_rows_of_threads_in_one_warp() -> None:
    assert warp_lanes(kernel(block=(16, 16, 1))).exclude({("u",): 1}, 2)
    assert not warp_lanes(kernel(block=(64, 2, 1))).exclude({("u",): 1}, 2)
