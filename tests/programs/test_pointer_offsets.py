"""Pointers that a SCoP sets: offsets into the arrays that they point into."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 33, "m": 40})
PROGRAMS = {
    "counted up": (
        "double *a, const double *b",
        "double *p = a; const double *q = b + m; for (int i = 0; i < n; i++) { *p = *q * 2; p++; q += 2; }",
    ),
    "set in each iteration": (
        "double *a, double *b",
        "for (int i = 0; i < n; i++) { double *row = &a[i * m]; for (int j = 0; j < m; j++) row[j] += b[j]; }",
    ),
    "set to one another": (
        "double *a, double *b",
        "double *p, *q; p = a + 1; q = p + m; for (int i = 0; i < n; i++) b[i] = p[i] - q[i - 1] * *(q + i);",
    ),
    "behind the first element": (
        "double *a, double *b",
        "double *p = &b[n]; for (int i = 0; i < n; i++) { p--; a[i] = *p; }",
    ),
    "of structs": (
        "struct point { double x, y; } *a, double *b",
        "for (int i = 0; i < n; i++) { struct point *p = a + i; b[i] = p->x * p[1].y; p->y = 2; }",
    ),
    "stepped where it is used": (
        "double *a, const double *b",
        "double *p = a; const double *q = b; for (int i = 0; i < n; i++) *p++ = *q++ * 2;",
    ),
    "stepped where it is added to": (
        "double *a, const double *b",
        "double *p = a; for (int i = 0; i < n; i++) { *p++ += b[i]; *p++ -= b[i] * 2; }",
    ),
    "declared again": (
        "double *a, double *b",
        "for (int i = 0; i < n; i++) { double *p = a + i; *p += 1; } "
        "for (int i = 0; i < m; i++) { double *p = &b[i]; *p = a[0]; { double *p = b + m; p[i] = 3; } }",
    ),
    "into an array whose name is hidden": (
        "double *a, double *b",
        "for (int i = 0; i < n; i++) { double *p = a + i; { double a = b[i]; *p = a; } }",
    ),
    "a row of data": (
        "double *a, double *b, int *first",
        "for (int i = 0; i < n; i++) { double *p = a + first[i]; b[i] = p[0] + p[2]; }",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    assert same_in_every_schedule(source(*PROGRAMS[name]), SIZES) == []


def test_declared_outside() -> None:
    text = source("double *a, double *b", "p = a; for (int i = 0; i < n; i++) { p[i] = b[i]; }")
    assert same_in_every_schedule(text.replace("{\n#pragma scop", "{\ndouble *p;\n#pragma scop", 1), SIZES) == []


REFUSED = {
    "two arrays": "double *p = a; for (int i = 0; i < n; i++) { *p = b[i]; p = b + i; }",
    "used before": "for (int i = 0; i < n; i++) { q[i] = a[i]; q = a + i; }",
    "swapped": "double *p = a, *r = b; for (int i = 0; i < n; i++) { double *t = p; p = r; r = t; p[0] = r[i]; }",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="pointer"):
        polytile.compile(source("double *a, double *b, double *q", REFUSED[name]), name="f.c")
