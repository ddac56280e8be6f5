"""Tiles in registers: rows and columns that a thread runs inside its serial loop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from polytile.certificate import certificate
from polytile.check.checker import problems

SUPERPOSED: dict[str, Any] = {"schedule": "superposed"}
ELEMENTS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
PRODUCT = (
    "int n, int m, int l, double C[n][m], double A[n][l], double B[l][m]",
    ELEMENTS + "{ C[i][j] *= 0.5; for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j]; }",
)
SHORTEST = (  # paths
    "int n, int m, int l, double C[n][m], double A[n][l], double B[l][m]",
    ELEMENTS + "for (int k = 0; k < l; k++) { double v = A[i][k] + B[k][j]; C[i][j] = C[i][j] < v ? C[i][j] : v; }",
)
TRIANGLE = (
    "int n, int m, int l, double C[n][n], double A[l][n]",
    "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) { C[i][j] = 0; "
    "for (int k = 0; k < l; k++) C[i][j] += A[k][i] * A[k][j]; C[i][j] /= l + 1; }",
)
TWO_LOOPS = (
    "int n, int m, int l, double C[n][m], double A[n][l][3], double B[l][3][m]",
    ELEMENTS + "for (int k = 0; k < l; k++) for (int q = 0; q < 3; q++) C[i][j] += A[i][k][q] * B[k][q][j];",
)
THREE_DIMENSIONS = (
    "int n, int m, int l, double C[3][n][m], double A[3][n][l], double B[l][m]",
    "for (int h = 0; h < 3; h++) " + ELEMENTS + "for (int k = 0; k < l; k++) C[h][i][j] += A[h][i][k] * B[k][j];",
)
BACKWARDS = (
    "int n, int m, int l, double C[n][m], double A[n][l], double B[l][m + 1]",
    "for (int i = n - 1; i >= 0; i--) for (int j = 0; j < m; j++) "
    "for (int k = l - 1; k >= 0; k--) C[i][j] = A[i][k] * B[k][j + 1] + C[i][j] * 0.5;",
)
OWN_ARRAY = (  # reads other elements of what it updates
    "int n, int m, int l, double C[n + l][m], double A[n][l]",
    ELEMENTS + "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * C[n + k][j];",
)
SOMETIMES = (  # a load below a condition on values
    PRODUCT[0],
    ELEMENTS + "for (int k = 0; k < l; k++) C[i][j] += B[k][j] > 1 ? A[i][k] : B[k][j];",
)
PROGRAMS = {
    "sometimes": (SOMETIMES, "[i/32,j/64]"),
    "product": (PRODUCT, "[i/32,j/64]"),
    "shortest paths": (SHORTEST, "[i/32,j/64]"),
    "triangle": (TRIANGLE, "[i/32,j/64]"),
    "two loops": (TWO_LOOPS, "[i/32,j/64]"),
    "three dimensions": (THREE_DIMENSIONS, "[h/2,i/16,j/64]"),
    "backwards": (BACKWARDS, "[i/32,j/32]"),
    "own array": (OWN_ARRAY, "[i/32,j/64]"),
}
SIZES = [(0, 3, 4), (1, 1, 1), (3, 2, 0), (4, 64, 2), (5, 67, 5), (32, 65, 3), (33, 128, 12), (35, 131, 17)]
SIZES += [(66, 30, 8)]



@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_structure(name: str, compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    program, blocks = PROGRAMS[name]
    found = shape(compiled(*program, **SUPERPOSED).compilation.schedule.tree, threads=True)
    assert f"block{blocks}" in found and "serial[imod4]" in found
    assert found.count("serial[jmod2]") == (0 if name == "backwards" else found.count("serial[imod4]"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "element"),
    [*((name, element) for name in PROGRAMS for element in ("double", "float")), ("product", "int")],
)
def test_values(name: str, element: str, compiled: Callable[..., Any], emulator: None) -> None:
    """The order of each element's updates is the source's: equal bits, at the borders too."""
    program, _ = PROGRAMS[name]
    parts = [part.replace("double", element).replace("0.5", "2" if element == "int" else "0.5") for part in program]
    found = compiled(*parts, strict=True, **SUPERPOSED)
    assert found.compilation.scop.privatised == () and "_acc3" in found.cuda
    for n, m, k in SIZES:
        sizes = {"n": n, "m": m, "l": k}
        own = {p.name for p in found.scop.parameters}
        given = {key: value for key, value in sizes.items() if key in own}
        found.validate(on="emulator", parameters=given, seed=1, sanitize=("address", "undefined", "race"))


@pytest.mark.slow
@pytest.mark.parametrize("size", ["once", "k_last", "k_rest", "u", "C_acc", "C_at0", "A_at", "A_rest", "tile"])
def test_names_that_are_ours(size: str, compiled: Callable[..., Any], emulator: None) -> None:
    """A size in the conditions of the borders may have any name."""
    arguments = f"int {size}, int m, int l, float C[{size} + 2][m], float A[{size} + 2][l], float B[l][m]"
    body = (
        f"for (int i = 0; i < {size}; i++) for (int j = 0; j < m - {size}; j++) "
        "{ C[i][j] *= 0.5f; for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j]; }"
    )
    found = compiled(arguments, body, **SUPERPOSED)
    assert not re.search(r"\b0 >= ", found.cuda)
    for n, m in ((4, 140), (33, 264), (8, 9), (36, 136)):
        sizes = {size: n, "m": m, "l": 11}
        found.validate(on="emulator", parameters=sizes, seed=1, sanitize=("address", "undefined", "race"))


def test_the_checker_agrees(compiled: Callable[..., Any]) -> None:
    state = compiled(*PRODUCT, **SUPERPOSED).compilation
    (found,) = json.loads(certificate("test.c", "", [], [state]))["scops"]
    assert list(problems(found)) == []


UNTILED = {
    "loops of other lengths": "for (int k = 0; k < i; k++) C[i][j] += A[i][k] * B[k][j];",
    "an element for each iteration": "for (int k = 1; k < l; k++) D[i][k][j] = D[i][k - 1][j] + A[i][k] * B[k][j];",
    "nothing shared": "for (int k = 0; k < l; k++) C[i][j] += D[i][k][j];",
    "most of it for one row": "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * D[i][k][j] * B[k][j];",
    "the last value": "for (int k = 0; k < l; k++) C[i][j] = A[i][k] * B[k][j];",
    "other updates": "for (int k = 0; k < l; k++) if (A[i][k] > 0) C[i][j] += A[i][k] * B[k][j];",
}


@pytest.mark.parametrize("case", UNTILED)
def test_what_has_no_tile(case: str, compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    arguments = "int n, int m, int l, double C[n][m], double A[n][n + l], double B[n + l][m], double D[n][l][m]"
    found = compiled(arguments, ELEMENTS + UNTILED[case], **SUPERPOSED).compilation
    assert "serial[imod" not in shape(found.schedule.tree, threads=True)


def test_sizes_that_are_asked_for(compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    for options in ({"tile": (8, 32)}, {"sizes": "{ kernel[0] -> tile[8, 32] }"}):
        found = compiled(*PRODUCT, **SUPERPOSED, **options).compilation
        assert "block[i/8,j/32]" in shape(found.schedule.tree)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [
        ({"n": 2000, "m": 2000}, "[i/32,j/64]"),
        ({"n": 500, "m": 400}, "[i/32,j/32]"),
        ({"n": 400, "m": 256}, "[i/16,j/32]"),
        ({"n": 100, "m": 100}, "[i/8,j/32]"),
        ({"n": 0, "m": 100}, "[i/32,j/64]"),  # nothing to fill it with
        ({"n": 100}, "[i/32,j/64]"),
    ],
)
def test_few_results_keep_their_threads(
    sizes: dict[str, int], blocks: str, compiled: Callable[..., Any], shape: Callable[..., str]
) -> None:
    """Where sizes are known and few, a tile would leave multiprocessors without blocks."""
    found = compiled(*PRODUCT, **SUPERPOSED, parameters=sizes).compilation
    assert f"block{blocks}" in shape(found.schedule.tree)


def test_narrow_elements(compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    """Rows alone, where there are no columns or not enough blocks for them."""
    program = [part.replace("double", "float") for part in BACKWARDS]
    assert "block[i/32,j/32]" in shape(compiled(*program, **SUPERPOSED).compilation.schedule.tree)
    program = [part.replace("double", "float") for part in PRODUCT]
    few = compiled(*program, **SUPERPOSED, parameters={"n": 500, "m": 400}).compilation
    assert "block[i/32,j/32]" in shape(few.schedule.tree)


def test_auto_takes_tiles_in_shared_memory_instead(compiled: Callable[..., Any]) -> None:
    assert compiled(*PRODUCT).compilation.schedule.strategy.startswith("tiled")
