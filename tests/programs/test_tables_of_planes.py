"""Pointers to pointers to rows, `double ***w`, and deeper: arrays where rows lie at equal distances; C elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polytile
from tests.every_schedule import same_in_every_schedule, source
from tests.same_output import kernel_runs, prints_the_same

SIZES = (
    {"n": 0, "m": 2},
    {"n": 1, "m": 1},
    {"n": 7, "m": 9},
    {"n": 20, "m": 33},
    {"n": 5, "m": 4, "w_rows": 6, "w_pitch": 11},
)
PROGRAMS = {
    "set": (
        "double ***w",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < n + m; k++)"
        " w[i][j][k] = i + 0.5 * j - k;",
    ),
    "a stencil": (
        "float ***w, float ***v",
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++) for (int k = 1; k < m - 1; k++)"
        " v[i][j][k] = 0.25f * (w[i - 1][j][k] + w[i + 1][j][k] + w[i][j - 1][k] + w[i][j + 1][k] + w[i][j][k + 1]);",
    ),
    "sums of planes": (
        "float ***w, float **c, int **l, int *s",
        "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { s[i] += l[j][i]; l[j][i] = 0;"
        " for (int k = 0; k < m; k++) { c[i][k] += w[j][i][k]; w[j][i][k] = 0; } }",
    ),
    "a pointer to a plane": (
        "double ***w",
        "for (int i = 0; i < n; i++) { double **plane = w[i]; for (int j = 0; j < m; j++) {"
        " double *row = plane[j]; for (int k = 0; k < 5; k++) row[k] = row[k] * 2 + i; } }",
    ),
    "arrays of pointers": (
        "double **w[4], const int *v[3][5]",
        "for (int i = 0; i < 3; i++) for (int j = 0; j < 5; j++) for (int k = 0; k < m; k++)"
        " w[i + 1][j][k] += v[i][j][k];",
    ),
    "a triangle": (
        "int ***w",
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) for (int k = 0; k <= j; k++) w[i][j][k] += i - k;",
    ),
    "four levels": (
        "double ****w",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < 3; k++)"
        " for (int l = 0; l < n; l++) w[i][j][k][l] = w[i][j][k][l] / 2 + l;",
    ),
    "a row under a condition that others are not": (
        "float ***w, int *c",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < m; k++) {"
        " float x = w[i][j][k]; if (c[i] > 3) w[i][j][k] = x * c[i]; }",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    given = ("n", "m", *(["w_rows", "w_pitch"] if name == "set" else []))
    sizes = [{k: v for k, v in one.items() if k in given} for one in SIZES]
    assert same_in_every_schedule(source(*PROGRAMS[name]), sizes if name == "set" else sizes[:-1]) == []


def test_a_call_from_python() -> None:
    text = source(
        "double ***w",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < m; k++) w[i][j][k] += i * j + k;",
    )
    (scop,) = polytile.compile(text, name="f.c").scops
    w = np.zeros((5, 7, 9))
    i, j, k = np.ogrid[:5, :7, :6]
    scop(n=5, m=6, w=w, w_rows=7, w_pitch=9, on="emulator")
    expected = np.zeros((5, 7, 9))
    expected[:, :6, :6] = (i * j + k)[:, :6]
    assert np.array_equal(w, expected)


MAIN = """
#include <stdio.h>
#include <stdlib.h>
typedef TYPE real;
void f(int n, int m, int l, real ***w, real ***v, real **x)
{
    int i, j, k;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            for (k = 0; k < l; k++) {
                w[i][j][k] += v[i][j][k] * x[i][j] + 1;
                v[i][j][k] = 2 * w[i][j][k];
            }
#pragma endscop
}
static real ***table(int n, int m, int l, real *memory, int how)
{
    real ***planes = calloc(n + 1, sizeof *planes);
    real **rows = calloc((n + 1) * (m + 1), sizeof *rows);
    for (int i = 0; i < n; i++) {
        planes[i] = how == 1 ? calloc(m + 1, sizeof *rows) : rows + i * m;
        for (int j = 0; j < m; j++) {
            if (how == 0) planes[i][j] = memory + (i * m + j) * l;               /* one block */
            if (how <= 2 && how > 0) planes[i][j] = malloc((l + 1) * sizeof **rows); /* rows of their own */
            if (how == 3) planes[i][j] = memory + ((n - 1 - i) * m + j) * l;     /* planes downwards */
            if (how == 4) planes[i][j] = memory + (i * m + m - 1 - j) * l;       /* rows downwards */
            if (how == 5) planes[i][j] = memory + (i * (m + 1) + j) * (l + 2);   /* a row and columns between */
            if (how == 6) planes[i][j] = memory + i * (m * l + 3) + j * l;       /* planes no whole rows apart */
            if (how == 7) planes[i][j] = memory + (j * n + i) * l;               /* rows of planes in turns */
            if (how == 8) planes[i][j] = memory + j * l;                         /* all planes the same */
            if (how == 9) planes[i][j] = memory + i * l;                         /* all rows of a plane the same */
            if (how == 10) planes[i][j] = memory + (i * m + j) * (l / 2);        /* one over the other */
            if (how == 11) planes[i][j] = memory + (i * m + j + (i == 2) * 2) * l; /* one plane elsewhere */
            if (how == 12) planes[i][j] = memory + (i * m + j - (i == 1 && j == 2)) * l; /* two the same */
            if (how == 13) planes[i][j] = (real *)((char *)memory + (i * m + j) * (l * sizeof(real) + 1));
        }
        if (how == 14) planes[i] = planes[0];                                    /* planes that are the same */
        if (how == 14) for (int j = 0; j < m; j++) planes[0][j] = memory + j * l;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < l; k++) planes[i][j][k] = (real)0.25 * (i + 2 * j - k);
    return planes;
}
int main(void)
{
    for (int n = 0; n < 6; n += 1 + n / 2)
        for (int how = 0; how < 15; how++)
            for (int m = 1; m < 5; m += 2) {
                int l = 6 + n;
                real *a = calloc(4000, sizeof *a), *b = calloc(4000, sizeof *b), *c = calloc(400, sizeof *c);
                real **x = calloc(n + 1, sizeof *x);
                for (int i = 0; i < n; i++) x[i] = c + i * m;
                for (int j = 0; j < n * m; j++) c[j] = j - (real)1.5;
                real ***w = table(n, m, l, a, how), ***v = table(n, m, l, b, how % 2 ? how : 0);
                f(n, m, l, w, v, x);
                double sum = 0;
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < m; j++)
                        for (int k = 0; k < l; k++) sum = sum / 2 + w[i][j][k] + 3 * v[i][j][k];
                printf("%d %d %d %.17g\\n", n, m, how, sum);
            }
    f(3, 3, 0, calloc(3, sizeof(real **)), 0, 0);
    return 0;
}
"""


@pytest.mark.parametrize(("element", "compiler_checks"), [("double", "address"), ("float", "")])
def test_rows_that_lie_anywhere(
    element: str, compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MAIN.replace("TYPE", element)
    assert len(prints_the_same(text, compiler_checks, tmp_path, monkeypatch).programs) == 1


@pytest.mark.parametrize(("how", "runs"), [(0, 2), (3, 0), (4, 0), (5, 0), (8, 0), (12, 0), (14, 0)])
def test_where_kernels_run(how: int, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MAIN.replace("TYPE", "float").replace("how = 0; how < 15", f"how = {how}; how == {how}")
    text = text.replace("int m = 1", "int m = 3")
    assert kernel_runs(text, tmp_path, monkeypatch) == runs


@pytest.mark.quick
def test_the_host_follows_pointers_that_are_there() -> None:
    host = polytile.compile(MAIN.replace("TYPE", "double"), name="f.c").host
    assert "(w) != 0 && (w[polytile_at[0]]) != 0 ? (long long)w[polytile_at[0]][polytile_at[1]] : 0" in host
