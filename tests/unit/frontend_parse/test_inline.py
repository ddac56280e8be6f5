"""Inlining: what takes the place of a call, and which calls stay."""

from __future__ import annotations

import pytest
from pycparser.c_generator import CGenerator

from polytile.frontend.scop_region import Region
from polytile.frontend.source import read_regions

HEAD = """
#include <math.h>
typedef double real;
struct pair { real x, y; };
int g;
static real sq(real x) { return x * x; }
static float half(float x) { return x * 0.5; }
static inline int least(int a, int b) { return a < b ? a : b; }
static real twice_plus(real x) { const real t = x + 1; real u = 2 * t; return u + t; }
static real norm(struct pair p) { return p.x * p.x + p.y * p.y; }
static void axpy(int n, real a, const real *x, real *y) { int i; for (i = 0; i < n; i++) y[i] += a * x[i]; }
static real dot(int n, const real x[], const real y[])
{ real s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }
static void rows(int n, int m, real A[n][m]) { for (int r = 0; r < n; r++) axpy(m, 2, A[r], A[r]); }
static void countdown(int n, real *x) { while_not_used: n = n - 1; x[n] = 0; }
static void shrink(int n, real *x) { n = n - 1; x[n] = 0; }
static int fact(int n) { return n ? n * fact(n - 1) : 1; }
static int early(int n) { if (n) return 1; return 2; }
static int found(int n) { for (int i = 0; i < n; i++) if (i * i > n) return i; return 2; }
static int counter(void) { static int c; return c; }
static int bump(void) { g = g + 1; return g; }
static real global_times(real x) { return g * x; }
static unsigned mix(unsigned a) { unsigned x = a; for (int i = 0; i < 3; i++) x = x * 5 + i; return x; }
static void nothing(int n) { return; }
"""


