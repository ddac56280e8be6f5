"""Loops that run as often as data say are one statement each, and what is around them runs in parallel."""

from __future__ import annotations

import pytest

import polytile
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 2}, {"n": 7, "m": 9}, {"n": 70, "m": 40})
ROWS = "int row[n + 1], int col[n + m], double val[n + m], double x[m], double y[n]"
PROGRAMS = {
    "sparse rows": (
        ROWS,
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = row[i]; j < row[i + 1]; j++) s += val[j] * x[col[j]];"
        " y[i] = s; }",
    ),
    "sparse rows, in memory": (
        ROWS,
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) y[i] += val[j] * x[col[j]];",
    ),
    "sparse rows with a name for the column": (
        ROWS,
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++)"
        " { int c = col[j]; double v = val[j] * x[c]; if (v > 0) y[i] += v; else y[i] -= 0.5 * v; }",
    ),
    "sparse rows by a matrix": (
        "int row[n + 1], int col[n + m], double val[n + m], double X[m][3], double Y[n][3]",
        "for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++)"
        " for (int j = row[i]; j < row[i + 1]; j++) Y[i][k] += val[j] * X[col[j]][k];",
    ),
    "rows of given lengths": (
        "int len[n], int col[n][m], double val[n][m], double x[m], double y[n]",
        "for (int i = 0; i < n; i++) { y[i] = 0; for (int k = 0; k < len[i]; k++) y[i] += val[i][k] * x[col[i][k]]; }",
    ),
    "bounds in scalars": (
        ROWS,
        "for (int i = 0; i < n; i++) { int first = row[i], last = row[i + 1]; for (int j = first; j < last; j++)"
        " y[i] += val[j]; }",
    ),
    "downwards, in steps": (
        "int len[n], double a[n][m], double y[n]",
        "for (int i = 0; i < n; i++) for (int k = len[i] - 1; k >= 0; k -= 2) y[i] = 0.5 * y[i] + a[i][k];",
    ),
    "the first that is large": (
        "double a[n][m], int y[n]",
        "for (int i = 0; i < n; i++) { y[i] = -1; for (int j = 0; j < m; j++)"
        " if (a[i][j] > 0.9) { y[i] = j; break; } }",
    ),
    "up to the first that is negative": (
        "double a[n][m], double y[n], double z[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) z[i] += a[i][j];"
        " for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { if (a[i][j] < 0) break; y[i] += a[i][j]; } }",
    ),
    "two loops of one break": (
        "double a[n][m], double y[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { int k; for (k = 0; k <= j; k++)"
        " if (a[i][k] > 1) break; if (k > j) continue; y[i] += k; }",
    ),
    "do": (
        "double a[n], int y[n]",
        "for (int i = 0; i < n; i++) { double v = a[i]; int c = 0; do { v = v * v; c++; } while (v > 0.01 && v < 10);"
        " y[i] = c; }",
    ),
    "do with continue": (
        "int a[n], int y[n]",
        "for (int i = 0; i < n; i++) { int v = a[i] * 7; y[i] = 0; do { v -= 3; if (v % 2 == 0) continue; y[i] += v; }"
        " while (v > 0); }",
    ),
    "continue": (
        "double a[n][m], double y[n]",
        "for (int i = 0; i < n; i++) { int j = 0; while (j < m) { if (a[i][j] < 0) { j += 2; continue; }"
        " y[i] += a[i][j]; j++; } }",
    ),
    "lists": (
        "int next[n + 1], int head[n], double w[n + 1], double y[n]",
        "for (int i = 0; i < n; i++) { double s = 0; int c = 0; "
        "for (int p = head[i]; p > 0 && c < 20; p = next[p], c++) s += w[p]; y[i] = s; }",
    ),
    "loops inside": (
        "double a[n][m], double y[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { double v = a[i][j]; int c = 0;"
        " while (v * v < 4 && c < 9) { double t = 1; for (int k = 0; k < 3; k++) t *= v; v = t + 0.7; c++; }"
        " y[i][j] = v; }",
    ),
    "loops inside that data end": (
        "int row[n + 1], int col[n + m], double y[n]",
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++)"
        " for (int k = row[col[j] % (n + 1)]; k < row[i]; k++) y[i] += col[k];",
    ),
    "a search by halves": (
        "int a[m], int y[n], int q[n]",
        "for (int i = 0; i < n; i++) { int lo = 0, hi = m; while (lo < hi) { int mid = (lo + hi) / 2;"
        " if (a[mid] < q[i]) lo = mid + 1; else hi = mid; } y[i] = lo; }",
    ),
    "greatest common divisors": (
        "unsigned a[n], unsigned b[n], unsigned y[n]",
        "for (int i = 0; i < n; i++) { unsigned u = a[i], v = b[i]; while (v) { unsigned t = u % v; u = v; v = t; }"
        " y[i] = u; }",
    ),
    "under a condition": (
        "double a[n], double b[n]",
        "for (int i = 0; i < n; i++) if (a[i] > 0) while (a[i] > 0.1 * b[i] * b[i]) a[i] = 0.5 * a[i] - 0.01;",
    ),
    "elements in several places": (
        "int len[n], double A[n][m + 3], double B[n][m]",
        "for (int i = 1; i < n; i++) for (int k = 0; k < len[i] && k < m; k++)"
        " A[i][k + 2] = A[i][k] + B[i][k] * B[i - 1][m - 1 - k];",
    ),
    "a switch": (
        "int k[n], double a[n]",
        "for (int i = 0; i < n; i++) switch (k[i] % 4) { case 0: a[i] = 1; break; case 1: a[i] *= 2;"
        " case 2: case 3: a[i] += 3; break; default: a[i] = 0; }",
    ),
    "a switch in a loop": (
        "int k[n][m], double a[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { switch (k[i][j] % 3) { case 0: continue;"
        " case 1: a[i] += 1; break; default: { a[i] *= 0.5; break; } } a[i] += 0.25; }",
    ),
    "a switch on an iterator": (
        "double a[n]",
        "for (int i = 0; i < n; i++) switch (i % 3) { case 'a' - 'a': a[i] = 1; case 1: a[i] += 1; break;"
        " default: a[i] = 3; break; case -1: a[i] = 4; }",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    serial = same_in_every_schedule(source(*PROGRAMS[name]), SIZES)
    assert not serial


ESCAPE = """
void f(int n, int m, int most, int out[n][m])
{
    double x, y, t;
    int it;
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            x = 0;
            y = 0;
            it = 0;
            while (x * x + y * y < 4 && it < most) {
                t = x * x - y * y + (i - n / 2) * 0.1;
                y = 2 * x * y + (j - m / 2) * 0.1;
                x = t;
                it++;
            }
            out[i][j] = it;
        }
#pragma endscop
}
"""
FOUND = """
void f(int n, int m, double a[n][m], int first[n])
{
    int j;
#pragma scop
    for (int i = 0; i < n; i++) {
        for (j = 0; j < m; j++)
            if (a[i][j] > 0.4)
                break;
        first[i] = j;
    }
#pragma endscop
}
"""


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("text", (ESCAPE, FOUND), ids=("escape", "iterator used behind"))
def test_scalars_of_the_function(text: str) -> None:
    """What each iteration sets anew is its own, also where it is declared before all loops."""
    assert not same_in_every_schedule(text, SIZES)


def test_ranges_are_those_of_the_header() -> None:
    """A `break` makes reads and writes uncertain, not their ranges."""
    text = source("double a[n][m + 5], double y[n]", "for (int i = 0; i < n; i++) for (int j = 2; j < m; j++)"
                  " { if (a[i][j] > 1) break; y[i] += a[i][j + 1]; }")  # fmt: skip
    (statement,) = polytile.compile(text, name="f.c").scops[0].scop.statements
    read = [a for a in statement.accesses if a.array == "a"]
    spans = {str(a.relation.range().dim_min_val(1)) for a in read}
    assert spans == {"2", "3"}
    assert {a.kind.value for a in statement.accesses if a.array == "y"} == {"read", "may-write"}


SERIAL = {
    "over all": ("double a[n]", "while (n > 0 && a[0] > 0) a[0] -= 1;"),
    "an outermost break": ("double a[n]", "for (int i = 0; i < n; i++) { if (a[i] > 1) break; a[i] = 2; }"),
    "a bound that the loop changes": ("double a[n]", "int k = 1; for (int i = 0; i < n; i++) { k = (2 * k + 1) % n;"
                                      " for (int j = 0; j < k; j++) a[j] += i; }"),
    "an index of the iteration before": (
        "double a[n], double b[n]", "int k = 0; for (int i = 0; i < n; i++) { b[i] = a[k]; if (b[i] > 0) k = i; }",
    ),
    "its own index": ("int p[n]", "for (int i = 0; i < n; i++) p[i] = p[p[i]];"),
    "an element for several": ("double a[n], int p[n]", "for (int i = 0; i < n; i++) a[i] = 2 * a[p[i]];"),
    "written by an index": ("double a[n], int p[n]", "for (int i = 0; i < n; i++) a[p[i]] = i;"),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("name", SERIAL)
def test_what_stays_in_order(name: str) -> None:
    compiled = polytile.compile(source(*SERIAL[name]), name="f.c").scops[0]
    assert compiled.program is None
    assert any("no loop of it is parallel" in remark.message for remark in compiled.remarks)


def test_detected_loops_are_not_hidden() -> None:
    """Where data end the outermost loop, those inside it are looked at, as nothing around them may be parallel."""
    text = (
        "void f(int n, double a[n], double b[n]) { int t;\nfor (t = 0; a[0] > 0; t++) {\n"
        "for (int i = 1; i < n; i++) b[i] = a[i] - 1;\nfor (int i = 0; i < n; i++) a[i] = b[i]; } }\n"
    )
    program = polytile.compile(text, name="f.c", autodetect=True)
    assert [scop.program is not None for scop in program.scops] == [True]
