"""Arrays without a size of which data say what is used: the host looks for it in front of the SCoP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source
from tests.same_output import prints_the_same

SIZES = ({"n": 0, "m": 3}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 33, "m": 40})
GATHERS = {
    "an index": ("double *x, double *y, int *p", "for (int i = 0; i < n; i++) y[i] = 2 * x[p[i]];"),
    "an index with a factor": ("float *x, float *y, int *p", "for (int i = 0; i < n; i++) y[i] += x[3 * p[i] + 1];"),
    "rows": (
        "double (*x)[m], double *restrict y, int *p",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * m + j] = x[p[i]][j];",
    ),
    "a scalar": (
        "double *x, double *y, int *p",
        "for (int i = 0; i < n; i++) { int k = p[i]; if (k > 2) y[i] = x[k - 1] + x[k]; }",
    ),
    "rows as long as data say": (
        "double *x, double *y, int *row, int *col",
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = row[i]; j < row[i + 1]; j++) s += x[col[j]];"
        " y[i] = s; }",
    ),
    "choices": (
        "double *x, double *y, int *p, int *q",
        "for (int i = 0; i < n; i++) y[i] = p[i] > 4 && x[p[i]] > 0 ? x[q[i]] : y[i] - 1;",
    ),
    "a flag that is cleared": (
        "double *x, double *y, int *p, int *flag",
        "for (int i = 0; i < n; i++) if (flag[i] > 3) { y[i] = x[p[i]]; flag[i] = 0; }",
    ),
    "elements that are clamped": (
        "double *x, double *y, int *p",
        "for (int i = 0; i < n; i++) { int k = i + 1; x[k] *= 3; if (x[k] > 1) x[k] = 1;"
        " else if (x[k] < -1) x[k] = -1; } for (int i = 0; i < n; i++) y[i] = x[p[i]] - x[p[i] + 1];",
    ),
    "an index that is set there": (
        "double *x, double *y, int *p, short *restrict q",
        "for (int i = 0; i < n; i++) { q[i] = p[i] / 2; y[i] = x[q[i]];"
        " for (int j = 0; j < m; j++) y[i] += x[q[i] + j]; }",
    ),
    "indices of indices that are set there": (
        "float *x, float *restrict y, int *p, long *restrict q, int *restrict r",
        "for (int i = 0; i < n; i++) { q[i + 1] = p[i]; if (q[i + 1] > 2) { r[i] = q[i + 1] - 2; x[r[i]] += 1; } }",
    ),
    "an index that is set twice": (
        "double *x, double *y, int *p, int *restrict q",
        "for (int i = 0; i < n; i++) { q[i] = p[i] % 7; q[i] = 2 * q[i] + 1; y[i] = x[q[i]]; }",
    ),
    "a search": (
        "double *x, double *y, double *c, int *last",
        "for (int i = 0; i < n; i++) { int k = 0; for (int j = 0; j < m; j++) if (c[j] > y[i]) { k = j; break; }"
        " y[i] = x[k]; last[i] = k; }",
    ),
}
BY_HAND = {
    "rows of data": (
        "double *x, double *y, int *p",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * m + j] = x[p[i] * m + j] - x[i * m + j];",
    ),
    "columns of data": (
        "double *x, double *y, int *p, int *q",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " { int k = i * m + j; y[k] = x[i * m + p[j]] + x[(q[i] + 0) * m + j] * x[k]; }",
    ),
    "and the array is updated": (
        "double *x, double *restrict c, int *p",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i * m + j] += c[i * m + j] + c[p[i] * m + j];",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", GATHERS)
def test_gathered(name: str) -> None:
    (scop,) = polytile.compile(source(*GATHERS[name]), name="f.c", strict=True).scops
    assert scop.scop.reached and not scop.scop.allocated
    assert same_in_every_schedule(source(*GATHERS[name]), SIZES) == []


@pytest.mark.parametrize("name", BY_HAND)
def test_indexed_by_hand(name: str) -> None:
    assert same_in_every_schedule(source(*BY_HAND[name]), SIZES) == []


MAIN = """
#include <stdio.h>
#include <stdlib.h>
void f(int n, int m, float *J, float *D, const int *above, const int *left, const float *limit)
{
    int k, best;
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            k = i * m + j;
            D[k] = J[above[i] * m + j] + J[i * m + left[j]] - 2 * J[k];
        }
    for (int at = 0; at < n; at++) {
        best = above[at];
        if (best >= 0)
            D[at] += limit[3 * best + 1];
    }
