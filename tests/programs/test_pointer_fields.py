"""Pointers in structs: variables that the host sets before the SCoP, where nothing in it changes them."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.same_output import kernel_runs, prints_the_same

TYPES = """
struct image { int rows, columns; double **row; };
typedef struct { unsigned n; double *data; struct { float *w; } inner; } grid;
struct cell { double cost; int owner; };
struct cells { long count; struct cell *at; struct image *picture; };
"""
PROGRAMS = {
    "rows": (
        "struct image *a, const struct image *b",
        "for (int i = 1; i < a->rows - 1; i++) for (int j = 1; j < a->columns - 1; j++)"
        " a->row[i][j] = b->row[i - 1][j] + b->row[i][j - 1] + b->row[i][j + 1];",
        {
            "a_row": "a->row",
            "b_row": "((((int) 1) < (a->rows - 1)) && (((int) 1) < (a->columns - 1))) ? (b->row) : (0)",
        },
    ),
    "of a variable": (
        "grid g, int m",
        "for (int i = 0; i < m; i++) g.data[i] += g.inner.w[i];",
        {"g_data": "g.data", "g_inner_w": "g.inner.w"},
    ),
    "structs": (
        "struct cells *p, int x",
        "for (int k = 0; k < p->count; k++) { p->at[k].cost *= 2; p->at[k].owner = x; }",
        {"p_at": "p->at"},
    ),
    "read by a header that runs": (
        "grid *g, int m, double c",
        "for (int i = 0; i < m; i++) for (int j = 0; j < g->n; j++) g->data[i + j] = c;",
        {"g_data": "(((int) 0) < m) ? (g->data) : (0)"},
    ),
}


def text(arguments: str, body: str) -> str:
    return f"{TYPES}void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_host_sets_variables(name: str) -> None:
    arguments, body, expected = PROGRAMS[name]
    (scop,) = polytile.compile(text(arguments, body), name="f.c", strict=True, raise_bugs=True).scops
    assert {n: c.removeprefix("(").removesuffix(")") if "?" in c else c for n, c in scop.scop.pointers} == expected


def test_sizes_without_a_sign_are_not_subtracted_without_one() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) w[i + c][j] = 1;"
    host = polytile.compile(text("unsigned n, int m, int c, double **w", body), name="f.c", strict=True).host
    assert "polytile_row < (long long)n + c" in host


STAYING = {
    "the variable changes": "for (int k = 0; k < n; k++) { p->at[k].owner = 1; p = q; }",
    "a variable that may have no value": "for (int k = 0; k < n; k++) if (c[k] > 0) u->at[k].owner = 1;",
    "a struct is written as a whole": "for (int k = 0; k < n; k++) { q[k] = *r; p->at[k].owner = 1; }",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", STAYING)
def test_what_may_change_or_not_be_reached_stays(name: str) -> None:
    arguments = "struct cells *p, struct cells *q, struct cells *r, int n, int *c, char *s"
    with pytest.raises(UserError):
        program = text(arguments, STAYING[name]).replace("{\n#", "{\nstruct cells *u;\n#")
        polytile.compile(program, name="f.c", strict=True)


GUARDED = {
    "under a condition on data": (
        "for (int k = 0; k < n; k++) if (c[k] > 0) p->at[k].owner = 1;",
        {"p_at": "(p != 0) ? (p->at) : (0)"},
    ),
    "a loop that depends on another": (
        "for (int k = 0; k < n; k++) for (int j = 1; j < k; j++) p->at[j].owner = 1;",
        {"p_at": "(p != 0) ? (p->at) : (0)"},
    ),
    "through another one": (
        "for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) if (c[k] > j) p->picture->row[j][k] = c[k];",
        {"p_picture_row": "((p != 0) && (p->picture != 0)) ? (p->picture->row) : (0)"},
    ),
    "a header that changes": (
        "for (int k = 0; k < n; k++) for (int j = 0; j < c[1]; j++) { p->at[j].owner = c[k]; c[k] = j; }",
        {"p_at": "(p != 0) ? (p->at) : (0)"},
    ),
}


@pytest.mark.parametrize("name", GUARDED)
def test_pointers_that_may_be_null(name: str) -> None:
    body, expected = GUARDED[name]
    program = polytile.compile(text("struct cells *p, int n, int *c", body), name="f.c")
    (scop,) = program.scops
    assert {n: c.removeprefix("(").removesuffix(")") for n, c in scop.scop.pointers} == expected
    (needed,) = scop.scop.needed
    assert needed in expected
    assert scop.program is None or f"{needed} != 0" in program.host


NULLS = (
    TYPES
    + """
