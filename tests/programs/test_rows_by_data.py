"""Pointers to rows with rows and columns that data choose, `w[p[i]][q[j]]`: the host looks which are used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source
from tests.same_output import kernel_runs, prints_the_same

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 40, "m": 33})
PROGRAMS = {
    "rows": (
        "double **w, double **y, const int *p",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i][j] = w[p[i]][j] + 1;",
    ),
    "columns": (
        "float **w, float *y, const int *q",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += w[i][q[j]];",
    ),
    "both, and neighbours": (
        "double **w, double **y, const int *p, const int *q",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { double c = w[i][j]; "
        "y[i][j] = w[p[i]][j] - c + w[i][q[j]] * w[p[i]][q[j]]; }",
    ),
    "through scalars": (
        "double **w, double *y, const int *p",
        "for (int i = 0; i < n; i++) { double s = 0; for (int k = 0; k < m; k++) { int x = i + p[k]; s += w[x][k]; }"
        " y[i] = s; }",
    ),
    "written": (
        "int **w, const int *p, const int *q",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) w[p[i]][q[j]] += i - j;",
    ),
    "under a condition on data": (
        "float **w, float *y, const int *p, const int *c",
        "for (int i = 0; i < n; i++) if (c[i] > 3) y[i] = w[p[i]][0] * c[i];",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    serial = same_in_every_schedule(source(*PROGRAMS[name]), SIZES)
    assert name == "written" or serial == []


def test_a_call_from_python() -> None:
    (scop,) = polytile.compile(source(*PROGRAMS["both, and neighbours"]), name="f.c").scops
    generator = np.random.default_rng(5)
    w, y = generator.uniform(size=(11, 10)), np.zeros((5, 7))
    p, q = generator.integers(0, 11, 5, np.int32), generator.integers(0, 8, 6, np.int32)
    scop(n=5, m=6, w=w, w_width=8, y=y, p=p, q=q, on="emulator")
    expected = w[p][:, :6] - w[:5, :6] + w[:5][:, q] * w[p][:, q]
    assert np.allclose(y[:, :6], expected)


MAIN = """
#include <stdio.h>
#include <stdlib.h>
typedef struct { int m; TYPE **me; } mat;
void f(int n, int m, mat *w, mat *y, const int *up, const int *left)
{
    int i, j;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            y->me[i][j] = w->me[up[i]][left[j]] - w->me[i][left[j]] + 2 * w->me[up[i]][j];
#pragma endscop
}
static mat table(int n, int m, TYPE *memory, int how)
{
    mat made = {n, calloc(n + 1, sizeof(TYPE *))};
    for (int i = 0; i < n; i++) {
        made.me[i] = memory + i * m;                                          /* one block */
        if (how == 1) made.me[i] = malloc(m * sizeof(TYPE));                  /* rows of their own */
        if (how == 2) made.me[i] = memory + (n - 1 - i) * m;                  /* downwards */
        if (how == 3) made.me[i] = memory + (i * 3 % n) * m;                  /* shuffled */
        if (how == 4) made.me[i] = memory;                                    /* all the same */
        if (how == 5) made.me[i] = memory + i * (m + 3);                      /* with a gap */
        if (how == 6) made.me[i] = memory + i * (m - 1);                      /* one over the other */
        for (int j = 0; j < m; j++) made.me[i][j] = (TYPE)0.25 * (i * 3 + j % 5);
    }
    return made;
}
int main(void)
{
    for (int how = 0; how < 7; how++)
        for (int n = 0; n < 12; n += 1 + n / 2) {
            int m = n + 4, *up = calloc(n + 1, sizeof *up), *left = calloc(m, sizeof *left);
            for (int i = 1; i < n; i++) up[i] = i - 1;
            for (int j = 1; j < m; j++) left[j] = j - 1;
            mat w = table(n, m, calloc(999, sizeof(TYPE)), how), y = table(n, m, calloc(999, sizeof(TYPE)), how % 2);
            if (how == 0 && n > 3) w.me[n - 1] = y.me[n - 1];                  /* a row of the other table */
            f(n, m, &w, &y, up, left);
            for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) printf("%g\\n", (double)y.me[i][j]);
            f(0, m, 0, 0, up, left);
        }
    return 0;
}
"""


@pytest.mark.parametrize(("element", "compiler_checks"), [("double", "address"), ("float", "")])
def test_rows_that_lie_anywhere(
    element: str, compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prints_the_same(MAIN.replace("TYPE", element), compiler_checks, tmp_path, monkeypatch)
    assert len(made.programs) == 1


@pytest.mark.slow(but="5-1")
@pytest.mark.parametrize(("how", "runs"), [(0, 1), (2, 0), (3, 0), (4, 0), (5, 1), (6, 0)])
def test_where_kernels_run(how: int, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MAIN.replace("TYPE", "double").replace("how = 0; how < 7", f"how = {how}; how == {how}")
    text = text.replace("n = 0; n < 12", "n = 10; n < 12").replace("how == 0 && n > 3", "0")
    assert kernel_runs(text, tmp_path, monkeypatch) == runs


REFUSED = {
    "the SCoP computes rows": "for (int i = 1; i < n; i++) { q[i] = q[i - 1] + p[i]; y[i] = w[q[i]][0]; }",
    "rows of planes": "for (int i = 0; i < n; i++) y[i] = u[0][p[i]][0];",
    "a row as a whole": "for (int i = 0; i < n; i++) { double *r = w[p[i]]; r += 1; y[i] = *r; }",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        polytile.compile(source("double **w, double ***u, int *p, int *q, double *y", REFUSED[name]), name="f.c")


REPEATED = (
    "for (int i = 0; i < n; i++) { y[i] = w[p[i]][0]; if (y[i] > 0) y[i] += w[p[i]][0]; }",
    "for (int i = 0; i < n; i++) { y[i] = w[p[i]][q[i]]; if (c[i] > 2) y[i] += w[p[i]][i + 3]; }",
)


@pytest.mark.parametrize("body", REPEATED)
def test_columns_of_one_row(body: str) -> None:
    arguments = "double **w, const int *p, const int *q, const int *c, double *y"
    assert same_in_every_schedule(source(arguments, body), SIZES) == []