def _region(body: str, parameters: str = "") -> Region:
    text = f"{HEAD}\nvoid f(int n, int m, real *x, real *y, float *z, real A[n][m], struct pair p{parameters})\n"
    (region,) = read_regions("x.c", f"{text}{{\nint i; real s;\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    return region


def _printed(body: str, parameters: str = "") -> str:
    text = " ".join(CGenerator().visit(node) + ";" for node in _region(body, parameters).body)
    return " ".join(text.split())


EXPRESSIONS = [
    ("y[0] = sq(x[1]);", "y[0] = x[1] * x[1];"),
    ("y[0] = early(n);", "y[0] = (n) ? (1) : (2);"),
    ("y[0] = sq(z[0]);", "y[0] = ((double) z[0]) * ((double) z[0]);"),
    ("z[0] = half(z[1]);", "z[0] = (float) (z[1] * 0.5);"),
    ("z[0] = half(x[1]);", "z[0] = (float) (((float) x[1]) * 0.5);"),
    ("y[0] = sq(sq(x[0]));", "y[0] = (x[0] * x[0]) * (x[0] * x[0]);"),
    ("y[0] = twice_plus(x[0]);", "y[0] = (2 * (x[0] + 1)) + (x[0] + 1);"),
    ("y[0] = norm(p);", "y[0] = (p.x * p.x) + (p.y * p.y);"),
    ("y[0] = sq(sqrt(x[0]));", "y[0] = sqrt(x[0]) * sqrt(x[0]);"),
    ("y[0] = global_times(x[0]);", "y[0] = g * x[0];"),
    ("for (i = 0; i < least(n, m); i++) y[i] = 0;", "for (i = 0; i < ((n < m) ? (n) : (m)); i++) y[i] = 0; ;"),
]


@pytest.mark.parametrize(("body", "expected"), EXPRESSIONS)
def test_expressions(body: str, expected: str) -> None:
    assert _printed(body) == expected


STATEMENTS = [
    ("axpy(n, s, x, y);", "{ int i_1; for (i_1 = 0; i_1 < n; i_1++) y[i_1] += s * x[i_1]; } ;"),
    ("axpy(m, 1, A[0], y);", "{ int i_1; for (i_1 = 0; i_1 < m; i_1++) y[i_1] += ((double) 1) * A[0][i_1]; } ;"),
    ("axpy(n, x[0], x, y);", "{ double a = x[0]; int i_1; for (i_1 = 0; i_1 < n; i_1++) y[i_1] += a * x[i_1]; } ;"),
    ("axpy(n, s, &x[2], y);", "{ int i_1; for (i_1 = 0; i_1 < n; i_1++) y[i_1] += s * (x + 2)[i_1]; } ;"),
    ("axpy(n, s, x + 1, A[1]);", "{ int i_1; for (i_1 = 0; i_1 < n; i_1++) A[1][i_1] += s * (x + 1)[i_1]; } ;"),
    ("axpy(n, s, x, y + m - 1);", "{ int i_1; for (i_1 = 0; i_1 < n; i_1++) (y + (m - 1))[i_1] += s * x[i_1]; } ;"),
    ("shrink(m, x);", "{ x[m - 1] = 0; } ;"),
    ("s = dot(n, x, y);", "{ double s_1 = 0; for (int i_1 = 0; i_1 < n; i_1++) s_1 += x[i_1] * y[i_1]; s = s_1; } ;"),
    (
        "real t = dot(n, x, y);",
        "double t; { double s_1 = 0; for (int i_1 = 0; i_1 < n; i_1++) s_1 += x[i_1] * y[i_1]; t = s_1; } ;",
    ),
    ("if (n > m) shrink(n, x);", "if (n > m) { x[n - 1] = 0; } ;"),
    (
        "rows(n, m, A);",
        "{ for (int r = 0; r < n; r++) { int i_1; "
        "for (i_1 = 0; i_1 < m; i_1++) A[r][i_1] += ((double) 2) * A[r][i_1]; } } ;",
    ),
    (
        "y[0] = 2 * (double) mix(n);",
        "{ unsigned int mix_value; { unsigned int x_1 = (unsigned int) n; for (int i_1 = 0; i_1 < 3; i_1++) "
        "x_1 = (x_1 * 5) + i_1; mix_value = x_1; } y[0] = 2 * ((double) mix_value); } ;",
    ),
]


@pytest.mark.parametrize(("body", "expected"), STATEMENTS)
def test_statements(body: str, expected: str) -> None:
    assert _printed(body).replace("};", "} ;").replace("double t;;", "double t;") == expected


STAYING = [
    ("y[0] = fact(n);", "fact"),
    ("y[0] = found(n);", "found"),
    ("y[0] = counter();", "counter"),
    ("y[0] = n ? mix(n) : 0;", "mix"),
    ("y[mix(1)] = 0;", "mix"),
    ("y[0] = sq(i++);", "sq"),
    ("y[0] = sq(bump());", "sq"),
    ("rows(m, n, A);", "rows"),
    ("axpy(n, 1, &s, y);", "axpy"),
    ("axpy(n, 1, A + 1, y);", "axpy"),
    ("axpy(n, 1, &x[i++], y);", "axpy"),
    ("countdown(n, x);", "countdown"),
]


@pytest.mark.parametrize(("body", "function"), STAYING)
def test_calls_that_stay(body: str, function: str) -> None:
    region = _region(body)
    assert f"{function}(" in CGenerator().visit(region.body[0])
    assert function in region.functions


def test_a_global_that_a_local_hides_is_not_captured() -> None:
    assert "global_times" in _printed("y[0] = global_times(x[0]);", ", int g")


def test_an_argument_that_the_function_changes_is_copied_first() -> None:
    text = """
    int g;
    static void fill(int n, double *x) { for (int i = 0; i < n; i++) { g = i; x[i] = n; } }
    void f(double *x)
    {
    #pragma scop
        fill(g, x);
    #pragma endscop
    }
    """
    (region,) = read_regions("x.c", text)
    assert "int n = g;" in CGenerator().visit(region.body[0])


def test_coordinates_of_inlined_code_are_those_of_the_function() -> None:
    region = _region("s = dot(n, x, y);")
    lines = HEAD.split("\n")
    line = next(k for k, text in enumerate(lines) if "real s = 0;" in text)
    assert region.body[0].block_items[0].coord.line == line + 1