#include <stdio.h>
#include <stdlib.h>
void mark(struct image *m, const REAL *x, int rows, int columns, REAL c)
{
#pragma scop
    for (int i = 0; i < columns; i++)
        for (int j = 0; j < rows; j++)
            if (x[i] > c) m->row[j][i] = x[i];
#pragma endscop
}
void lower(struct cells *p, int n)
{
#pragma scop
    for (int k = 0; k < n; k++)
        for (int j = 1; j < k; j++) p->at[j].cost += p->picture->row[j][0];
#pragma endscop
}
int main(void)
{
    int sizes[4] = {0, 1, 7, 40};
    for (int s = 0; s < 4; s++) {
        int n = sizes[s], m = n + 2;
        REAL *x = malloc((n + 2) * sizeof *x);
        for (int i = 0; i < m; i++) x[i] = i % 5;
        struct image a = {n, m, malloc((n + 1) * sizeof(double *))}, none = {n, m, 0};
        for (int j = 0; j < n; j++) a.row[j] = calloc(m, sizeof(double));
        struct cells p = {n, calloc(n + 1, sizeof(struct cell)), &a}, few = {2, 0, 0};
        mark(&a, x, n, m, 2);
        mark(&none, x, n, m, 9);  /* no element is above, and no pointer is followed */
        mark(0, x, n, m, 9);
        for (int j = 0; j < n; j++) a.row[j] = j % 2 ? 0 : a.row[j];
        mark(&a, x, n, m, 9);
        for (int j = 0; j < n; j++) a.row[j] = a.row[j] ? a.row[j] : calloc(m, sizeof(double));
        lower(&p, n);
        lower(&few, 2);
        lower(0, 1);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) printf("%g %g\\n", a.row[j][i], p.at[j].cost);
    }
    return 0;
}
"""
)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(("element", "compiler_checks"), [("double", "address"), ("float", "")])
def test_null_pointers_are_left_to_the_c(
    element: str, compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = NULLS.replace("REAL", element)
    assert len(prints_the_same(program, compiler_checks, tmp_path, monkeypatch).programs) == 2


@pytest.mark.usefixtures("emulator")
def test_kernels_run_where_pointers_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = "a.row[j] = j ? a.row[0] + j * m : calloc(n * m, sizeof(double));"
    program = NULLS.replace("REAL", "double").replace("a.row[j] = calloc(m, sizeof(double));", block)
    program = program.split("        mark(&none")[0] + "    }\n    return 0;\n}\n"
    assert kernel_runs(program, tmp_path, monkeypatch) == 2


def test_chars_may_be_pointers() -> None:
    """The host looks whether they are."""
    body = "for (int k = 0; k < n; k++) { s[k] = 1; p->at[k].owner = 1; }"
    (scop,) = polytile.compile(text("struct cells *p, int n, char *s", body), name="f.c", strict=True).scops
    (check,) = scop.scop.alias_checks
    assert (check.lvalue, check.arrays, check.guard) == ("p->at", ("s",), "(((int) 0) < n)")


MAIN = (
    TYPES
    + """
#include <stdio.h>
#include <stdlib.h>
void blur(struct image *a, const struct image *b, unsigned c)
{
#pragma scop
    for (int i = 0; i < a->rows; i++)
        for (int j = c; j < a->columns; j++)
            a->row[i][j] += b->row[i][j - c] * 0.5;
#pragma endscop
}
void scale(grid *g, int m, double c)
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = 0; j < g->n; j++)
            g->data[i * g->n + j] = c * g->inner.w[j] + i;
#pragma endscop
}
void own(struct cells *p, int x)
{
#pragma scop
    for (int k = 0; k < p->count; k++) {
        p->at[k].cost = 2 * p->at[k].cost + 1;
        p->at[k].owner = x + k;
    }
#pragma endscop
}
void deep(struct cells *p, int m)
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = 0; j < p->picture->columns; j++)
            p->picture->row[i][j] = i - j;
#pragma endscop
}
static void print(const struct image *a)
{
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->columns; j++) printf("%.17g\\n", a->row[i][j]);
}
static struct image filled(int n, int m)
{
    struct image made = {n, m, malloc((n + 1) * sizeof(double *))};
    double *memory = malloc((n * m + 1) * sizeof *memory);
    for (int i = 0; i < n; i++) made.row[i] = memory + i * m;
    for (int k = 0; k < n * m; k++) memory[k] = k * 0.125;
    return made;
}
int main(void)
{
    int sizes[4] = {0, 1, 7, 70};
    for (int s = 0; s < 4; s++) {
        int n = sizes[s];
        struct image a = filled(n, n + 2), b = filled(n, n + 2);
        blur(n ? &a : &b, &b, 1);
        print(&a);
        scale(0, 0, 1);  /* no loop runs, and nothing is read */
        grid g = {n, calloc(3 * n + 1, sizeof(double)), {calloc(n + 1, sizeof(float))}};
        for (int j = 0; j < n; j++) g.inner.w[j] = j;
        scale(&g, 3, 0.5);
        for (int k = 0; k < 3 * n; k++) printf("%g\\n", g.data[k]);
        struct cells p = {n, calloc(n + 1, sizeof(struct cell)), &a};
        own(&p, n);
        for (int k = 0; k < n; k++) printf("%g %d\\n", p.at[k].cost, p.at[k].owner);
        deep(&p, n);
        deep(0, 0);
        print(&a);
    }
    return 0;
}
"""
)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("compiler_checks", ["", "address"])
def test_programs_print_the_same(compiler_checks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(prints_the_same(MAIN, compiler_checks, tmp_path, monkeypatch).programs) == 4