#pragma endscop
}
int main(void)
{
    for (int n = 0; n < 8; n += 1 + n / 2)
        for (int how = 0; how < 5; how++) {
            int m = 5, rows = n + (how == 1);
            float *J = malloc((rows * m + (how == 4)) * sizeof *J), *D = malloc((n * m + n + 1) * sizeof *D);
            float *limit = malloc((3 * n + 5) * sizeof *limit);
            int *above = malloc((n + 1) * sizeof *above), *left = malloc(m * sizeof *left);
            for (int i = 0; i < n; i++) above[i] = i ? i - 1 : how == 1 ? n : 0;
            for (int j = 0; j < m; j++) left[j] = j ? j - 1 : 0;
            if (how == 2) left[m - 1] = m - 1;
            if (how == 3) left[m - 1] = 1, left[1] = m - 1;
            if (how == 4 && n > 0) left[2] = m; /* in the next row, and one element beyond the last one */
            for (int i = 0; i < rows * m + (how == 4); i++) J[i] = 0.25f * i * i;
            for (int i = 0; i < n * m + n + 1; i++) D[i] = i;
            for (int i = 0; i < 3 * n + 5; i++) limit[i] = 1.5f * i;
            f(n, m, J, D, above, left, limit);
            for (int i = 0; i < n * m; i++) printf("%.9g ", D[i]);
            printf("\\n");
            free(J); free(D); free(limit); free(above); free(left);
        }
    return 0;
}
"""


SET_THERE = """
#include <stdio.h>
#include <stdlib.h>
void f(int n, const float *x, float *restrict y, const int *p, short *restrict q)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        y[i] = i;
        q[i] = p[i] / 2;
        if (q[i] >= 0)
            y[i] += x[q[i] + 1];
    }
