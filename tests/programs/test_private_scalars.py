"""Scalars that iterations and branches set before they read them, wherever they are declared, keep no loop in order."""

from __future__ import annotations

import re

import pytest

import polytile
from tests.every_schedule import same_in_every_schedule, source
from tests.parallel_loops import SIZES, runs_in_many_threads, total

pytestmark = pytest.mark.usefixtures("emulator")

X, A = "double x[n], double y[n], double o[3]", "double A[n][m], double o[3]"
EACH = "for (i = 0; i < n; i++)"
BRANCHES = {
    "set in a branch": (
        X, total("double t, s = 0; int i;", f"{EACH} if (x[i] > 0) {{ t = x[i] * x[i]; s += t; }}", "s"),
    ),
    "set before, changed in a branch": (
        X,
        total("double t, s = 0; int i;", f"{EACH} {{ t = x[i] * x[i]; if (x[i] > 0) {{ t = t * 2; s += t; }} }}", "s"),
    ),
    "set in both branches": (
        X,
        total("double t = 5, a, s = 0; int i;", f"{EACH} {{ a = x[i]; if (a > 0) {{ t = a * a; s += t; }}"
              " else { t = 0.5; s -= t * a; } }", "s"),
    ),
    "changed and chosen again": (
        X,
        total("double t, s = 0; int i;", f"{EACH} if (x[i] > 0) {{ t = x[i] * x[i]; t *= 2; if (t > 1) t = 1;"
              " else t = t - 3; s += t; }", "s"),
    ),
    "declared in the branch": (
        X, total("double s = 0; int i;", f"{EACH} if (x[i] > 0) {{ double t = x[i]; t = -t; s += t; y[i] = t; }}", "s"),
    ),
    "of several types": (
        X,
        total("double s = 0, t; int k = 0, c = 0, i;", f"{EACH} if (x[i] > 0) {{ t = y[i]; k = 3 * t;"
              " if (k < 0) k = -k; c += k; s += t; } else if (x[i] < -0.5) { t = 2; s -= t; y[i] = t; }", "s", "c"),
    ),
    "in conditions in one another": (
        A,
        total("double s = 0, t, u, q = 0; int i, j;", f"{EACH} for (j = 0; j < m; j++) {{ t = A[i][j]; if (t > 0)"
              " { u = t * t; s += u; if (u > 0.5) { t = u - 1; q += t; } } }", "s", "q"),
    ),
}  # fmt: skip
LAST = {
    "the last value": (X, total("double t = 0; int i;", f"{EACH} {{ t = x[i] * 2; y[i] = t; }}", "t")),
    "the last value, in a condition": (
        X,
        total("double t = 7, z = 1; int i;", f"{EACH} {{ t = x[i] * 2; y[i] = t; }} if (n > 3) z = t;", "z"),
    ),
    "the last value of each row": (
        "double A[n][m], double B[n][m], double y[n]",
        f"double t = 3; int i, j; {EACH} {{ for (j = 0; j < m; j++) {{ t = A[i][j] + 1; B[i][j] = t * t; }}"
        " y[i] = t; }",
    ),
    "the last value downwards": (
        X,
        total("double t = 0; int i;", "for (i = n - 1; i >= 0; i -= 2)"
              " { t = x[i]; if (t < 0) t = -t; y[i] = t; }", "t"),
    ),
}  # fmt: skip
PROGRAMS = {**BRANCHES, **LAST}
IN_ORDER = re.compile("|".join(BRANCHES))  # sums of floating point numbers, under --fp strict


@pytest.mark.slow(but="the last value")
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_over_data_run_in_many_threads(name: str) -> None:
    runs_in_many_threads(source(*PROGRAMS[name]), alone=2 if name in LAST else 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_computes_what_c_does(name: str) -> None:
    serial = same_in_every_schedule(source(*PROGRAMS[name]), SIZES)
    assert IN_ORDER.search(name) or "auto" not in serial


UNMOVED = {
    "read before it is set": "if (x[i] > 0) { s += t; t = x[i]; }",
    "read behind the condition": "if (x[i] > 0) t = x[i]; y[i] = t;",
    "read by the next iteration": "y[i] += t; t = x[i];",
    "set in one of two branches": "if (x[i] > 0.3) { if (x[i] > 0.5) t = x[i]; s += t; }",
    "read by the condition": "if (t > 0) { t = x[i]; s += t; }",
    "left by a loop that may not run": "for (int j = 0; j < i % 3; j++) t = x[j]; s += t;",
}


@pytest.mark.parametrize("name", UNMOVED)
def test_values_of_other_iterations_are_read(name: str) -> None:
    body = f"double s = 0, t = 2; for (int i = 0; i < n; i++) {{ {UNMOVED[name]} }} o[0] = s; o[1] = t;"
    same_in_every_schedule(source(X, body), SIZES)


def test_what_the_function_declares_is_private_too() -> None:
    text = """double f(int n, double x[n])
{
    double t, u = 3, s = 0;
    int i;
#pragma scop
    for (i = 0; i < n; i++) {
        t = x[i] * x[i];
        if (x[i] > 0) { u = t * 2; s += u; } else { u = t * 3; s -= u; }
    }
#pragma endscop
    return s;
}
"""
    runs_in_many_threads(text)


def test_what_is_read_behind_the_scop_is_the_last_value() -> None:
    text = """double f(int n, double x[n], double y[n])
{
    double t = 1;
#pragma scop
    for (int i = 0; i < n; i++) { t = x[i] * x[i]; y[i] = t; }
#pragma endscop
    return t;
}
"""
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True).scops
    assert scop.program is not None
    for n in (0, 1, 300):
        scop.validate(on="emulator", parameters={"n": n})
