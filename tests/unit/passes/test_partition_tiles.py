"""Tiles with and without guards: the test in front is right, and the same for all threads."""

from __future__ import annotations

from polytile.codegen.passes.partition_tiles import separate
from polytile.ir.arith import add, both, compare, either, lift, mul, select
from polytile.ir.expr import BOOL, DOUBLE, Access, Assign, Binary, Declare, For, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import BlockIndex, Store, ThreadIndex
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.ir.ranges import Range

B, C, I, J, K, M, N, T, V = (Name(n) for n in "bcijkmntv")  # noqa: E741
Z = Literal("0.0", DOUBLE)


def kernel(*body: Stmt) -> Kernel:
    parameters = (KernelParameter("n", N.type), KernelParameter("m", M.type), KernelParameter("A", DOUBLE, "A"))
    blocks = Coordinate("b", BlockIndex("x")), Coordinate("c", BlockIndex("y"))
    coordinates = (*blocks, Coordinate("t", ThreadIndex("x")))
    storage = (Storage("A", Space.GLOBAL, DOUBLE, (None, M), "A"),)
    return Kernel("k", parameters, (32, 1, 1), coordinates, storage, body, ranges=(Range("n", lift(1)),))


def columns(*body: Stmt) -> For:
    return For("v", lift(0), compare("<", V, 4), 1, body)


PUT = Assign(Access("A", (I, J)), "", Z)
NAMES = (Declare("i", I.type, add(mul(32, B), T)),)
COLUMN = Declare("j", J.type, add(mul(4, C), V))
ROWS = compare("<=", add(mul(32, B), 32), N)
BOTH = Binary("&&", ROWS, compare("<=", add(mul(4, C), 4), M), BOOL)


def test_guards_of_rows_and_columns() -> None:
    guarded = columns(COLUMN, If(both(compare("<", I, N), compare("<", J, M)), (PUT,)))
    assert separate(kernel(*NAMES, guarded)).body == (*NAMES, If(BOTH, (columns(COLUMN, PUT),), (guarded,)))


def test_guards_of_stores() -> None:
    def store(guard: bool) -> Store:
        return Store(Access("A", (I, V)), (Z,), guard=compare("<", I, N) if guard else None)

    got = separate(kernel(*NAMES, columns(store(True)))).body
    assert got == (*NAMES, If(ROWS, (columns(store(False)),), (columns(store(True)),)))


def test_guards_that_are_no_bounds_stay() -> None:
    odd = compare("!=", Binary("&", I, lift(1)), 0)
    guarded = If(both(compare("<", I, N), odd), (Assign(Access("A", (I, T)), "", Z),))
    got = separate(kernel(*NAMES, guarded)).body
    assert got == (*NAMES, If(ROWS, (If(odd, guarded.then),), (guarded,)))
    assert separate(kernel(*NAMES, If(odd, guarded.then))).body == (*NAMES, If(odd, guarded.then))


def test_bounds_of_what_has_none_stay() -> None:
    guarded = For("k", Access("A", (lift(0), T)), compare("<", K, N), 1, (If(compare(">", K, M), (PUT,)),))
    assert separate(kernel(*NAMES, guarded)).body == (*NAMES, guarded)


def test_selects_at_the_sides() -> None:
    """A cell at a side keeps its value: inside, no cell does."""
    side = either(compare("<=", I, 0), compare(">=", I, add(N, -1)))
    body = Assign(Access("A", (I, T)), "", select(side, Z, Literal("1.0", DOUBLE)))
    (_, got) = separate(kernel(*NAMES, body)).body
    assert isinstance(got, If) and got.otherwise == (body,)
    assert got.then == (Assign(Access("A", (I, T)), "", Literal("1.0", DOUBLE)),)
    inside = compare("<=", lift(1), mul(32, B)), compare("<=", add(mul(32, B), 33), N)
    assert got.condition == Binary("&&", *inside, BOOL)


def test_loops_of_one_name() -> None:
    inner = For("k", lift(0), compare("<", K, N), 1, (If(compare("<", I, N), (Assign(Access("A", (I, K)), "", Z),)),))
    outer = For("v", lift(0), compare("<", V, 4), 1, (inner,))
    (_, got) = separate(kernel(*NAMES, outer), "k").body
    assert isinstance(got, For) and isinstance(got.body[0], If) and got.body[0].condition == ROWS
