"""Loops that run in parallel on the GPU: none with data stays on the host, or runs in one thread."""

from __future__ import annotations

import re

import pytest

import polytile
from tests.every_schedule import same_in_every_schedule, source
from tests.parallel_loops import SIZES, runs_in_many_threads, total

pytestmark = pytest.mark.usefixtures("emulator")

X, A = "double x[n], double o[3]", "double A[n][m], double B[n][m], double o[3]"


BESIDE = {
    "rows that are weighed": (
        "double A[n][m], double x[n], double o[3]",
        total("double s = 0;", "for (int i = 0; i < n; i++) { double t = 0; for (int j = 0; j < m; j++) t += A[i][j];"
              " s += t * x[i]; }", "s"),
    ),
    "a residual and a store": (
        A,
        total("double e = 0;", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {"
              " double d = A[i][j] - B[i][j]; B[i][j] = A[i][j]; e += d * d; }", "e"),
    ),
    "a loss": (
        "double A[n][m], double p[m], int y[n], double o[3]",
        total("double loss = 0;", "for (int i = 0; i < n; i++) { double z = 0;"
              " for (int j = 0; j < m; j++) z += A[i][j] * p[j]; double d = z - y[i]; loss += d * d / n; }", "loss"),
    ),
    "payoffs": (
        "double z[n][m], double o[3]",
        total("double all = 0;", "for (int i = 0; i < n; i++) { double s = 100; for (int k = 0; k < m; k++)"
              " s *= 1 + z[i][k] / 8; double pay = s - 60; if (pay > 0) all += pay; }", "all / 8"),
    ),
}  # fmt: skip
SEVERAL = {
    "a sum and an extreme of a local": (
        X,
        total("double s = 0, lo = 9;", "for (int i = 0; i < n; i++) { double v = x[i]; s += v; if (v < lo) lo = v; }",
              "s", "lo"),
    ),
    "two extremes of a local": (
        X,
        total("double lo = 9, hi = -9;", "for (int i = 0; i < n; i++) { double v = 2 * x[i];"
              " if (v < lo) lo = v; hi = v > hi ? v : hi; }", "lo", "hi"),
    ),
    "elements of arrays": (
        "float A[n][m], float lo[1], float hi[2]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " { float v = A[i][j]; lo[0] = lo[0] < v ? lo[0] : v; hi[1] += v; }",
    ),
    "bits and counts of a local": (
        "int x[n], int o[2]",
        total("int c = 0, b = 0;", "for (int i = 0; i < n; i++) { int v = x[i] & 255; c += v > 3; b |= v; }", "c", "b"),
    ),
}  # fmt: skip
GUARDED = {
    "counts of both": (
        "double x[n], int o[2]",
        total("int a = 0, b = 0;", "for (int i = 0; i < n; i++) if (x[i] > 0) a++; else b++;", "a", "b"),
    ),
    "one sum of both": (
        X, total("double s = 0;", "for (int i = 0; i < n; i++) if (x[i] > 0) s += x[i]; else s -= 2 * x[i];", "s"),
    ),
    "pairs in and out of order": (
        "double x[n], double y[n], int o[3]",
        total("int c = 0, d = 0, t = 0;", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
              " double p = (x[i] - x[j]) * (y[i] - y[j]); if (p > 0) c++; else if (p < 0) d++; else t++; }",
              "c", "d", "t"),
    ),
    "a local": (
        X, total("double s = 0;", "for (int i = 0; i < n; i++) if (x[i] > 0) { double t = x[i] * x[i]; s += t; }", "s"),
    ),
    "a local that is rounded": (
        X,
        total("double s = 0; int c = 0;", "for (int i = 0; i < n; i++)"
              " if (x[i] > 0) { float t = x[i] / 3; int k = 8 * x[i]; s += t; c += k; }", "s", "c"),
    ),
    "a store that the condition reads": (
        "double x[n], double y[n], int o[1]",
        total("int c = 0;", "for (int i = 0; i < n; i++) if (x[i] > y[i]) { y[i] = x[i]; c++; }", "c"),
    ),
    "what is left out": (
        X,
        total("double s = 0, q = 0; int c = 0;", "for (int i = 0; i < n; i++) { if (x[i] < -0.5) continue;"
              " double d = x[i] - 1; s += d; q += d * d; c++; }", "s", "q", "c"),
    ),
}  # fmt: skip
CONDITIONS = {
    "on a number that is passed": (
        "double x[n], double s", "if (s > 0) for (int i = 0; i < n; i++) x[i] /= s + 2; else"
        " for (int i = 0; i < n; i++) x[i] = i;",
    ),
    "on an element": (
        "double A[n][m], double x[n], double y[m]",
        "for (int i = 0; i < n; i++) if (x[i] > 0) for (int j = 0; j < m; j++) A[i][j] += x[i] * y[j];",
    ),
    "on a scalar, with statements beside the loops": (
        "double x[n], double A[n][m]",
        "double t; int i, j; for (i = 0; i < n; i++) { t = 2 * x[i]; if (t > 0) { for (j = 0; j < m; j++) A[i][j] += t;"
        " x[i] = 0; } else { x[i] += 1; for (j = 0; j < m; j++) A[i][j] = 0; } }",
    ),
    "on a flag of a loop before": (
        "double x[n], double y[n]",
        "for (int t = 0; t < m; t++) { int any = 0; for (int i = 0; i < n; i++) { y[i] = x[i] * (t + 1);"
        " if (y[i] > 0.9) any = 1; } if (any) for (int i = 0; i < n; i++) x[i] = y[i] / 2; }",
    ),
    "on a flag that is set once": (
        "double x[n], double A[n][m]",
        "for (int i = 0; i < n; i++) { int on = x[i] > 0; if (on) for (int j = 0; j < m; j++) A[i][j] += 1;"
        " else for (int j = 0; j < m; j++) A[i][j] *= x[i]; }",
    ),
    "on what is made of another": (
        "int p[n], double A[n][m]",
        "for (int i = 0; i < n; i++) { int k = p[i], q = k - 1; if (q > 2) for (int j = 0; j < m; j++) A[i][j] += q; }",
    ),
    "around a sum": (
        "int on[n], double A[n][m], double o[1]",
        total("double c = 0;", "for (int i = 0; i < n; i++) if (on[i] > 0) for (int j = 0; j < m; j++) c += A[i][j];",
              "c"),
    ),
}  # fmt: skip
FLAGS = {
    "beside a store": (
        "double x[n], double y[n], int o[1]",
        "o[0] = 0; for (int i = 0; i < n; i++) { y[i] = x[i] * .5; if (y[i] > 0.2) o[0] = 1; }",
    ),
    "by a pointer, of neighbours": (
        "int L[n + 2][m + 2], int N[n + 2][m + 2], int *changed",
        "*changed = 0; for (int i = 1; i <= n; i++) for (int j = 1; j <= m; j++) { int v = L[i][j];"
        " if (L[i-1][j] < v) v = L[i-1][j]; if (L[i][j+1] < v) v = L[i][j+1]; N[i][j] = v;"
        " if (v != L[i][j]) *changed = 1; }",
    ),
    "two, in several places": (
        "double x[n], int o[2]",
        total("int low = 0, far = 0;", "for (int i = 0; i < n; i++) { if (x[i] < 0.1) low = 1;"
              " if (x[i] > 0.5) { x[i] = 0.5; far = -1; } else if (x[i] < -0.5) far = -1; }", "low", "far"),
    ),
}  # fmt: skip
SORTED = {
    "medians of three": (
        "double x[n], double y[n]",
        "for (int i = 1; i < n - 1; i++) { double a = x[i-1], b = x[i], c = x[i+1], t;"
        " if (a > b) { t = a; a = b; b = t; } if (b > c) { t = b; b = c; c = t; }"
        " if (a > b) { t = a; a = b; b = t; } y[i] = b; }",
    ),
}
PAIRS = {
    "products of pairs": (
        X, total("double u = 0;", "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) u += x[i] * x[j];", "u"),
    ),
    "an energy and a least distance": (
        "double x[n], double y[n], double o[2]",
        total("double u = 0, lo = 9;", "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) {"
              " double dx = x[i] - x[j], dy = y[i] - y[j], r = dx * dx + dy * dy + 0.5; u += 1 / r;"
              " if (r < lo) lo = r; }", "u", "lo"),
    ),
    "equal pairs": (
        "int x[n], int o[1]",
        total("int c = 0;", "for (int i = 0; i < n - 1; i++) for (int j = i + 1; j < n; j++) if (x[i] == x[j]) c++;",
              "c"),
    ),
    "a band": (
        "double A[n][n], double o[1]",
        total("double c = 0;", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
              " if (j >= i - 2 && j <= i + 2) c += A[i][j];", "c"),
    ),
    "beside the diagonal": (
        "double A[n][n], double o[1]",
        total("double c = 0;", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (i != j) c += A[i][j];",
              "c"),
    ),
    "beside the diagonal, of two arrays": (
        "int x[n], int X[n][n + 3], int o[1]",
        total("int c = 0;", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
              " if (j != i && j != i + 1) c += X[j][i] * X[i][j] + x[i];", "c"),
    ),
    "sums of rows and columns, but for the diagonal": (
        "int A[n][n], int r[n], int c[2 * n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " if (i != j) { r[i] += A[i][j]; c[i + j - 1] += A[j][i]; }",
    ),
    "beside the diagonal, with a local": (
        "double x[n][3], double o[2]",
        total("double s = 0, q = 9;", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { if (j == i) continue;"
              " double a = x[i][0] - x[j][0], b = x[i][1] - x[j][1], r = a * a + b * b + .25; s += 1 / r;"
              " if (r < q) q = r; }", "s", "q"),
    ),
    "all rows but one, beside the diagonal": (
        "double A[n][m], int B[n][n], double o[2]",
        total("double s = 0; int c = 0;", "for (int i = 0; i < n; i++) { if (i == m) continue;"
              " for (int j = 0; j < m; j++) s += A[i][j]; }"
              " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (i != j)"
              " for (int k = 0; k < m; k++) c += B[i][j] > k;", "s", "c"),
    ),
    "counts of pairs, with a local": (
        "int x[n], int F[n]",
        "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) { int w = x[i] > x[j]; F[i] += w; F[j] -= w; }",
    ),
    "forces of pairs in planes, with locals": (
        "double x[n][2], double F[n][2]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) {"
        " double a = x[i][0] - x[j][0], b = x[i][1] - x[j][1], q = 1 / (a * a + b * b + 0.5);"
        " F[i][0] += q * a; F[i][1] += q * b; F[j][0] -= q * a; F[j][1] -= q * b; }",
    ),
    "forces of pairs": (
        "double x[n], double F[n]",
        "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) { F[i] += x[i] - x[j]; F[j] -= x[i] - x[j]; }",
    ),
}  # fmt: skip
OF_ITERATIONS = {
    "counts that each iteration makes": (
        "double x[n], double r[n], int o[1]",
        total("int ties = 0;", "for (int i = 0; i < n; i++) { int less = 0, same = 0; for (int j = 0; j < n; j++)"
              " { if (x[j] < x[i]) less++; else if (x[j] == x[i]) same++; } r[i] = less + 0.5 * same; ties += same; }",
              "ties"),
    ),
    "payoffs and their squares": (
        "double z[n][m], double o[2]",
        total("double s = 0, q = 0;", "for (int i = 0; i < n; i++) { double p = 100, t = 0;"
              " for (int k = 0; k < m; k++) { p *= 1 + z[i][k] / 8; t += p; } double v = t - 60; if (v < 0) v = 0;"
              " s += v; q += v * v; }", "s", "q"),
    ),
    "the greatest value of recurrences": (
        "double A[n][m], double B[n][m], double o[1]",
        total("double hi = 0;", "for (int i = 0; i < n; i++) { double v = A[i][0]; for (int j = 0; j < m; j++)"
              " { v = 0.9 * v + A[i][j]; B[i][j] = v; if (v > hi) hi = v; } }", "hi"),
    ),
    "a trace and what is beside it": (
        "double A[n][m], double C[n][n], double o[2]",
        total("double on = 0, off = 0;", "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) { double s = 0;"
              " for (int k = 0; k < m; k++) s += A[i][k] * A[j][k]; C[i][j] = s; C[j][i] = s;"
              " if (i == j) on += s; else off += s * s; }", "on", "off"),
    ),
    "neighbours that exist, with locals": (
        "float A[n][m], float B[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { float s = 0, w = 0;"
        " for (int k = -2; k <= 2; k++) for (int l = -2; l <= 2; l++) { int y = i + k, x = j + l;"
        " if (y < 0 || y >= n || x < 0 || x >= m) continue; float d = A[y][x] - A[i][j]; float t = 1 / (1 + d * d);"
        " s += t * A[y][x]; w += t; } B[i][j] = s / w; }",
    ),
    "the nearest of several points": (
        "double X[n][3], double C[m][3], int a[n], int o[1], double p[1]",
        "int moved = 0; double all = 0; for (int i = 0; i < n; i++) { double best = 1e30; int at = 0;"
        " for (int j = 0; j < m; j++) { double s = 0; for (int k = 0; k < 3; k++) { double t = X[i][k] - C[j][k];"
        " s += t * t; } if (s < best) { best = s; at = j; } } if (a[i] != at) { a[i] = at; moved++; } all += best; }"
        " o[0] = moved; p[0] = all;",
    ),
    "forces of pairs that are near": (
        "double x[n], double y[n], double F[n], double G[n]",
        "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) { double d = x[i] - x[j], e = y[i] - y[j],"
        " r = d * d + e * e; if (r < 0.5) { double w = 1 / (r + 1); F[i] += w * d; G[i] += w * e; F[j] -= w * d;"
        " G[j] -= w * e; } }",
    ),
    "a flag of what a branch changes": (
        "int A[n][m], int B[n][m], int o[1]",
        total("int changed = 0;", "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++) { int l = A[i][j];"
              " if (l > 0) { if (A[i-1][j] > l) l = A[i-1][j]; if (A[i][j+1] > l) l = A[i][j+1];"
              " if (l != A[i][j]) changed = 1; } B[i][j] = l; }", "changed"),
    ),
    "what a branch has stored": (
        "double x[n], double y[n], double o[1]",
        total("double s = 0;", "for (int i = 0; i < n; i++) if (x[i] > 0) { x[i] = x[i] / 2; s += x[i]; }"
              " else { y[i] = x[i] * x[i]; s -= y[i]; }", "s"),
    ),
}  # fmt: skip
PROGRAMS = {**BESIDE, **SEVERAL, **GUARDED, **CONDITIONS, **FLAGS, **SORTED, **PAIRS, **OF_ITERATIONS}
# What --fp strict leaves in order, as rounding would change.
IN_ORDER = re.compile(
    "weighed|residual|loss|payoffs|extreme|elements|one sum|a local|around a sum|products of|energy|band|beside the"
    "|forces|all rows but|payoffs|recurrences|trace|nearest|has stored"
)


@pytest.mark.slow(but="equal pairs")
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_over_data_run_in_many_threads(name: str) -> None:
    runs_in_many_threads(source(*PROGRAMS[name]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_computes_what_c_does(name: str) -> None:
    serial = same_in_every_schedule(source(*PROGRAMS[name]), SIZES)
    assert IN_ORDER.search(name) or "auto" not in serial


@pytest.mark.parametrize("name", [name for name in PAIRS if "the diagonal" in name])
def test_what_leaves_few_points_out_takes_few_operations(name: str) -> None:
    (scop,) = polytile.compile(source(*PAIRS[name]), name="f.c", max_operations=300_000).scops
    assert scop.program is not None, [remark.message for remark in scop.remarks]


UNMOVED = {
    "what the condition reads": "if (c < 3) { c += x[i] > 0; s += x[i]; }",
    "what another statement reads": "if (x[i] > 0) { c++; y[i] = c; }",
    "what was stored before": "if (x[i] > 0) { y[i] = x[i]; s += y[i]; }",
    "a flag that the loop reads": "if (x[i] > 0) c = 1; y[i] += c;",
    "a flag of two values": "if (x[i] > 0) c = 1; if (x[i] < -0.3) c = 2;",
    "a local that changes": "if (x[i] > 0) { double t = x[i]; t *= 2; s += t; y[i] = t; }",
    "a local of what pairs add to": "for (int j = i + 1; j < n; j++) { double w = y[j] - y[i]; y[i] += w; y[j] -= w; }",
    "an element that the loop sets": "if (y[0] > 0) for (int j = 0; j < m; j++) y[j] -= 1;",
    "a header that needs its condition": "if (x[i] > 0) for (int j = 0; j < m / (int)(4 * x[i] + 1); j++) y[j] += 1;",
}


@pytest.mark.parametrize("name", UNMOVED)
def test_what_depends_on_its_condition_stays_there(name: str) -> None:
    body = f"double s = 0; int c = 0; for (int i = 0; i < n; i++) {{ {UNMOVED[name]} }} o[0] = s; o[1] = c;"
    same_in_every_schedule(source("double x[n], double y[n + m], double o[2]", body), SIZES)


def test_a_pointer_that_may_be_null_is_only_used_where_it_is_set() -> None:
    """`error` is given by callers that want to know: only where an iteration sets it must it lead anywhere."""
    body = "for (int i = 0; i < n; i++) if (x[i] > 0.5) *error = 1;"
    (scop,) = polytile.compile(source("double x[n], int *error", body), name="f.c").scops
    assert scop.program is None
