"""Loops that look for the place of an extreme, or for the last place, run in parallel and find the same."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule, source
from tests.parallel_loops import runs_in_many_threads

DATA = (
    "int a[n + 1], float b[n + 1], double c[n + 1], float x0, int r[1], int q[1],"
    " double A[n + 1][m + 1], int B[n + 1][m + 1]"
)
VECTORS = tuple({"n": n} for n in (0, 1, 2, 45, 4000))
MATRICES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 5), (45, 33), (200, 40)))
FEW = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (9, 7)))
PARALLEL = {
    "the first largest": (
        "int x = a[0]; int k = 0; for (int i = 0; i < n; i++) if (a[i] > x) { x = a[i]; k = i; } r[0] = x; q[0] = k;"
    ),
    "the first smallest, of some": (
        "float x = x0; int k = -7; for (int i = 2; i <= n; ++i) if (x > b[i]) { k = i; x = b[i]; } q[0] = k;"
    ),
    "of amounts": (
        "double x = -1; int k = 5; for (int i = 1; i < n; i++) if (fabs(c[i]) > x) { k = i; x = fabs(c[i]); }"
        " q[0] = k; r[0] = x > 2;"
    ),
    "the last place": "int k = -1; for (int i = 0; i < n; i++) if (a[i] < 0) k = i; q[0] = k;",
    "the first largest of a matrix": (
        "double x = A[0][0]; int k = 0, l = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " if (A[i][j] > x) { x = A[i][j]; k = i; l = j; } r[0] = k + (x > 9); q[0] = l;"
    ),
    "the row of the first smallest": (
        "double x = x0; int k = -1; for (int i = 0; i < n; i++) for (int j = 1; j < m; j++)"
        " if (x > fabs(A[i][j])) { k = 2 * i + 1; x = fabs(A[i][j]); } q[0] = k; r[0] = x > 0.01;"
    ),
    "the column alone, of ties": (
        "int x = -200; int l = -1; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " if (B[i][j] > x) { l = j; x = B[i][j]; } q[0] = l; r[0] = x;"
    ),
    "the last place of a matrix": (
        "int k = -1, l = -2; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " if (B[i][j] == r[0]) { k = i; l = j + i; } q[0] = k * 100 + l;"
    ),
    "over three loops": (
        "int x = -1; int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) for (int l = 0; l < m; l++)"
        " if (B[i][l] > x) { x = B[i][l]; k = 100 * i + 10 * j + l; } q[0] = k;"
    ),
    "whether there was one": (
        "int k = -1, f = 0; for (int i = 0; i < n; i++) if (a[i] < 0) { k = i; f = 1; } q[0] = k + f;"
    ),
    "the last place of two values": (
        "int k = n; for (int i = 1; i < n; i++) if (b[i] < b[i - 1] && a[i] != 3) { k = i; } q[0] = k + 1;"
    ),
    "whether there is one": "int k = r[0]; for (int i = 0; i < n; i++) if (a[i] < 0) k = 1; q[0] = k;",
    "whether none is": "_Bool k = 1; for (int i = 0; i < n; i++) { if (c[i] > 0.5) { k = 0; } } q[0] = k;",
    "values that sizes give": (
        "double k = 0.25; int l = n; for (int i = 0; i < n; i++) if (b[i] < x0) { k = 0.5 * x0; l = n - 1; }"
        " q[0] = l; c[0] = k;"
    ),
    "whether a triangle has one": (
        "int k = 0; for (int i = 0; i < n; i++) for (int j = i; j < m; j++) if (B[i][j] == 7) k = 1; q[0] = k;"
    ),
}
BY_PLACE = {
    "the place alone": "int k = 0; for (int i = 1; i < n; i++) if (a[i] > a[k]) k = i; q[0] = k;",
    "iterators of the function": (
        "int i, k = n; for (i = 0; i < n; i++) if (fabs(c[k]) > fabs(c[i])) k = i; q[0] = k + i;"
    ),
    "no number to start with": (
        "int k = n; c[n] = 0. / 0.; for (int i = 0; i < n; i++) if (c[i] < c[k]) k = i; q[0] = k;"
    ),
    "both places": (
        "int i, j, k = 0, l = 0; for (i = 0; i <= n; i++) for (j = 0; j < m; j++)"
        " if (B[i][j] < B[k][l]) { k = i; l = j; } q[0] = k; r[0] = l;"
    ),
    "of rows, beside labels": (
        "int right = 0; for (int i = 0; i < n; i++) { int k = 0; for (int j = 1; j < m; j++)"
        " if (A[i][j] > A[i][k]) k = j; if (k == a[i]) right++; } q[0] = right;"
    ),
    "of rows, with values": (
        "int i, j, k; double x; for (i = 0; i < n; i++) { x = A[i][m]; k = m; for (j = 0; j < m; j++)"
        " if (A[i][j] > x) { x = A[i][j]; k = j; } c[i] = x; a[i] = k; }"
    ),
    "pivots": (
        "int i, j, k, p; double t; for (k = 0; k < m; k++) { p = k; for (i = k + 1; i < m; i++)"
        " if (fabs(S[i][k]) > fabs(S[p][k])) p = i; if (p != k) { for (j = 0; j < m; j++)"
        " { t = S[k][j]; S[k][j] = S[p][j]; S[p][j] = t; } t = v[k]; v[k] = v[p]; v[p] = t; }"
        " for (i = k + 1; i < m; i++) { S[i][k] /= S[k][k] + 2; for (j = k + 1; j < m; j++)"
        " S[i][j] -= S[i][k] * S[k][j]; } }"
    ),
    "a place that rows hand on": (
        "int i, j, k = 0; for (i = 0; i < n; i++) for (j = 0; j < m; j++) if (B[i][j] > B[i][k]) k = j; q[0] = k;"
    ),
    "a triangle": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) for (int j = i; j < m; j++)"
        " if (B[i][j] > x) { x = B[i][j]; k = i; } q[0] = k;"
    ),
    "a statement between": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) { x -= 1; for (int j = 0; j < m; j++)"
        " if (B[i][j] > x) { x = B[i][j]; k = j; } } q[0] = k;"
    ),
}
BESIDE = {
    "a count": (
        "int x = a[0], k = 0, l = 0; for (int i = 0; i < n; i++) { if (a[i] > x) { x = a[i]; k = i; } if (a[i]"
        " > 3) l++; }"
        " q[0] = k; r[0] = l;"
    ),
    "a local that a sum shares": (
        "double x = -1, s = 0; int k = 0; for (int i = 0; i < n; i++)"
        " { double v = fabs(c[i]); s += v; if (v > x) { x = v; k = i; } } q[0] = k; c[n] = s;"
    ),
    "locals of locals": (
        "int x = -9, k = n; for (int i = 0; i < n; i++) { int j = n - 1 - i; int v = a[j]; int w = v;"
        " if (x < w) { x = w; k = i; } } q[0] = k; r[0] = x;"
    ),
    "both places": (
        "float lo = b[0], hi = b[0]; int k = 0, l = 0; for (int i = 1; i < n; i++) { if (b[i] < lo) { lo ="
        " b[i]; k = i; }"
        " if (b[i] > hi) { l = i; hi = b[i]; } } q[0] = k; r[0] = l;"
    ),
    "both places, of a triangle, and a count": (
        "int x = 9, y = -9, k = 0, l = 0, s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < i && j < m; j++)"
        " { int v = B[i][j]; if (v < x) { x = v; k = i; } s += v > 0; if (v > y) { y = v; l = j; } }"
        " q[0] = k + s; r[0] = l;"
    ),
    "a store that it reads": (
        "double x = 0; int k = 0; for (int i = 0; i < n; i++) { c[i] = c[i] * b[i]; if (c[i] > x) { x = c[i]; k"
        " = i; } }"
        " q[0] = k;"
    ),
    "a store that inner loops make": (
        "double x = -1; int k = 0; for (int i = 0; i < n; i++) { c[i] = 0; for (int j = 0; j < m; j++) c[i] += A[i][j];"
        " if (c[i] > x) { x = c[i]; k = i; } } q[0] = k;"
    ),
    "a variable that is set before": (
        "int x = 0, k = -1, v = 7; for (int i = 0; i < n; i++) { v = a[i]; if (v > x) { x = v; k = i; } } q[0] = k;"
    ),
    "the place alone, with a store": (
        "int k = 0; for (int i = 0; i < n; i++) { c[i] = 2 * c[i]; if (a[i] > a[k]) k = i; } q[0] = k;"
    ),
    "the last place and a sum": (
        "int k = -1; double s = 0; for (int i = 0; i < n; i++) { if (a[i] < 0) k = i; s += c[i]; } q[0] = k; c[n] = s;"
    ),
}
IN_ORDER_BESIDE = {
    "a value that changes behind its read": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) { int v = a[i]; a[i] = 0; if (v > x) { x = v; k = i; } }"
        " q[0] = k;"
    ),
    "a conversion": (
        "float x = 0; int k = 0; for (int i = 0; i < n; i++) { float v = c[i]; if (v > x) { x = v; k = i; } } q[0] = k;"
    ),
    "an element that the next iteration sets": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) { a[i + 1] = b[i]; if (a[i] > x) { x = a[i]; k = i; } }"
        " q[0] = k;"
    ),
    "a store behind": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) { if (a[i] > x) { x = a[i]; k = i; } a[i] = n - i; } q[0] = k;"
    ),
    "the place so far": (
        "int x = 0, k = 0, s = 0; for (int i = 0; i < n; i++) { if (a[i] > x) { x = a[i]; k = i; } s += k; } q[0] = s;"
    ),
    "a sum so far": (
        "double x = 0; int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " { c[i] += A[i][j]; if (c[i] > x) { x = c[i]; k = i; } } q[0] = k;"
    ),
    "a value of the iteration before": (
        "int x = 0, k = 0, v = 3; for (int i = 0; i < n; i++) { if (v > x) { x = v; k = i; } v = a[i]; } q[0] = k;"
    ),
    "a variable that is set twice": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) { int v = a[i]; if (b[i] > 0) v = -v; if (v > x) { x ="
        " v; k = i; } }"
        " q[0] = k;"
    ),
    "an end that it may reach before": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) { if (a[i] == 3) break; if (a[i] > x) { x = a[i]; k = i;"
        " } } q[0] = k;"
    ),
}
IN_ORDER = {
    "rounded": "float x = 0; int k = 0; for (int i = 0; i < n; i++) if (c[i] > x) { x = c[i]; k = i; } q[0] = k;",
    "the last largest": "int x = 0, k = 0; for (int i = 0; i < n; i++) if (a[i] >= x) { x = a[i]; k = i; } q[0] = k;",
    "another value": "int x = 0, k = 0; for (int i = 0; i < n; i++) if (a[i] > x) { x = a[i + 1]; k = i; } q[0] = k;",
    "a value of the place": (
        "int x = 0, k = 0; for (int i = 0; i < n; i++) if (a[i] > x) { x = a[i]; k = r[0] + x; } q[0] = k;"
    ),
    "a flag that it reads": "int k = 0; for (int i = 0; i < n; i++) if (a[i] > 9 - k) k = 1; q[0] = k;",
    "a flag from another": "int k = 0, l = 0; for (int i = 0; i < n; i++) if (a[i] > 9) { l = k; k = 1; } q[0] = l;",
    "a value that differs in the other loop": (
        "int i, j, k = 0; for (i = 0; i < n; i++) for (j = 0; j < m; j++) if (B[i][j] > B[k][j]) k = i; q[0] = k;"
    ),
    "a place that it reads": "int k = 0; for (int i = 0; i < n; i++) if (a[i] > k) k = i; q[0] = k;",
}


@pytest.mark.parametrize("name", PARALLEL)
def test_searches_are_reductions(name: str) -> None:
    text = "#include <math.h>\n" + source(DATA, PARALLEL[name])
    scop = polytile.compile(text, name="f.c", raise_bugs=True).scops[0]
    assert scop.program is not None
    for sizes in MATRICES if "m;" in text else VECTORS:
        for report in scop.validate(on="emulator", parameters=sizes, seed=sizes["n"] + 1, sanitize=CHECKS):
            assert not report.note, report.line


@pytest.mark.parametrize("name", BY_PLACE)
def test_searches_of_rows_and_by_place_run_in_many_threads(name: str) -> None:
    text = "#include <math.h>\n" + source(DATA + ", double S[m][m], double v[m]", BY_PLACE[name])
    sizes = FEW if "m;" in BY_PLACE[name] else VECTORS[:-1]
    runs_in_many_threads(text, sizes[1:])
    assert "auto" not in same_in_every_schedule(text, sizes)


@pytest.mark.parametrize("name", BESIDE)
def test_searches_beside_other_statements_run_in_many_threads(name: str) -> None:
    text = "#include <math.h>\n" + source(DATA, BESIDE[name])
    runs_in_many_threads(text, FEW + MATRICES[3:4] if "m;" in text else VECTORS[:-1])


@pytest.mark.parametrize("name", IN_ORDER_BESIDE)
def test_searches_keep_their_order_beside_what_they_depend_on(name: str) -> None:
    text = "#include <math.h>\n" + source(DATA, IN_ORDER_BESIDE[name])
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True).scops
    for sizes in FEW if "m;" in text else VECTORS[:-1]:
        for report in scop.validate(on="emulator", parameters=sizes, seed=sizes["n"] + 1, sanitize=CHECKS):
            assert not report.note, report.line


@pytest.mark.quick
@pytest.mark.parametrize("name", IN_ORDER)
def test_what_is_no_such_search_stays_in_order(name: str) -> None:
    assert polytile.compile(source(DATA, IN_ORDER[name]), name="f.c").scops[0].program is None
