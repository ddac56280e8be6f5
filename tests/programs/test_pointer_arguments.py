"""Calls of the file's functions with pointers into arrays: `f(&a[i])`, `f(A[i] + j)`, `f(A[i])`."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (7, 9), (70, 40)))
FUNCTIONS = """
struct point { double x, y; };
static double three(const double *x) { return x[-1] + 2 * *x + x[1]; }
static double at(const double *x, int k) { return x[k]; }
static void set(double *x, double v) { *x = v; }
static void both(double *x, const double *y, int k) { x[0] = y[k]; x[1] += y[0] * 2; }
static void row(int m, double *x) { for (int j = 0; j < m; j++) x[j] = 2 * x[j] + 1; }
static double sum(int m, const double *x) { double s = 0; for (int j = 0; j < m; j++) s += x[j]; return s; }
static double length(const struct point *p) { return p->x * p->x + p->y * p->y; }
static void block(int m, double (*a)[m + 2]) { for (int j = 0; j < m; j++) a[1][j] = a[0][j]; }
static double outer(const double *x, int i) { return three(x) * at(x, i); }
static void twice(double *x, int k) { x[0] = k; x[1] = k + 1; }
"""
PROGRAMS = {
    "an element": ("for (i = 1; i <= n; i++) b[i] = three(&a[i]);"),
    "a pointer": (
        "for (i = 1; i <= n; i++) b[i] = three(a + i) + at(a, i) + at(&a[i], 1) + at(a + i - 1, 0) + at(a - 1 + i, 1);"
    ),
    "an element that is written": ("for (i = 0; i < n; i++) set(&b[i], a[i]);"),
    "elements that are read and written": ("for (i = 0; i < n; i++) both(&b[2 * i], &a[i], 1);"),
    "the same array": ("for (i = 0; i < n; i++) both(&b[2 * i], &b[2 * i + 1], 0);"),
    "of a matrix": ("for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) B[i][j] = three(&A[i][j]) + three(A[i] + j);"),
    "rows": ("for (i = 0; i < n; i++) row(m, A[i]);"),
    "parts of rows": ("for (i = 0; i < n; i++) { row(m, &A[i][2]); b[i] = sum(m, A[i] + 1); }"),
    "structs": ("for (i = 0; i < n; i++) b[i] = length(&p[i]) + length(p + i);"),
    "rows of matrices": ("for (i = 0; i < n; i++) block(m, &A[i]);"),
    "through another function": ("for (i = 1; i <= n; i++) b[i] = outer(&a[i], 1);"),
    "with an iterator": ("for (i = 0; i < n; i++) twice(&b[2 * i], i);"),
}


def source(body: str) -> str:
    return (
        f"{FUNCTIONS}void f(int n, int m, double a[n + 9], double b[2 * n + 9], double A[n + 2][m + 2],\n"
        f"double B[n + 2][m + 2], struct point p[n + 1])\n{{\nint i, j;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    )


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    scop = polytile.compile(source(PROGRAMS[name]), name="f.c", strict=True, raise_bugs=True).scops[0]
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    same_as_c(scop, SIZES)


REFUSED = {
    "a pointer that moves": ("static double f1(const double *x) { x++; return *x; }", "b[i] = f1(&a[i]);"),
    "another type": ("static void f1(int *x) { *x = 1; }", "f1((int *)&a[i]);"),
    "rows of another length": ("static void f1(double (*x)[4]) { x[0][1] = 2; }", "f1(&A[i]);"),
    "a scalar as an array": ("static void f1(double *x) { x[1] = 1; }", "f1(&s);"),
    "a place that changes": ("static void f1(double *x) { x[0] = 1; x[1] = 2; }", "f1(&a[q[i]]);"),
    "what the function writes decides": ("static void f1(double *x, int *k) { *k = 1; *x = 2; }", "f1(&a[q[0]], q);"),
    "a function of another file": ("double f1(double *x);", "b[i] = f1(&a[i]);"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    function, statement = REFUSED[name]
    text = (
        f"{function}\nvoid f(int n, double a[n], double b[n], double A[n][n], int q[n])\n{{\ndouble s = 0;\n"
        f"#pragma scop\nfor (int i = 0; i < n; i++) {{ {statement} }}\n#pragma endscop\nb[0] += s;\n}}\n"
    )
    with pytest.raises(UserError):
        polytile.compile(text, name="f.c")
