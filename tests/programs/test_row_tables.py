"""Pointers to rows, `double **w`: arrays where rows lie at equal distances, which the host asks; C elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source
from tests.same_output import prints_the_same

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 33, "m": 40}, {"n": 9, "m": 8, "w_pitch": 20})
PROGRAMS = {
    "set": ("double **w", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) w[i][j] = i + 0.5 * j;"),
    "read and written": (
        "float **w, float **v, float x[m]",
        "for (int i = 0; i < n; i++) for (int j = 1; j < m; j++)"
        " { w[i][j] += 0.5f * x[j] * v[i][j - 1]; v[i][j] = x[j]; }",
    ),
    "by columns": ("int **w, int *x", "for (int j = 1; j <= m; j++) for (int i = 0; i <= n; i++) w[i][j] += x[i];"),
    "a product": (
        "double **w, double **a, double **b",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = 0; for (int k = 0; k < m; k++)"
        " s += a[i][k] * b[k][j]; w[i][j] = s; }",
    ),
    "a triangle": ("double **w", "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) w[i][j] = w[i][j] * 2;"),
    "a stencil in turns": (
        "double **w, double **v",
        "for (int t = 0; t < 4; t++) { for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
        " v[i][j] = 0.25 * (w[i - 1][j] + w[i + 1][j] + w[i][j - 1] + w[i][j + 1]);"
        " for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++) w[i][j] = v[i][j]; }",
    ),
    "a row of the sizes": ("int **w, int *y", "for (int j = 0; j < m; j++) y[j] = w[n][j] + w[0][j];"),
    "every second row": ("double **w", "for (int i = 0; i < n; i += 2) for (int j = 0; j < m; j++) w[i + 1][j] = i;"),
    "an array of pointers": ("double *w[n]", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) w[i][j] += 1;"),
    "constants": ("const double *const *w, double *y", "for (int i = 0; i < n; i++) y[i] = w[i][0] - w[i][m];"),
    "under conditions on data": (
        "double **w, int *c",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (c[i] > 4) w[i][j] = w[i][j] / c[i];",
    ),
    "the same name as the pitch": (
        "double **w, int w_pitch",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) w[i][j] = w_pitch;",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    sizes = [{k: v for k, v in one.items() if k in ("n", "m") or name == "set"} for one in SIZES]
    assert same_in_every_schedule(source(*PROGRAMS[name]), sizes) == []


MAIN = """
#include <stdio.h>
#include <stdlib.h>
void f(int n, int m, double **w, double **v, double *x)
{
    int i, j;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            w[i][j] += v[i][j] * x[j] + 1;
            v[i][j] = 2 * w[i][j];
        }
#pragma endscop
}
static double **table(int n, int m, double *memory, int how)
{
    double **rows = malloc((n + 1) * sizeof *rows);
    for (int i = 0; i < n; i++) {
        if (how == 0) rows[i] = memory + i * m;                       /* one block */
        if (how == 1) rows[i] = malloc((m + 1) * sizeof **rows);       /* rows of their own */
        if (how == 2) rows[i] = memory + (n - 1 - i) * m;             /* downwards */
        if (how == 3) rows[i] = memory + i * m + (i > 2) * 3;         /* not at equal distances */
        if (how == 4) rows[i] = memory + i * (m + 5);                 /* with a gap */
        if (how == 5) rows[i] = memory + i * (m + 200);               /* far apart */
        if (how == 6) rows[i] = memory;                               /* all the same */
        if (how == 7) rows[i] = memory + i * (m / 2);                 /* one over the other */
        if (how == 8) rows[i] = (double *)((char *)memory + i * (m * 8 + 4));  /* not whole elements apart */
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) rows[i][j] = 0.25 * (i + 2 * j);
    return rows;
}
int main(void)
{
    for (int n = 0; n < 8; n += 1 + n / 2)
        for (int how = 0; how < 9; how++) {
            int m = 6;
            double *a = calloc(10000, sizeof *a), *b = calloc(10000, sizeof *b), *x = calloc(100, sizeof *x);
            for (int j = 0; j < m; j++) x[j] = j - 1.5;
            double **w = table(n, m, a, how), **v = table(n, m, b, how % 2 ? how : 0);
            f(n, m, w, v, x);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++) printf("%.17g %.17g\\n", w[i][j], v[i][j]);
        }
    return 0;
}
"""


@pytest.mark.parametrize("compiler_checks", ["", "address"])
def test_rows_that_lie_anywhere(compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(prints_the_same(MAIN, compiler_checks, tmp_path, monkeypatch).programs) == 1


IN_TURNS = """
#include <stdio.h>
#include <stdlib.h>
void f(int n, int m, float **w, float **v, float *s)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) w[i][j] += v[i][j] + s[i];
#pragma endscop
}
int main(void)
{
    for (int m = 1; m < 5; m++) {
        float *w[9], *v[9], *s = calloc(9, sizeof *s), block[9 * 12];
        for (int i = 0; i < 9; i++) {
            w[i] = m % 2 ? malloc(m * sizeof(float)) : block + 12 * i;
            v[i] = m % 2 ? malloc(m * sizeof(float)) : block + 12 * i + m;
            for (int j = 0; j < m; j++) w[i][j] = i, v[i][j] = j;
        }
        f(9, m, w, v, m == 3 ? w[4] : s);
        for (int i = 0; i < 9; i++) for (int j = 0; j < m; j++) printf("%g %g\\n", w[i][j], v[i][j]);
    }
    return 0;
}
"""


def test_rows_of_two_tables_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prints_the_same(IN_TURNS, "", tmp_path, monkeypatch)


def test_the_host_asks_for_each_row_that_is_used() -> None:
    text = source("double **w", "for (int i = 2; i < n; i += 3) for (int j = 0; j < m; j++) w[i][j] = 0;")
    program = polytile.compile(text, name="f.c")
    assert "polytile_row < n; polytile_row += 3)" in program.host
    assert "(long long)w[polytile_at[0]]" in program.host
    assert "if (polytile_rows_w > 1 && (" in program.host


REFUSED = {
    "a row that the SCoP computes": "for (int i = 1; i < n; i++) { p[i] = p[i - 1]; w[p[i]][i] = 1; }",
    "rows that change": "for (int i = 1; i < n; i++) w[i] = w[i - 1];",
    "a plane that only data lead to": "for (int i = 0; i < n; i++) if (p[i] > 0) u[i][i][i] = 1;",
    "a row of a plane that data choose": "for (int i = 0; i < n; i++) u[i][p[i]][i] = 1;",
}


MESSAGE = "it reads data, and how large|a pointer or a whole array is assigned to|only a condition on data leads to"


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    text = source("double **w, double ***u, int *p", REFUSED[name])
    with pytest.raises(UserError, match=MESSAGE):
        polytile.compile(text, name="f.c")
