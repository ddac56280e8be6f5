"""Pointers in elements of arrays of structs: tables of rows, as pointers to pointers are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule
from tests.same_output import kernel_runs, prints_the_same

TYPES = """
typedef struct { float weight; float *coord; long assign; float cost; } Point;
typedef struct { long num; int dim; Point *p; } Points;
struct planes { int n; double **row; };
struct mesh { struct { int count; double *at; } cell[4]; double *face[3]; };
"""
DISTANCE = """
static float dist(Point a, Point b, int dim)
{
    float result = 0;
    for (int i = 0; i < dim; i++) result += (a.coord[i] - b.coord[i]) * (a.coord[i] - b.coord[i]);
    return result;
}
static float first(Point a, Point b) { return a.coord[0] * b.weight; }
"""
SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 65, "m": 40})
PROGRAMS = {
    "sums of products": (
        "int n, int m, Point *p, float *s",
        "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) s[i] += p[i].coord[k] * p[i].weight;",
    ),
    "by value": (
        "int n, int m, Point *p, int x",
        "for (int i = 0; i < n; i++) { float d = dist(p[i], p[x], m); p[i].cost = d * p[i].weight; p[i].assign = x; }",
    ),
    "in an expression": ("int n, Point *p, float *y", "for (int i = 0; i < n; i++) y[i] = 2 * first(p[i], p[0]);"),
    "written": (
        "int n, int m, Point *p, const Point *q",
        "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) p[i].coord[k] = q[i].coord[k] * 2 + p[i].coord[k];",
    ),
    "of a global array": (
        "int n, int m",
        "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) all[i].coord[k] = i - 0.5f * k;",
    ),
    "the first one by an arrow": (
        "int n, int m, Point *p",
        "for (int i = 1; i < n; i++) for (int k = 0; k < m; k++) p[i].coord[k] = p->coord[k] + (*p).coord[k];",
    ),
    "rows of rows": (
        "int n, int m, struct planes *p",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < m; k++) p[i].row[j][k] += j;",
    ),
    "arrays in structs": (
        "int n, int m, struct mesh *p",
        "for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) for (int k = 0; k < m; k++)"
        " p[i].cell[j].at[k] = p[i].face[j < 2 ? j : 2][k] + p[i].cell[j].count;",
    ),
    "of one struct": (
        "int n, int m, struct mesh *p, struct mesh s",
        "for (int j = 0; j < 3; j++) for (int k = 0; k < m; k++) p->face[j][k] = s.face[j][k] * n;",
    ),
    "a pointer to a row": (
        "int n, int m, Point *p",
        "for (int i = 0; i < n; i++) { float *c = p[i].coord; for (int k = 0; k < m; k++) c[k] += 1; }",
    ),
    "rows that data choose": (
        "int n, int m, Point *p, const int *c, float *y",
        "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) y[i] += p[c[i]].coord[k] - p[i].coord[0];",
    ),
    "under a condition on data": (
        "int n, int m, Point *p, int *c",
        "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) if (c[i] > 4) p[i].coord[k] += c[i];",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


def text(arguments: str, body: str) -> str:
    return f"{TYPES}static Point all[99];{DISTANCE}void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    program = text(*PROGRAMS[name])
    given = {p.name for p in polytile.compile(program, name="f.c").scops[0].scop.parameters}
    sizes = [{k: v for k, v in one.items() if k in given} | ({"x": 0} if "x" in given else {}) for one in SIZES]
    assert same_in_every_schedule(program, sizes, alone=False) == []


def test_a_size_beside_a_pointer_of_its_struct() -> None:
    """The host may read the size where the SCoP reads the pointer for certain, which is a variable by then."""
    body = (
        "for (int i = 0; i < n; i++) { long a = q->p[i].assign; float s = a; if (c[i] > 0)"
        " for (int k = 0; k < q->dim; k++) s += q->p[i].coord[k]; y[i] = s; }"
    )
    (scop,) = polytile.compile(text("int n, Points *q, int *c, float *y", body), name="f.c").scops
    assert dict(scop.scop.passed) == {"q_dim": "((((int) 0) < n) ? (q->dim) : (0))"}


def test_a_call_from_python() -> None:
    (scop,) = polytile.compile(text(*PROGRAMS["sums of products"]), name="f.c").scops
    generator = np.random.default_rng(3)
    rows = generator.integers(0, 9, (7, 9)).astype(np.float32)
    points = np.zeros(7, np.dtype([("weight", "f4"), ("coord", "u8"), ("assign", "i8"), ("cost", "f4")], align=True))
    points["weight"] = range(7)
    s = np.zeros(7, np.float32)
    scop(n=7, m=6, p=points, p_coord=rows, p_coord_pitch=9, s=s, on="emulator")
    assert np.array_equal(s, rows[:, :6].sum(1) * points["weight"])


def test_the_host_looks_into_structs() -> None:
    host = polytile.compile(text(*PROGRAMS["written"]), name="f.c").host
    assert "(p) != 0 ? (long long)p[polytile_at[0]].coord : 0" in host
    assert "(q) != 0 ? (long long)q[polytile_at[0]].coord : 0" in host


MAIN = (
    TYPES.replace("float", "REAL")
    + DISTANCE.replace("float", "REAL")
    + """
