"""Scalars and rows of loops that start at a size, which may be negative: expansion counts from there."""

from __future__ import annotations

import pytest

from tests.every_schedule import same_in_every_schedule

SIZES = (
    {"low": 3, "high": 9, "m": 4},
    {"low": 5, "high": 2, "m": 3},
    {"low": 0, "high": 1, "m": 1},
    {"low": 7, "high": 70, "m": 33},
    {"low": 2, "high": 2, "m": 2},
)
PROGRAMS = {
    "a scalar": ("double *a, double *b", "for (int i = low; i < high; i++) { double t = a[i] + m; b[i] = t * t; }"),
    "a sum": (
        "float **c, float *b",
        "for (int i = low; i < high; i++) { float s = 0; for (int k = 0; k < m; k++) s += c[i][k] * c[low][k];"
        " b[i] = s; }",
    ),
    "a condition on data": (
        "double *a, double *b, int *c",
        "for (int i = low; i < high; i++) { int big = a[i] > b[i]; if (c[i] > 3 || big) b[i] = a[i] * 2; }",
    ),
    "two loops": (
        "double **a, double **b",
        "for (int i = low + 1; i < high; i++) for (int j = m - 1; j < high; j++) { double t = a[i][j];"
        " b[i][j] = t + t * t; }",
    ),
    "seen afterwards": (
        "double *a, double *b, double *t",
        "for (int i = low; i < high; i++) { *t = a[i] + 1; b[i] = *t * *t; }",
    ),
    "a row": (
        "double **a, double *b, double row[m]",
        "for (int i = low; i < high; i++) { for (int j = 0; j < m; j++) row[j] = a[i][j] * 2;"
        " for (int j = 0; j < m; j++) b[i] += row[j] * row[m - 1 - j]; }",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.quick
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    arguments, body = PROGRAMS[name]
    text = f"void f(int low, int high, int m, {arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    assert same_in_every_schedule(text, SIZES) == []


def test_a_bound_below_zero() -> None:
    text = (
        "void f(int low, int high, double *a, double *b)\n{\n#pragma scop\n"
        "for (int i = -low; i < high; i++) { double t = a[i + low]; b[i + low] = t * t; }\n#pragma endscop\n}\n"
    )
    assert same_in_every_schedule(text, [{"low": 5, "high": 9}, {"low": -2, "high": 30}, {"low": 3, "high": -3}]) == []
