"""Scalars that carry a value to the next iteration: loops that are parallel in another order of their statements."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import source

DATA = "float a[n], float b[n], float c[n], double d[n], float x0"
PARALLEL = {
    "the value before": "float x = x0; for (int i = 0; i < n; i++) { a[i] = (b[i] + x) * 0.5f; x = b[i]; }",
    "the two values before": (
        "float x = x0, y = 2; for (int i = 0; i < n; i++) { a[i] = b[i] + x * y; y = x; x = b[i]; }"
    ),
    "set from a local of the iteration": (
        "float t = 0; for (int i = 0; i < n; i++) { float s = b[i] * c[i]; a[i] = s + t; t = s; }"
    ),
    "read on both sides": ("double t = x0; for (int i = 1; i < n; i++) { d[i] = t; t = b[i] * 2; a[i] = t; }"),
    "from the second iteration on, in inner loops": (
        "float t = x0; for (int i = 1; i < n; i++) { for (int j = 0; j < 3; j++) w[i][j] = t + j; t = c[i]; }"
    ),
    "of a value that others change later": (
        "float t = x0; for (int i = 0; i < n; i++) { a[i] = t; t = c[i] + 1; c[i] = 3 * b[i]; }"
    ),
    "added up, in inner loops": (
        "double t = x0; for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) w[i][j] = t * j; t += 0.1; }"
    ),
    "added up before it is read": (
        "float t = x0; for (int i = 2; i < n; i++)"
        " { t = t * 0.5f + b[i]; for (int j = 0; j < 3; j++) w[i][j] = t + j; }"
    ),
    "added up, of another type": (
        "float t = x0; for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) w[i][j] += t; t += 0.1; a[i] = t; }"
    ),
    "the time of each step": (
        "double t = 0; for (int i = 0; i < 4; i++) { t += 0.25; for (int j = 0; j < n; j++) d[j] = d[j] * t + x0; }"
    ),
    "added up, for a function": "double t = 1; for (int i = 0; i < n; i++) { t += 0.1; d[i] = sin(t) * exp(-t); }",
    "added up behind a function": (
        "float t = x0; for (int i = 1; i < n; i++) { a[i] = cosf(t); t *= 0.75f; }"
        " for (int i = 0; i < n; i++) b[i] += a[i];"
    ),
    "from before": "for (int i = 0; i < n; i++) { a[i] = (b[i] + x0) * 0.5f; x0 = b[i]; }",
    "from before, in inner loops": (
        "for (int i = 2; i < n; i++) { for (int j = 0; j < 3; j++) w[i][j] = x0; x0 = c[i]; }"
    ),
    "from before, added up": (
        "for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) w[i][j] = x0 * j; x0 += b[i]; }"
    ),
    "from before, for a function": "for (int i = 1; i < n; i++) { x0 = x0 * 0.5f + b[i]; a[i] = expf(x0); }",
    "from before, and set before the loop": (
        "if (n > 0) d[0] = x0; x0 = 2; for (int i = 1; i < n; i++) { d[i] = x0 + b[i]; x0 = c[i]; }"
    ),
    "a local of two purposes": (
        "for (int i = 1; i < n; i++) { float t = a[i] + b[i]; a[i] = t + c[i - 1]; t = c[i] * 2; c[i] = t; }"
    ),
}
SERIAL = {
    "a recurrence": "float x = x0; for (int i = 0; i < n; i++) { a[i] = x; x = x * 0.5f + b[i]; }",
    "few operations": "double t = x0; for (int i = 0; i < n; i++) { t += 0.1; d[i] = sqrt(t) * b[i]; }",
    "under a condition on data": "float x = x0; for (int i = 0; i < n; i++) { a[i] = x; if (b[i] > 0) x = b[i]; }",
    "read behind the loop": "float x = x0; for (int i = 0; i < n; i++) { a[i] = x; x = b[i]; } d[0] = x;",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", PARALLEL)
def test_a_cell_for_each_iteration(name: str) -> None:
    text = "#include <math.h>\n" + source(f"{DATA}, float w[n][3]", PARALLEL[name])
    scop = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops[0]
    assert scop.program is not None
    for n in (0, 1, 2, 3, 300):
        for report in scop.validate(on="emulator", parameters={"n": n}, seed=3, sanitize=CHECKS):
            assert report.bitwise and not report.note, report.line


def test_values_that_are_added_up_are_found_once() -> None:
    """A kernel of one thread in front of one for all else, not two for each iteration."""
    body = "double t = x0; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) A[i][j] *= t; t += 0.1; }"
    (scop,) = polytile.compile(source("double x0, double A[n][m]", body), name="f.c").scops
    assert scop.program is not None
    assert [max(k.block) == 1 for k in scop.program.kernels] == [True, False]
    assert any("runs in one GPU thread" in remark.message for remark in scop.remarks)


def test_functions_are_not_computed_by_the_thread_that_adds_up() -> None:
    """Also where other loops have kernels anyway; the loop is no reduction, as each iteration reads the sum."""
    body = "for (int i = 0; i < n; i++) { t += 0.1; x[i] = sin(t); } for (int i = 0; i < n; i++) y[i] += x[i];"
    text = "#include <math.h>\n" + source("double t, double x[n], double y[n]", body)
    (scop,) = polytile.compile(text, name="f.c").scops
    assert scop.program is not None
    assert [max(k.block) == 1 for k in scop.program.kernels] == [True, False]
    (remark,) = (remark for remark in scop.remarks if "one GPU thread" in remark.message)
    assert "loop i is serial: t written at i=0 is read at i=1" in str(remark.hint)


def test_values_that_are_added_up_stay_where_they_are_used_in_order() -> None:
    """One kernel of one thread as before: another one in front of it would gain nothing."""
    body = "int l = m; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) A[l][j] = A[i][j] + 1; l -= P[i]; }"
    (scop,) = polytile.compile(source("int P[n], double A[n][m]", body), name="f.c").scops
    assert not any("has a cell for each iteration" in remark.message for remark in scop.remarks)


@pytest.mark.parametrize("name", SERIAL)
def test_what_waits_for_the_iteration_before(name: str) -> None:
    text = "#include <math.h>\n" + source(DATA, SERIAL[name])
    assert polytile.compile(text, name="f.c").scops[0].program is None
