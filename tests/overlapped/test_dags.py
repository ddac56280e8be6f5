"""DAGs of stencils that are not iterated, in one kernel with overlapped tiles, against C in the emulator, and their
certificates."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

import polytile
from polytile.check.checker import problems
from polytile.ir.time_tile import Exchange
from tests.bitwise import same_as_c
from tests.time_tiles import tile_of

from .checks import compiled, plan_of, refusal

pytestmark = pytest.mark.usefixtures("emulator")

PLANE = "for (int i = {0}; i < n - {1}; i++) for (int j = {0}; j < m - {1}; j++) "
SPACE = "for (int i = {0}; i < n - {0}; i++) for (int j = {0}; j < m - {0}; j++) for (int k = {0}; k < m - {0}; k++) "
BLUR = (
    "int n, int m, double A[n][m], double D[n][m]",
    "double B[n][m], C[n][m];",
    "for (int i = 0; i < n; i++) for (int j = 1; j < m - 1; j++) B[i][j] = 0.25 * A[i][j - 1] + A[i][j] - A[i][j + 1];"
    + PLANE.format(1, 1)
    + "C[i][j] = 0.25 * B[i - 1][j] + 0.5 * B[i][j] + 0.25 * B[i + 1][j];"
    + PLANE.format(2, 2)
    + "D[i][j] = C[i][j] - 0.1 * (C[i][j - 1] + C[i + 1][j + 1]) + A[i][j];",
)
PROGRAMS = {  # arguments, local arrays, and the stencils
    "a chain through local arrays": BLUR,
    "all arrays are seen": (
        "int n, int m, double A[n][m], double B[n][m], double C[n][m], double D[n][m]",
        "",
        BLUR[2],
    ),
    "cells that no statement makes are read": (
        "int n, int m, double A[n][m], double B[n][m], double C[n][m]",
        "",
        PLANE.format(3, 4)
        + "B[i][j] = A[i][j] * 0.5;"
        + PLANE.format(1, 2)
        + "C[i][j] = B[i - 1][j] + B[i + 2][j - 1];",
    ),
    "a field from two, one read late": (
        "int n, int m, float A[n][m], float D[n][m]",
        "float B[n][m], C[n][m];",
        PLANE.format(2, 2)
        + "B[i][j] = A[i - 2][j] + A[i + 2][j];"
        + PLANE.format(2, 2)
        + "C[i][j] = B[i][j] * A[i][j];"
        + PLANE.format(4, 4)
        + "D[i][j] = B[i - 2][j + 1] - C[i + 1][j - 2];",
    ),
    "two statements make one array": (
        "int n, int m, double A[n][m], double C[n][m]",
        "double B[n][m];",
        "for (int j = 0; j < m; j++) B[0][j] = A[0][j] * 2.0;"
        "for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) B[i][j] = A[i][j] + A[i - 1][j];"
        "for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) C[i][j] = B[i - 1][j] * 0.5 + B[i][j - 1];",
    ),
    "one dimension": (
        "int n, int m, double A[n], double C[n]",
        "double B[n];",
        "for (int i = 2; i < n - 1; i++) B[i] = A[i - 2] * 0.3 + A[i + 1];"
        "for (int i = 4; i < n - 3; i++) C[i] = B[i + 2] * 0.5 + B[i - 2];",
    ),
    "coefficients and a condition on sizes": (
        "int n, int m, int k, double A[n][m], double c[n], double C[n][m]",
        "double B[n][m];",
        PLANE.format(0, 0)
        + "B[i][j] = c[i] * A[i][j];"
        + "if (k > 3) "
        + PLANE.format(1, 1)
        + "C[i][j] = B[i - 1][j] + B[i][j + 1];",
    ),
    "three dimensions": (
        "int n, int m, double A[n][m][m], double C[n][m][m]",
        "double B[n][m][m];",
        SPACE.format(1)
        + "B[i][j][k] = A[i - 1][j][k] + A[i][j][k + 1] - 0.5 * A[i][j][k];"
        + SPACE.format(2)
        + "C[i][j][k] = B[i + 1][j][k] - 0.25 * B[i][j - 1][k] + B[i][j][k - 1];",
    ),
}
SIZES = tuple({"n": n, "m": m, "k": k} for (n, m), k in product(((1, 1), (2, 3), (3, 9), (9, 6), (21, 35)), (2, 5)))


def program(arguments: str, arrays: str, stencils: str) -> str:
    return f"void f({arguments})\n{{\n{arrays}\n#pragma scop\n{stencils}\n#pragma endscop\n}}\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_c(name: str) -> None:
    result = polytile.compile(program(*PROGRAMS[name]), schedule="overlapped", strict=True, raise_bugs=True)
    (scop,) = json.loads(result.certificate)["scops"]
    assert tile_of(scop)["once"] and not list(problems(scop))
    same_as_c(result.scops[0], SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"tile": (4, 64)}, {"tile": (64,), "block": (64,)}, {"parameters": {"n": 9}}])
def test_tiles_of_other_sizes(asked: dict[str, Any]) -> None:
    scop = compiled(program(*BLUR), **asked)
    assert plan_of(scop).once
    same_as_c(scop, ({"n": 1, "m": 1}, {"n": 11, "m": 131}, {"n": 9, "m": 70}))


def test_local_arrays_touch_no_memory() -> None:
    scop = compiled(program(*BLUR))
    plan = plan_of(scop)
    assert plan.exchange is Exchange.WARP
    assert [plan.steps[s.step].array for s in plan.stores] == ["D"]
    same_as_c(scop, ({"n": 7, "m": 37},))


def test_space_of_three_dimensions() -> None:
    plan = plan_of(compiled(program(*PROGRAMS["three dimensions"])))
    assert plan.exchange is Exchange.BLOCK and [s.array for s in plan.steps] == ["B", "C"]


IN_PLACE = "B[i][j] = A[i][j - 1] + A[i][j + 1];" + PLANE.format(1, 1) + "A[i][j] = B[i][j] + B[i - 1][j];"
REVERSED = "B[i][j] = A[i][j - 1];" + PLANE.format(1, 1) + "C[i][j] = B[i][m - 1 - j];"
REFUSED = {
    "reads A before it is written": IN_PLACE,
    "at no fixed distance from what it writes": REVERSED,
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused(why: str) -> None:
    arguments = "int n, int m, double A[n][m], double B[n][m], double C[n][m]"
    found = refusal(compiled(program(arguments, "", PLANE.format(1, 1) + REFUSED[why])))
    assert found is not None and why in found


def test_iterations_that_are_asked_for() -> None:
    found = refusal(compiled(program(*BLUR), time_tile=3))
    assert found is not None and "no iterations to run at once" in found


def test_other_schedules_are_as_before() -> None:
    assert compiled(program(*BLUR), schedule="auto").compilation.overlapped is None
