"""Elements that are read by an index which is read itself: each may be any of its dimension."""

from __future__ import annotations

import re

import islpy as isl
import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 2}, {"n": 7, "m": 9}, {"n": 70, "m": 40})
PROGRAMS = {
    "gather": ("double y[n], double x[m], int p[n]", "for (int i = 0; i < n; i++) y[i] = x[p[i]];"),
    "a sparse product in rows of five": (
        "double y[n], double x[m], int p[n][5], double v[n][5]",
        "for (int i = 0; i < n; i++) { y[i] = 0; for (int k = 0; k < 5; k++) y[i] += v[i][k] * x[p[i][k]]; }",
    ),
    "rows and columns, moved": (
        "double y[n][n], double x[n + m][n], int p[n], unsigned char q[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " y[i][j] = x[p[i]][j] + x[i][q[j] - 1] + x[i + m][0 + p[i]];",
    ),
    "an index that is written before": (
        "double y[n], double x[n], int p[n]",
        "for (int i = 0; i < n; i++) p[i] = n - 1 - i; for (int i = 0; i < n; i++) y[i] = x[p[i]];",
    ),
    "an index that changes with time": (
        "double y[n], double x[n], int p[n]",
        "for (int t = 0; t < 4; t++) { for (int i = 0; i < n; i++) y[i] += x[p[i]];"
        " for (int i = 0; i < n; i++) p[i] = (n - 1 - i) * (t % 2); }",
    ),
    "an index that is written where it is read": (
        "double y[n], double x[n], int p[n + 1]",
        "for (int i = 0; i < n; i++) { y[i] = x[p[i]]; p[i + 1] = n - 1 - i; }",
    ),
    "through a scalar": (
        "double y[n], double x[m], int p[n]",
        "for (int i = 0; i < n; i++) { int k = p[i]; y[i] = x[k] + x[k]; }",
    ),
    "a member of a struct, under a condition on data": (
        "double y[n], struct edge { int to; float w; } e[n], double x[m]",
        "for (int i = 0; i < n; i++) if (e[i].w > 0.1f) y[i] = x[e[i].to + 1];",
    ),
    "casts": (
        "double y[n], double z[n], double x[m], long p[n + 1]",
        "for (int i = 0; i < n; i++) { y[i] = x[p[i]] - x[p[i + 1]]; z[i] = x[(int) p[i]] * x[i % 1]; }",
    ),
    "two deep": ("double y[n], double x[m], int p[n], int q[m]", "for (int i = 0; i < n; i++) y[i] = x[q[p[i]]];"),
    "a table": (
        "float y[n][n], float table[256], unsigned char x[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i][j] = table[x[i][j]];",
    ),
    "a product of rows": (
        "double C[n][n], double A[n][m], double B[n][m], int p[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++)"
        " C[i][j] += A[p[i]][k] * B[j][k];",
    ),
    "over time": (
        "double y[n][n], double x[n][n], int p[n]",
        "for (int t = 0; t < 4; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        " y[i][j] = 0.5 * (y[i][j] + x[p[i]][j - 1] + x[p[i]][p[j]]);",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    serial = same_in_every_schedule(source(*PROGRAMS[name]), SIZES)
    assert not serial


@pytest.mark.usefixtures("emulator")
def test_a_sum_of_gathered_elements_is_shared_out() -> None:
    text = source("double y[1], double x[m], int p[n]", "for (int i = 0; i < n; i++) y[0] += x[p[i]];")
    scop = polytile.compile(text, name="f.c").scops[0]
    assert scop.program is not None
    for sizes in SIZES:
        assert scop.validate(on="emulator", parameters=sizes, seed=1, sanitize="all")


def test_the_whole_dimension_may_be_read() -> None:
    scop = polytile.compile(source(*PROGRAMS["rows and columns, moved"]), name="f.c").scops[0].scop
    read = [a.relation for s in scop.statements for a in s.accesses if a.array == "x"]
    expected = isl.Map("[n, m] -> { S0[i, j] -> x[a, j] : 0 <= a < n + m }").intersect_domain(scop.statements[0].domain)
    assert read[0].intersect_domain(scop.statements[0].domain).is_equal(expected)
    assert len(read) == 3


REFUSED = {
    "of no size": ("double *a, double b[n], int p[n]", "p[i] += 1; b[i] = a[p[i]];", "how large the array is is not"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    arguments, statement, message = REFUSED[name]
    loop = f"for (int i = 0; i < n; i++) {{ {statement} }}"
    text = re.sub(r"#pragma (end)?scop", "", source(arguments, loop))
    with pytest.raises(UserError, match=message):
        polytile.compile(text, name="f.c", autodetect=True)  # marked ones may ask memory: test_allocated_extents.py
