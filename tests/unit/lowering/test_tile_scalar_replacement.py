"""Tiles in registers, as code: accumulators, batches where all of a tile is there, vectors around the loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from polytile.codegen.passes.iteration_loads import Setting
from polytile.codegen.passes.slp import together
from polytile.codegen.passes.tile_scalar_replacement import never_meet
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Binary, Expr, If, Literal, Name, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import Load, Store
from polytile.ir.name_supply import Names
from polytile.tuning import Tuning

ELEMENTS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
PRODUCT = (
    "int n, int m, int l, double C[n][m], double A[n][l], double B[l][m]",
    ELEMENTS + "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j];",
)
LOCAL = (
    "int n, int m, int l, double C[n][m], double A[n][l], double B[l][m]",
    ELEMENTS + "for (int k = 0; k < l; k++) { double v = A[i][k] - B[k][j]; C[i][j] += v * v; }",
)


def loops_of(text: str) -> list[str]:
    """The loops in batches of a kernel, up to its host code."""
    kernel = text.partition("// Shared by the entry points")[0]
    return [m.group() for m in re.finditer(r"^( *)#pragma unroll 1\n.*?^\1}$", kernel, re.MULTILINE | re.DOTALL)]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("element", "columns"), [("double", 2), ("float", 4), ("int", 4)])
def test_each_load_serves_several(element: str, columns: int, compiled: Callable[..., Any]) -> None:
    """Four rows of a vector: for each of eight iterations four elements of A and a vector of B are loaded before the
    first product, and nothing is stored."""
    found = compiled(*(part.replace("double", element) for part in PRODUCT), schedule="superposed")
    whole = loops_of(found.cuda)[0]
    first, loads, work = whole.split("for (int u = 0; u < 8; ++u)")
    assert first.count("_at[8];") == 4 + columns and "k += 8" in first
    assert loads.count("= A[") == 4 and loads.count(f"*(const {element}{columns} *)&B[") == 1
    assert len(re.findall(r"C_acc\d* \+= ", work)) == 4 * columns and "C[" not in whole and "if" not in whole
    assert whole.count("#pragma unroll\n") == 2


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("block", "double", "single"), [((32, 32), 2, 4), ((16, 32), 8, 8), ((2, 32), 8, 8)])
def test_batches_fit_into_registers(
    block: tuple[int, ...], double: int, single: int, compiled: Callable[..., Any]
) -> None:
    """A thread of a block of 1024 has 64 of them."""
    for element, many in (("double", double), ("float", single)):
        found = compiled(*(part.replace("double", element) for part in PRODUCT), schedule="superposed", block=block)
        assert f"k += {many})" in found.cuda and "_acc7" in found.cuda


def test_what_whole_batches_leave(compiled: Callable[..., Any]) -> None:
    """Half as many at once: the last iteration's elements in place of what is behind it, and no product of them."""
    rest = loops_of(compiled(*PRODUCT, schedule="superposed").cuda)[1]
    _, loads, work = rest.split("for (int u = 0; u < 4; ++u)")
    assert "double A_rest[4];" in rest and "k_rest += 4" in rest
    assert loads.count("polytile_min(k_rest + u, k_last)") == 5 and "if (k_rest + u <= k_last) {" in work


@pytest.mark.slow
@pytest.mark.parametrize(("extent", "loops"), [(1, 0), (2, 2), (3, 2), (7, 2), (40, 2)])
def test_few_iterations(extent: int, loops: int, compiled: Callable[..., Any], emulator: None) -> None:
    """No more of them than there are, and no loops for one."""
    arguments, body = (part.replace("int l, ", "").replace("[l]", f"[{extent}]") for part in PRODUCT)
    found = compiled(arguments, body.replace("k < l", f"k < {extent}"), schedule="superposed")
    batch = 1 << min(extent, 8).bit_length() - 1
    assert found.cuda.count(f"u < {batch};") == 2 * loops
    for n, m in ((5, 67), (36, 128)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=("address", "undefined", "race"))


