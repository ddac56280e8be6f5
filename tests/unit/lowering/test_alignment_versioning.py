"""Neighbouring columns of a thread that sums, as vectors; several rows of a thread; what it updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

ROWS = (
    "int n, int m, double A[n][m], double x[m], double y[n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j];",
)
TWO = (
    "int n, int m, double A[n][m], double B[n][m], double x[m], double y[n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j] + B[i][j];",
)
CHANGING = (
    "int n, int m, double A[n][m], double u[n], double v[m], double x[n], double y[m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { A[i][j] += u[i] * v[j]; y[j] += A[i][j] * x[i]; }",
)
AGAIN = (
    "int n, int m, double A[n][m], double x[m], double t[n], double y[m]",
    "for (int j = 0; j < m; j++) y[j] = 0;"
    "for (int i = 0; i < n; i++) { t[i] = 0;"
    " for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];"
    " for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }",
)
SHIFTED = (
    "int n, int m, double A[n][m], double x[m], double y[n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m - 1; j++) y[i] += A[i][j + 1] * x[j];",
)
PROGRAMS = {"rows": ROWS, "two": TWO, "changing": CHANGING, "again": AGAIN, "shifted": SHIFTED}
# Rows whose length is a multiple of a vector's, and others; edges of vectors, of warps, of blocks and of batches.
FEW = ((0, 4), (1, 1), (3, 2), (4, 3), (5, 4), (6, 31), (9, 130))
PAIRS = (*FEW, (17, 512), (33, 516), (70, 1030), (65, 1200), (18, 1700))
SIZES = [{"n": n, "m": m} for n, m in PAIRS]
WIDTHS = ("double", "float", "short", "signed char")
# Each program with vectors of two elements and of four, or without; one of them with all types.
TYPES = [*((name, element) for name in PROGRAMS if name != "rows" for element in ("double", "float"))]
TYPES += [("rows", element) for element in (*WIDTHS, "int", "long")] + [("two", "short"), ("shifted", "signed char")]


def of(program: tuple[str, str], element: str) -> tuple[str, str]:
    arguments, body = program
    return arguments.replace("double", element), body


def kernel(compiled: Callable[..., Any], program: tuple[str, str], number: int = 0) -> str:
    text: str = compiled(*program, schedule="superposed").cuda.partition("// Shared by the entry points")[0]
    return text.split('extern "C" __global__')[number + 1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "element"), TYPES)
def test_the_same_as_the_sequential_program(
    emulator: None, compiled: Callable[..., Any], name: str, element: str
) -> None:
    found = compiled(*of(PROGRAMS[name], element), schedule="superposed")
    for sizes in SIZES:
        found.validate(on="emulator", parameters=sizes, seed=1, sanitize=("address", "undefined", "race"))


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 1, 2, 3])
def test_rows_that_begin_anywhere(emulator: None, compiled: Callable[..., Any], more: int) -> None:
    arguments = f"int n, int m, float A[n][m + {more}], float x[m], float y[n]"
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j];"
    found = compiled(arguments, body, schedule="superposed")
    for n, m in ((3, 8), (5, 520), (6, 1000)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=("address", "undefined"))


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("element", "vector"), [("double", "double2"), ("float", "float4"), ("short", "short4")])
def test_vectors_where_they_are_aligned(compiled: Callable[..., Any], element: str, vector: str) -> None:
    text = kernel(compiled, of(TWO, element))
    assert f"*(const {vector} *)&A[" in text and f"*(const {vector} *)&x[" in text
    asked, loads, scalar = re.split(r"if \(aligned\) \{|\} else \{", text, maxsplit=2)
    assert "bool aligned = polytile_aligned<" in asked and "&B[" in asked
    assert f"{vector} v" in loads and "polytile_min" not in loads and "y_part += " in loads
    assert re.match(rf"\s*{element} ([AB])_at0 = \1\[", scalar)


def test_what_is_shifted_is_no_vector(compiled: Callable[..., Any]) -> None:
    """Its rows and those of the other array are never aligned together."""
    assert "aligned" not in kernel(compiled, SHIFTED) and "aligned" not in kernel(compiled, of(ROWS, "signed char"))


def test_work_without_conditions(compiled: Callable[..., Any]) -> None:
    """Those of the neighbours are asked for once for a batch; they are left where one of them is not there."""
    text = kernel(compiled, of(TWO, "float"))
    fast = text[text.index("bool aligned") : text.index("} else {", text.index("y_part +="))]
    assert "if (m >=" not in fast and fast.count("y_part += ") == 4 * 4
    assert re.search(r"if \(m >= 4 \* t1 \+ 128 \* c_3 \+ 2\) \{", text)


@pytest.mark.slow
def test_elements_that_change_are_stored_as_vectors(compiled: Callable[..., Any]) -> None:
    text = kernel(compiled, of(CHANGING, "float"))
    assert "make_float4(A_at0, A1_at0, A2_at0, A3_at0)" in " ".join(text.split())
    assert "float y_part[4];" in text and "bj = blockIdx.x" in text
    assert "y_part_all[4][32][9]" in text  # neighbouring threads in neighbouring banks


def test_rows_that_share_what_they_load(compiled: Callable[..., Any]) -> None:
    text = kernel(compiled, ROWS)
    assert "__launch_bounds__(128" in text and "double y_part[4];" in text
    batch = text[text.index("bool aligned") : text.index("} else {")]
    assert batch.count("double2 *)&x[") * 4 == batch.count("double2 *)&A[")
    assert "double y_part;" in kernel(compiled, TWO)  # one load of three


def test_half_of_the_threads_have_room_where_the_batch_leaves_it(compiled: Callable[..., Any]) -> None:
    """Two vectors of each of four rows and of x take 40 registers; sums in double 8 more, and not 4."""
    assert "__launch_bounds__(128, 8)" in kernel(compiled, of(ROWS, "float"))
    assert "__launch_bounds__(128, 4)" in kernel(compiled, ROWS)


def test_loads_come_together_before_the_work_only_where_registers_are_few(compiled: Callable[..., Any]) -> None:
    for element, starts in (("float", "const float4 v"), ("double", "double A_at0;")):
        aligned = kernel(compiled, of(ROWS, element)).partition("if (aligned) {")[2]
        assert aligned.lstrip().startswith(starts)
        assert ("y_part[0] +=" in aligned[: aligned.index("} else {")]) == (element == "double")


@pytest.mark.slow
def test_blocks_that_fill_a_multiprocessor_load_what_its_registers_hold(compiled: Callable[..., Any]) -> None:
    """12 vectors of A and of x take 96 of 128 registers, 16 rows and their factors 80; blocks of half the size 8."""
    for element in ("float", "double"):
        text = kernel(compiled, of(AGAIN, element))
        assert "__launch_bounds__(512, 1)" in text and "t_part += A_at11 * x_at11;" in text
        assert "A_at12 * x_at12" not in text and "c_3 += 12" in text and "A_at15 * t_at15" in text
    text = kernel(compiled, of(TWO, "float"))
    assert "__launch_bounds__(256, 2)" in text and "A_at3 * x_at3" in text and "A_at4 * x_at4" not in text


def test_updates_are_loaded_before_the_sums(compiled: Callable[..., Any]) -> None:
    """All of them at once, in front of what the block waits for."""
    text = kernel(compiled, ROWS)
    start, rest = text.split("bool aligned", 1)
    assert start.count("_held = ") == 4 and "? y[4 * bi + 3] : 0.0;" in " ".join(start.split())
    assert "y3_held += y_sum;" in rest and "y[i] = y3_held;" in rest and "y[i] += " not in text


@pytest.mark.slow
def test_a_thread_knows_what_it_has_stored(compiled: Callable[..., Any]) -> None:
    for number, element in ((0, "t"), (1, "y")):
        text = " ".join(kernel(compiled, AGAIN, number).split())
        assert re.search(rf"double {element}_held = 0(\.0)?; {element}_held \+= ", text)
        assert f"{element}[i] += " not in text and f"{element}[j] += " not in text
