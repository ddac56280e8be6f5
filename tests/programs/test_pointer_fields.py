"""Pointers in structs: variables that the host sets before the SCoP, where nothing in it changes them."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.same_output import prints_the_same

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
    "one under a condition on data": "for (int k = 0; k < n; k++) if (c[k] > 0) p->at[k].owner = 1;",
    "a loop that depends on another": (
        "for (int k = 0; k < n; k++) for (int j = 1; j < k; j++) p->at[j].owner = 1;"
    ),
    "a struct is written as a whole": "for (int k = 0; k < n; k++) { q[k] = *r; p->at[k].owner = 1; }",
    "the header changes": (
        "for (int k = 0; k < n; k++) for (int j = 0; j < c[1]; j++) { p->at[j].owner = c[k]; c[k] = j; }"
    ),
}


@pytest.mark.parametrize("name", STAYING)
def test_what_may_change_or_not_be_reached_stays(name: str) -> None:
    arguments = "struct cells *p, struct cells *q, struct cells *r, int n, int *c, char *s"
    with pytest.raises(UserError):
        polytile.compile(text(arguments, STAYING[name]), name="f.c", strict=True)


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