def test_borders(compiled: Callable[..., Any]) -> None:
    """What is not there counts as 0 and has no branch, but for integers, whose sums could overflow."""
    for element in ("double", "int"):
        found = compiled(*(part.replace("double", element) for part in PRODUCT), schedule="superposed")
        border = loops_of(found.cuda)[2]
        assert "? A[" in border and ("if (" in border) == (element == "int")


def test_locals_of_a_statement(compiled: Callable[..., Any]) -> None:
    found = compiled(*LOCAL, schedule="superposed")
    assert "C_acc7 += v * v;" in loops_of(found.cuda)[0]
    plain = compiled(*LOCAL, schedule="classic").cuda
    assert "C_acc += v * v;" in plain


def test_registers(compiled: Callable[..., Any]) -> None:
    assert "__launch_bounds__(256, 2)" in compiled(*PRODUCT, schedule="superposed").cuda


def test_instances_that_meet(compiled: Callable[..., Any]) -> None:
    """What one instance reads is another one's element when they are one step apart, but not two."""
    scop = compiled(
        "int n, int l, double A[n + 1], double x[l]",
        "for (int i = 0; i < n; i++) for (int k = 0; k < l; k++) A[i] += A[i + 1] * x[k];",
    ).compilation.source
    (statement,) = scop.statements
    assert not never_meet(scop, statement, (1, None))
    assert not never_meet(scop, statement, (-1, None))
    assert never_meet(scop, statement, (2, None))


# Vectors where no loop is ---------------------------------------------------------------------------------------------
SETTING = Setting(frozenset({"C"}), frozenset({"kept"}), None, 256, 256, Tuning())
ROW, J, N = Name("i", INT), Name("j", INT), Name("n", INT)


def at(row: Expr, column: int, array: str = "C") -> Access:
    place = folded(Binary("+", Binary("*", Literal("2"), J, INT), Literal(str(column)), INT))
    return Access(array, (row, place), DOUBLE)


def update(column: int, row: Expr = ROW) -> Assign:
    return Assign(at(row, column), "*", Name("f", DOUBLE))


def made(*body: Stmt) -> tuple[Stmt, ...]:
    return together(body, SETTING, Names())


def vectors(body: tuple[Stmt, ...]) -> list[str]:
    return [type(n).__name__ for n in walk(*body) if isinstance(n, Load | Store)]


def test_neighbours_are_one_vector() -> None:
    (found,) = made(update(0), update(1))
    assert isinstance(found, If) and found.otherwise == (update(0), update(1))
    assert vectors(found.then) == ["Load", "Store"] and vectors(found.otherwise) == []


def test_conditions_hold_before() -> None:
    guard = Binary("<", folded(Binary("+", J, Literal("1"), INT)), N, INT)
    (found,) = made(update(0), If(guard, (update(1),)))
    assert isinstance(found, If) and guard in list(walk(found.condition))
    assert not any(isinstance(n, If) for n in walk(*found.then))


def test_stores_alone() -> None:
    zeros = [Assign(at(ROW, column), "", Literal("0.0", DOUBLE)) for column in (0, 1)]
    (found,) = made(*zeros)
    assert isinstance(found, If) and vectors(found.then) == ["Store"]


def test_elements_that_may_be_one_stay() -> None:
    """C[i][2j] and C[j][2j + 1] are the same array's: each could be the other row's."""
    body = (update(0), update(1), update(0, J), update(1, J))
    assert made(*body) == body
    read = Assign(at(ROW, 1), "", Access("C", (J, ROW), DOUBLE))
    assert made(update(0), read) == (update(0), read)


def test_what_is_no_vector_stays() -> None:
    kept = tuple(Assign(at(ROW, column, "kept"), "*", N) for column in (0, 1))
    for body in ((update(0),), (update(0), update(2)), kept):
        assert made(*body) == body