#include <stdio.h>
#include <stdlib.h>
void gain(long low, long high, long x, Points *points, double *lower)
{
#pragma scop
    for (int i = low; i < high; i++) {
        REAL cost = dist(points->p[i], points->p[x], points->dim) * points->p[i].weight;
        lower[i] = points->p[i].cost - cost;
        points->p[i].cost = cost;
        points->p[i].assign = x;
    }
#pragma endscop
}
void move(Points *points, Points *others)
{
#pragma scop
    for (int i = 0; i < points->num; i++)
        for (int k = 0; k < points->dim; k++)
            points->p[i].coord[k] += 0.5 * others->p[i].coord[k] + others->p[0].weight;
#pragma endscop
}
static Points points(int n, int dim, int how)
{
    Points made = {n, dim, calloc(n + 1, sizeof(Point))};
    REAL *block = calloc(4000, sizeof *block);
    for (int i = 0; i < n; i++) {
        REAL *row = block + i * dim;                                  /* one block */
        if (how == 1) row = malloc((dim + 1) * sizeof *row);          /* rows of their own */
        if (how == 2) row = block + (n - 1 - i) * dim;                /* downwards */
        if (how == 3) row = block + (i * 5 % n) * dim;                /* shuffled */
        if (how == 4) row = block;                                    /* all the same */
        if (how == 5) row = block + i * (dim / 2);                    /* one over the other */
        if (how == 6) row = block + (i - (i == 3)) * dim;             /* two the same */
        if (how == 7) row = (REAL *)((char *)block + i * (dim * sizeof *row + 2));
        made.p[i].coord = row;
        made.p[i].weight = i % 3;
        made.p[i].cost = i;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < dim; k++) made.p[i].coord[k] = (i * 7 + k * k) % 11 - 4;
    return made;
}
int main(void)
{
    for (int how = 0; how < 8; how++)
        for (int n = 0; n < 8; n += 1 + n / 2) {
            int dim = 4 + n;
            Points one = points(n, dim, how), other = points(n, dim, how % 2);
            double lower[9] = {0};
            if (n > 0) gain(n > 4, n, n - 1, &one, lower);
            move(&one, &other);
            move(&one, &one);
            for (int i = 0; i < n; i++) {
                printf("%g %g %ld\\n", lower[i], (double)one.p[i].cost, one.p[i].assign);
                for (int k = 0; k < dim; k++) printf("%g ", (double)one.p[i].coord[k]);
            }
        }
    Points none = {3, 0, calloc(3, sizeof(Point))}, empty = {0, 4, 0};
    move(&none, &none);
    move(&empty, &empty);
    return 0;
}
"""
)


@pytest.mark.parametrize(("element", "compiler_checks"), [("double", "address"), ("float", "")])
def test_rows_that_lie_anywhere(
    element: str, compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prints_the_same(MAIN.replace("REAL", element), compiler_checks, tmp_path, monkeypatch)
    assert len(made.programs) == 2


@pytest.mark.parametrize(("how", "runs"), [(0, 2), (2, 0), (3, 0), (4, 0), (6, 0)])
def test_where_kernels_run(how: int, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = MAIN.replace("REAL", "float").replace("how = 0; how < 8", f"how = {how}; how == {how}")
    program = program.replace("n = 0;", "n = 7;").replace("move(&one, &one);", "").replace("gain(n", "gain(0 * n")
    assert kernel_runs(program, tmp_path, monkeypatch) == runs


REFUSED = {
    "a pointer that changes": "for (int i = 1; i < n; i++) { p[i].coord = p[0].coord; p[i].coord[0] = 1; }",
    "a struct that changes": "for (int i = 1; i < n; i++) { p[i] = q[i]; p[i].coord[0] = 1; }",
    "characters that may be pointers": "for (int i = 1; i < n; i++) { s[i] = 0; p[i].coord[0] = 1; }",
    "a row that the SCoP computes": "for (int i = 1; i < n; i++) { c[i] = c[i - 1] + c[i]; p[c[i]].coord[0] = 1; }",
    "the array changes": "for (int i = 1; i < n; i++) { p[i].coord[0] = 1; p = q; }",
    "rows that only data lead to": "for (int i = 0; i < n; i++) if (c[i] > 0) r[i].row[i][0] = 1;",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    arguments = "int n, Point *p, Point *q, struct planes *r, int *c, char *s"
    with pytest.raises(UserError):
        polytile.compile(text(arguments, REFUSED[name]), name="f.c", strict=True)
