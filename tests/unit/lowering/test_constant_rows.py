"""Arrays whose rows have a constant length: vectors where their elements may be aligned, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polytile.codegen.passes.alignment_versioning import vectors
from polytile.codegen.passes.iteration_loads import HeldLoad
from polytile.codegen.passes.warp_lanes import WarpLanes
from polytile.ir.expr import DOUBLE, FLOAT, INT, Access, Binary, CType, Expr, Literal, Name
from polytile.ir.polynomial import linear

GEMM = (
    "int n, double A[n][{row}], double B[{row}][{row}], double C[n][{row}]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < {end}; j++) {{ C[i][j] *= 3;"
    " for (int k = 0; k < {end}; k++) C[i][j] += A[i][k] * B[k][j]; }}",
)
COLUMNS = (
    "int n, double A[n][{row}], double y[{row}]",
    "for (int j = 0; j < {end}; j++) {{ y[j] = 0; for (int i = 0; i < n; i++) y[j] += A[i][j]; }}",
)
ROWS = (
    "int n, double A[n][{row}], double x[{row}], double y[n]",
    "for (int i = 0; i < n; i++) {{ y[i] = 0; for (int j = 0; j < {end}; j++) y[i] += A[i][j] * x[j]; }}",
)
PLANES = (
    "int n, double A[n][5][{row}], double y[{row}]",
    "for (int j = 0; j < {end}; j++) {{ y[j] = 0; for (int i = 0; i < n; i++) y[j] += A[i][1][j] + A[i][3][j]; }}",
)
PROGRAMS = {"gemm": GEMM, "columns": COLUMNS, "rows": ROWS, "planes": PLANES}


def of(program: tuple[str, str], element: str, row: int, end: int) -> tuple[str, str]:
    arguments, body = (text.format(row=row, end=end) for text in program)
    return arguments.replace("double", element), body


@pytest.mark.slow(but="3-3-double-True-columns")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("element", "strict"), [("double", True), ("float", False)])
@pytest.mark.parametrize(("row", "end"), [(1, 1), (3, 3), (513, 512)])
def test_the_same_as_the_sequential_program(
    emulator: None, compiled: Callable[..., Any], name: str, element: str, strict: bool, row: int, end: int
) -> None:
    found = compiled(*of(PROGRAMS[name], element, row, end), strict=strict)
    assert found.cuda and not [r for r in found.remarks if r.severity == "warning"]
    for n in (0, 1, 7) if name == "gemm" and row > 3 else (0, 1, 7, 130):
        found.validate(on="emulator", parameters={"n": n}, seed=n)


@pytest.mark.slow
def test_mini_as_polybench_writes_it(emulator: None, compiled: Callable[..., Any]) -> None:
    arguments = "int ni, int nj, int nk, double a, double b, double C[20][25], double A[20][30], double B[30][25]"
    body = (
        "for (int i = 0; i < ni; i++) { for (int j = 0; j < nj; j++) C[i][j] *= b;"
        " for (int k = 0; k < nk; k++) for (int j = 0; j < nj; j++) C[i][j] += a * A[i][k] * B[k][j]; }"
    )
    for element, sanitize in (("double", ()), ("float", ("address", "undefined", "race"))):
        found = compiled(arguments.replace("double", element), body)
        for ni, nj, nk in ((0, 0, 0), (1, 1, 1), (20, 25, 30), (19, 24, 29)):
            sizes = {"ni": ni, "nj": nj, "nk": nk}
            found.validate(on="emulator", parameters=sizes, seed=1, sanitize=sanitize)


# Which elements are together ------------------------------------------------------------------------------------------
ROW, J, N = Name("i", INT), Name("j", INT), Name("n", INT)


def plus(by: int, name: Name, more: int) -> Expr:
    return Binary("+", Binary("*", Literal(str(by)), name, INT), Literal(str(more)), INT)


def groups(
    row: Expr, *elements: Expr, of: Expr | None, ctype: CType = DOUBLE, lanes: WarpLanes | None = None
) -> list[tuple[int, ...]]:
    """Of A[row][element], of each element of an iteration i, the numbers of those that are together."""
    accesses = [Access("A", (row, e), ctype) for e in elements]
    forms = [tuple(form for s in a.subscripts if (form := linear(s)) is not None) for a in accesses]
    loads = [HeldLoad(a, form, ()) for a, form in zip(accesses, forms, strict=True)]
    return vectors(loads, "i", {"A": (None, of)}, lanes or WarpLanes())


def neighbours(count: int, start: int = 0, by: int = 4) -> list[Expr]:
    return [plus(by, J, start + k) for k in range(count)]


def test_rows_of_a_length_that_is_not_known_are_asked_for() -> None:
    assert groups(ROW, *neighbours(4), of=N, ctype=FLOAT) == [(0, 1, 2, 3)]
    assert groups(plus(4, Name("t", INT), 1), *neighbours(4), of=None, ctype=FLOAT) == [(0, 1, 2, 3)]


@pytest.mark.parametrize(
    ("length", "row", "expected"),
    [
        (516, 1, [(0, 1, 2, 3)]),
        (514, 0, [(0, 1, 2, 3)]),
        (514, 1, [(0, 1), (2, 3)]),
        (513, 1, [(1, 2)]),
        (513, 2, [(0, 1), (2, 3)]),
        (513, 3, [(1, 2)]),
    ],
)
def test_rows_of_a_constant_length(length: int, row: int, expected: list[tuple[int, ...]]) -> None:
    place = plus(4, Name("t", INT), row)
    assert groups(place, *neighbours(4), of=Literal(str(length)), ctype=FLOAT) == expected


def test_iterations_that_move_vectors_out_of_alignment() -> None:
    """In every other row alone are the vectors aligned, and a batch has several rows."""
    assert groups(ROW, *neighbours(2), of=Literal("513")) == []
    assert groups(ROW, *neighbours(2), of=Literal("514")) == [(0, 1)]


def test_vectors_of_one_array_that_are_never_aligned_together() -> None:
    outer = Name("b", INT)
    both = [Binary("+", e, outer, INT) for e in (*neighbours(2), *neighbours(2, 5))]
    assert groups(outer, *both, of=N) == [(0, 1)]
    assert groups(outer, *both[:2], *[Binary("+", e, outer, INT) for e in neighbours(2, 6)], of=N) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("apart", "expected"),
    [(1, []), (2, [(0, 1), (2, 3)]), (3, []), (4, [(0, 1, 2, 3)]), (6, [(0, 1), (2, 3)])],
)
def test_lanes_that_are_not_aligned_at_once(apart: int, expected: list[tuple[int, ...]]) -> None:
    """Neighbouring lanes are so many elements apart, in rows of a length that is not known."""
    lanes = WarpLanes(frozenset({"j"}))
    assert groups(ROW, *neighbours(4, by=apart), of=N, ctype=FLOAT, lanes=lanes) == expected