#pragma endscop
}
int main(void)
{
    for (int n = 0; n < 9; n += 1 + n / 2) {
        int *p = malloc((n + 1) * sizeof *p), most = -1;
        for (int i = 0; i < n; i++) {
            p[i] = i % 3 == 1 ? -5 : (i * 5) % 11 + 65536 * (i % 2);
            most = (short)(p[i] / 2) > most ? (short)(p[i] / 2) : most;
        }
        float *x = malloc((most + 2) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
        short *q = malloc((n + 1) * sizeof *q);
        for (int i = 0; i < most + 2; i++) x[i] = 0.5f * i;
        f(n, x, y, p, q);
        for (int i = 0; i < n; i++) printf("%g %d ", y[i], q[i]);
        printf("\\n");
        free(p); free(q); free(x); free(y);
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler_checks", ["", "address"])
@pytest.mark.parametrize("program", [MAIN, SET_THERE], ids=["indices in memory", "indices that are set there"])
def test_the_program_finds_what_is_used(
    program: str, compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints_the_same(program, compiler_checks, tmp_path, monkeypatch)


def test_loops_over_even_sums_visit_their_ends() -> None:
    text = source("double *x, int *p, double *y", "for (int i = 0; i < n; i++) y[i] = x[p[i]] + x[i];")
    host = polytile.compile(text, name="f.c").host
    assert "polytile_own_i = (polytile_own_i < (n - 1)) ? (n - 1) : (n)" in host
    assert "if (polytile_least_x >= 0 && polytile_apart && ((polytile_most_x + 1) >= n)) {" in host


@pytest.mark.quick
def test_sizes_follow_from_shapes() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * m + j] = x[p[i] * m + j];"
    program = polytile.compile(source("double *x, int *p, double *y", body), name="f.c")
    x, p, y = np.random.default_rng(1).random((6, 4)), np.array([5, 0, 2], dtype=np.int32), np.zeros((3, 4))
    program["f"](n=3, m=4, x=x, p=p, y=y, on="emulator")
    assert np.array_equal(y, x[p])


def test_validation_says_when_it_made_too_few_elements() -> None:
    """Found by `polytile fuzz --family pieces --seed 2026 --only 1701`."""
    body = """for (int i = 0; i < 3; i++)
        for (int j = 0; j < n; j++) {
            if (d[j] < -9)
                break;
            int k = i * (n + 1) + j;
            b[k] += 1;
        }"""
    (scop,) = polytile.compile(source("unsigned *b, double d[n]", body), name="f.c", strict=True).scops
    with pytest.raises(UserError, match="uses more elements of b than validation has made") as refused:
        scop.validate(on="emulator", parameters={"n": 5, "b_size": 13}, seed=1)
    assert refused.value.hint is not None and "--param b_size=N" in refused.value.hint
    (result,) = scop.validate(on="emulator", parameters={"n": 5, "b_size": 17}, seed=1, sanitize="address")
    assert "bitwise equal" in result.line


COMPUTED = {
    "a guard that the SCoP sets, of another element": (
        "for (int i = 0; i < n; i++) { int k = p[i]; y[i] = x[k]; k = q[i]; if (y[i] > 0) y[i] = x[k]; }"
    ),
    "the SCoP sets the index": "for (int i = 0; i < n; i++) { p[i + 1] = p[i]; y[i] = x[p[i]]; }",
    "the SCoP changes the index meanwhile": (
        "for (int i = 0; i < n; i++) { q[i] = p[i] / 2; if (i > 3) q[2] = 1; y[i] = x[q[i]]; }"
    ),
    "an index after it was set": "for (int i = 0; i < n; i++) { p[i] = p[i] + 1; y[i] = x[p[i]]; }",
    "a call decides": "for (int i = 0; i < n; i++) if (exp(x[i]) > 2) y[i] = x[p[i]];",
    "a chain": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i] = z[q[i]];",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_no_look_in_front_tells(name: str) -> None:
    """Memory is asked instead (test_allocated_extents.py), but not for loops that are detected."""
    text = "#include <math.h>\n" + source("double *x, double *y, int *p, int *q, int *z", COMPUTED[name])
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert len(scop.scop.allocated) == 1
    with pytest.raises(UserError, match="it reads data, and how large the array is is not known"):
        polytile.compile(text.replace("#pragma scop", "").replace("#pragma endscop", ""), name="f.c", autodetect=True)


PARTS = """
typedef struct { double x, y; } point;
typedef struct { int tag; long first; int near; struct { int part; char kind; } next[6]; } part;
void forces(int n, const part *p, const point *at, point *f, double c)
{
#pragma scop
    for (int l = 0; l < n; l++) {
        long own = p[l].first;
        for (int k = 0; k < 1 + p[l].near; k++) {
            int other = k == 0 ? l : p[l].next[k - 1].part;
            long there = p[other].first;
            for (int i = 0; i < 20; i++)
                for (int j = 0; j < 20; j++) {
                    double d = at[own + i].x - at[there + j].x;
                    f[own + i].x += c * d;
                    f[own + i].y += d * d;
                }
        }
    }
#pragma endscop
}
"""
CELLS = """
void flux(int n, const int *p, const float *normals, const float *v, float *f)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int j = 0; j < 4; j++) {
            int k = p[i + j * n];
            if (k >= 0)
                s += normals[i + (j + 4) * n] * (v[k] + v[k + 3 * n] - v[i + 4 * n]);
        }
        f[i] = s;
    }
#pragma endscop
}
"""


@pytest.mark.parametrize("sanitize", ["", "all"])
@pytest.mark.parametrize("text", [PARTS, CELLS], ids=["parts of lists of neighbours", "fields of cells"])
def test_indices_are_drawn_for_all_that_is_read_around_them(text: str, sanitize: str) -> None:
    """Elements from `first` on, neighbours in arrays inside of structs that have padding, columns of an index."""
    (scop,) = polytile.compile(text).scops
    for seed in (1, 2, 3):
        (result,) = scop.validate(on="emulator", seed=seed, sanitize=sanitize)
        assert "max error 0" in result.line
