"""Sums over several loops around a statement are shared out: the outer loop by blocks, the inner one by threads."""

from __future__ import annotations

import pytest

import polytile
from tests.reading import shared

CHECKS = "address,undefined,race,uninitialised"
PROGRAMS = {
    "all of an array": (
        "int n, int m, double a[n][m], double s[1]",
        "s[0] = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s[0] += a[i][j];",
    ),
    "column after column": (
        "int n, int m, double a[n][m], double s[1]",
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) s[0] += a[i][j];",
    ),
    "three loops, the outermost one along rows": (
        "int n, int m, double a[m][n][m], double s[1]",
        "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++) s[0] += a[k][j][i];",
    ),
    "loops that start at 1": (
        "int n, int m, double a[n + 1][m + 1], double s[1]",
        "for (int i = 1; i <= n; i++) for (int j = 1; j <= m; j++) s[0] += a[i][j];",
    ),
    "one bound for both loops": (
        "int n, int m, double a[n + 1][n + m], double s[1]",
        "for (int i = 1; i <= n; i++) for (int j = 0; j < n; j++) s[0] += a[i][j + m];",
    ),
    "triangle": (
        "int n, int m, float a[n][n], float s[m + 1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) s[m] += a[i][j] * a[i][j];",
    ),
    "three loops": (
        "int n, int m, double a[n][m][n], double s[1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < n; k++) s[0] += a[i][j][k];",
    ),
    "least of an array": (
        "int n, int m, int a[n][m], int s[1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (a[i][j] < s[0]) s[0] = a[i][j];",
    ),
    "a sum of each channel": (
        "int n, int m, float x[n][m][n][m], float mean[m]",
        "for (int k = 0; k < m; k++) mean[k] = 0;"
        " for (int b = 0; b < n; b++) for (int k = 0; k < m; k++) for (int i = 0; i < n; i++)"
        " for (int j = 0; j < m; j++) mean[k] += x[b][k][i][j];",
    ),
    "all of four dimensions": (
        "int n, int m, double a[n][m][m][n], double s[1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < m; k++)"
        " for (int l = 0; l < n; l++) s[0] += a[i][j][k][l];",
    ),
    "the first dimension last": (
        "int n, int m, float a[n][m][m][n], float s[1]",
        "for (int j = 0; j < m; j++) for (int k = 0; k < m; k++) for (int l = 0; l < n; l++)"
        " for (int i = 0; i < n; i++) s[0] += a[i][j][k][l] * a[i][j][k][l];",
    ),
    "all of five dimensions": (
        "int n, int m, float a[n][m][2][n][m], float s[1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int h = 0; h < 2; h++)"
        " for (int k = 0; k < n; k++) for (int l = 0; l < m; l++) s[0] += a[i][j][h][k][l];",
    ),
    "least of four dimensions": (
        "int n, int m, int a[n][m][n][m], int s[1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < n; k++)"
        " for (int l = 0; l < m; l++) if (a[i][j][k][l] < s[0]) s[0] = a[i][j][k][l];",
    ),
}


@shared
def compiled(name: str, **options: object) -> polytile.api.CompiledScop:
    arguments, body = PROGRAMS[name]
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return polytile.compile(text, name="f.c", **options).scops[0]


@pytest.mark.slow(but="all of an array")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_sums(name: str) -> None:
    scop = compiled(name)
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy.startswith("superposed")
    assert scop.compilation.scop.privatised
    most = 6 if name == "a sum of each channel" or "dimension" in name else 40
    for n, m in ((0, 1), (1, 0), (1, 1), (2, most), (most, 3), (most - 3, most - 1)):
        assert scop.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=CHECKS)


def test_blocks_share_a_sum_over_two_loops() -> None:
    state = compiled("all of an array").compilation
    assert state.program is not None
    assert max(kernel.block[0] for kernel in state.program.kernels) == 256
    (made,) = state.scop.privatised
    assert [split.iterator for split in made.splits if not split.lanes] == [0]


def test_what_takes_too_long_is_said() -> None:
    """A loop whose reductions are not looked through is not called serial without a word."""
    scop = compiled("all of an array", max_operations=2000)
    assert scop.compilation.schedule is None
    remarks = [remark.message for remark in scop.compilation.remarks]
    assert any("takes too long" in message and "--max-operations" in message for message in remarks), remarks
