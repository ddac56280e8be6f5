"""Remainders by a size: subscripts that start again at the border."""

from __future__ import annotations

import pytest

import polytile
from polytile.choices import SCHEDULES
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c
from tests.every_schedule import same_in_every_schedule, source

SIZES = tuple({"n": n, "m": m} for n, m in ((0, 1), (1, 1), (2, 3), (7, 9), (70, 40)))
PROGRAMS = {
    "the next": ("double a[n], double b[n]", "for (int i = 0; i < n; i++) b[i] = a[(i + 1) % n];"),
    "both neighbours": (
        "double a[n], double b[n]",
        "for (int i = 0; i < n; i++) b[i] = a[(i + 1) % n] + a[i] + a[(i + n - 1) % n];",
    ),
    "written around the border": ("double a[n], double b[n]", "for (int i = 0; i < n; i++) b[(i + 1) % n] = a[i];"),
    "a stencil on a torus": (
        "float A[n][m], float B[n][m]",
        "for (int t = 0; t < 5; t++) {"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " B[i][j] = 0.2f * (A[i][j] + A[(i + 1) % n][j] + A[(i - 1 + n) % n][j] + A[i][(j + 1) % m]"
        " + A[i][(j + m - 1) % m]);"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = B[i][j]; }",
    ),
    "in place": ("double a[n], double b[n]", "for (int i = 0; i < n; i++) a[i] = b[i] + a[(i + 1) % n];"),
    "a sum": ("double a[n], double b[n]", "for (int i = 0; i < n; i++) b[(i + 1) % n] += a[i] * (i % n);"),
    "another size": (
        "double a[n + m], double b[n + m]",
        "for (int i = 0; i < n + m; i++) if (m > 0 && n > 0 && n + m < 2 * (m + 1)) b[i] = a[(i + 1) % (m + 1)];",
    ),
    "negative remainders": (
        "double a[2 * n], double b[n]",
        "for (int i = 0; i < n; i++) b[i] = a[n + (i - n + 1) % n];",
    ),
    "quotients": (
        "double a[2][n], double b[2 * n]",
        "for (int i = 0; i < 2 * n; i++) b[i] = a[i / n][i % n];",
    ),
    "a condition": (
        "double a[n], double b[n]",
        "for (int i = 0; i < n; i++) { if ((i + 2) % (n + 1) == 0) b[i] = 1; else b[i] = a[i]; }",
    ),
    "three periods": ("double a[n], double b[n]", "for (int i = 0; i < n; i++) b[i] = a[(i + 2 * n) % n];"),
    "neighbours in a loop": (
        "int a[n][m], int b[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { int s = 0;"
        " for (int di = -1; di <= 1; di++) for (int dj = -1; dj <= 1; dj++)"
        " s += a[(i + di + n) % n][(j + dj + m) % m]; b[i][j] = s; }",
    ),
    "quotients of three periods": (
        "double a[4][n], double b[4 * n]",
        "for (int i = 0; i < 4 * n; i++) b[i] = a[i / n][i % n] * (i < 3 * n ? 2 + (i + n) / n % 2 : 1);",
    ),
    "unsigned": ("double a[n], double b[n]", "for (unsigned i = 0; i < (unsigned)n; i++) b[i] = a[(i + 1u) % n];"),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    serial = same_in_every_schedule(source(*PROGRAMS[name]), SIZES)
    assert len(serial) < len(SCHEDULES) or name == "in place"


REFUSED = {
    "beyond four periods": ("double a[n], double b[n]", "a[(i + 4 * n) % n] = b[i];", "a constant, and `i .*` is not"),
    "a quotient by a size that may be 0": ("double a[n], double b[n]", "a[i / m] = b[i];", "`i` is not provably above"),
    "by an iterator": ("double a[n], double b[n]", "a[n % (i + 1)] = b[i];", "neither a constant nor a size"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    arguments, statement, message = REFUSED[name]
    with pytest.raises(UserError, match=message):
        polytile.compile(source(arguments, f"for (int i = 0; i < n; i++) {statement}"), name="f.c")


@pytest.mark.parametrize(
    ("assigned", "condition"),
    [
        ("b[i] = a[(i + m) % n]", "n + m >= 1 && n >= m"),
        ("a[(2 * i + 1) % m] = b[i]", "m >= n"),
        ("a[i % m] = b[i]", "2m >= n"),
        ("b[i] = a[(2 * i + 1) % m]", ""),
        ("b[i] = a[i % m] + a[i / m]", ""),
        ("int t = i % m; b[i] = a[t]", ""),
        ("int t = i % m; a[t] = b[i]", "2m >= n"),
        ("if (i % m == 0) b[i] = a[i]", ""),
    ],
)
def test_sizes_that_decide_are_checked(assigned: str, condition: str) -> None:
    """What is only read, or asked, may have any number of periods; what is written has few."""
    text = source("double a[n], double b[n]", f"for (int i = 0; i < n; i++) {{ {assigned}; }}")
    (scop,) = polytile.compile(text, name="f.c").scops
    assert scop.scop.checked == condition.replace("2m", "2 * m")


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("subscript", ["i % m", "i / m", "(i + 3) / m", "i / m % 3", "3 * (i / m)"])
def test_updates_of_periods_commute(subscript: str) -> None:
    text = source("int a[n], int b[3 * n + 7]", f"for (int i = 0; i < n; i++) b[{subscript}] += a[i];")
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None and not scop.scop.checked
    same_as_c(scop, [{"n": n, "m": m} for n, m in ((0, 1), (1, 1), (7, 2), (300, 7), (300, 300))])


def test_periods_that_are_read_leave_loops_in_order() -> None:
    """Any element may be read."""
    text = source("double a[n], int b[n]", "for (int i = 0; i < n; i++) a[i] = a[i % b[i]];")
    (scop,) = polytile.compile(text, name="f.c").scops
    assert scop.program is None
