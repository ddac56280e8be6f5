"""Reads along another dimension than threads are numbered by: rows go through shared memory where that pays."""

from __future__ import annotations

import pytest

import polytile

pytestmark = pytest.mark.usefixtures("emulator")

SQUARE = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
STAGED = {
    "transposed": (
        "{t} A[m][n], {t} B[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) B[i][j] = A[j][i];",
    ),
    "loops the other way round": (
        "{t} A[m][n], {t} B[n][m]",
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) B[i][j] = A[j][i];",
    ),
    "beside rows": ("{t} A[n][n], {t} B[n][n]", f"{SQUARE} B[i][j] = A[j][i] + A[i][j];"),
    "two arrays": ("{t} A[n][n], {t} C[n][n], {t} B[n][n]", f"{SQUARE} B[i][j] = A[j][i] * C[j][i];"),
    "neighbours": (
        "{t} A[n][n], {t} B[n][n]",
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        " B[i][j] = A[j - 1][i] + A[j + 1][i] + A[j][i - 1] + A[j][i + 1];",
    ),
    "every second column": ("{t} A[n][2 * n], {t} B[n][n]", f"{SQUARE} B[i][j] = A[j][2 * i];"),
    "backwards": ("{t} A[n][n], {t} B[n][n]", f"{SQUARE} B[i][j] = A[j][n - 1 - i];"),
    "triangle": (
        "{t} A[n][n], {t} B[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) B[i][j] = A[j][i];",
    ),
    "a local": ("{t} A[n][n], {t} B[n][n]", f"{SQUARE} {{ {{t}} v = A[j][i]; v = v * v; B[i][j] = v + v; }}"),
    "three dimensions": (
        "{t} A[m][n][n], {t} B[n][n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++) B[i][j][k] = A[k][j][i];",
    ),
    "planes": (
        "{t} A[n][m][n], {t} B[n][n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++) B[i][j][k] = A[i][k][j];",
    ),
    "in a loop over time": (
        "{t} A[n][n], {t} B[n][n]",
        f"for (int s = 0; s < 3; s++) {{ {SQUARE} B[i][j] += A[j][i]; {SQUARE} A[i][j] = B[j][i] - B[i][j]; }}",
    ),
}
PLAIN = {
    "swapped in place": (
        "{t} A[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) { {t} v = A[i][j]; A[i][j] = A[j][i]; A[j][i] = v; }",
    ),
    "diagonal": ("{t} A[n][n], {t} B[n][n]", f"{SQUARE} B[i][j] = A[j][j] + A[i][i];"),
    "structs": ("struct pair A[n][n], struct pair B[n][n]", f"{SQUARE} B[i][j] = A[j][i];"),
    "fields": ("struct pair A[n][n], {t} B[n][n]", f"{SQUARE} B[i][j] = A[j][i].y;"),
}
SIZES = ((0, 0), (1, 1), (1, 40), (31, 32), (33, 7), (64, 32), (70, 45))


def text(arguments: str, body: str, element: str) -> str:
    arguments, body = (part.replace("{t}", element) for part in (arguments, body))
    structs = f"struct pair {{ {element} x, y; }};\n" if "struct" in arguments else ""
    return f"{structs}void f(int n, int m, {arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def check(found: polytile.Program) -> None:
    (scop,) = found.scops
    names = {p.name for p in scop.compilation.scop.parameters}
    for n, m in SIZES:
        large = "[k]" in scop.cuda and n > 1
        sizes = {"n": n // 2 if large else n, "m": m}
        sizes = {name: value for name, value in sizes.items() if name in names}
        scop.validate(on="emulator", parameters=sizes, seed=n + m, sanitize=("address", "undefined", "race"))


@pytest.mark.slow(but="double-transposed")
@pytest.mark.parametrize("form", STAGED)
@pytest.mark.parametrize("element", ["double", "float", "char"])
def test_rows_through_shared_memory(form: str, element: str) -> None:
    found = polytile.compile(text(*STAGED[form], element))
    assert "__shared__" in found.cuda
    check(found)


@pytest.mark.slow
@pytest.mark.parametrize("form", PLAIN)
def test_where_there_are_no_tiles(form: str) -> None:
    found = polytile.compile(text(*PLAIN[form], "float"))
    assert found.cuda and "__shared__" not in found.cuda
    check(found)


@pytest.mark.slow
def test_blocks_that_are_asked_for() -> None:
    check(polytile.compile(text(*STAGED["transposed"], "double"), block=(16, 16)))


@pytest.mark.slow
def test_small_grids_have_more_blocks_instead() -> None:
    """By estimate; a grid of 96 x 96 is 9 wide tiles."""
    of = "double A[96][96], double B[96][96]", SQUARE.replace("n;", "96;") + " B[i][j] = A[j][i];"
    assert "__shared__" not in polytile.compile(text(*of, "double")).cuda
