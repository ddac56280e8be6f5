"""Local arrays of a SCoP with lists of initial values."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 70, "m": 4})
PROGRAMS = {
    "all values": (
        "double a[n + 2], double b[n]",
        "for (int i = 0; i < n; i++) { const double w[3] = {0.25, 0.5, 0.25}; double s = 0;"
        " for (int j = 0; j < 3; j++) s += w[j] * a[i + j]; b[i] = s; }",
    ),
    "zeros": (
        "float a[n][16], float b[n][16]",
        "for (int i = 0; i < n; i++) { float s[16] = {0.f}; for (int j = 1; j < 16; j++) s[j - 1] += a[i][j] * j;"
        " for (int j = 0; j < 16; j++) b[i][j] = s[j]; }",
    ),
    "some values": (
        "int a[n], int b[n]",
        "for (int i = 0; i < n; i++) { int q[5] = {1, i, a[i]}; b[i] = q[0] + q[1] + q[2] + 7 * q[3] + q[4]; }",
    ),
    "rows": (
        "double a[n], double b[n]",
        "for (int i = 0; i < n; i++) { double z[3][4] = {{1, 2}, {a[i]}, {0, 0, 0, -0.0}}; double s = 0;"
        " for (int j = 0; j < 3; j++) for (int k = 0; k < 4; k++) s += z[j][k] * (j + k); b[i] = s; }",
    ),
    "a zero for rows": (
        "int b[n]",
        "int z[4][70] = {0}; for (int i = 0; i < n; i++) { z[i % 4][i] += i; b[i] = z[i % 4][i]; }",
    ),
    "a zero for a few rows": ("int b[n]", "for (int i = 0; i < n; i++) { int z[2][2] = {0}; b[i] = z[1][1]; }"),
    "converted": ("int b[n]", "for (int i = 0; i < n; i++) { int z[2] = {2.75, 3.25f}; b[i] = z[0] + z[1] * i; }"),
    "from each other": (
        "double b[n]",
        "for (int i = 0; i < n; i++) { double x[2] = {i, 1}; double y[3] = {x[0], x[1], x[0] + x[1]};"
        " b[i] = y[0] * y[1] + y[2]; }",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    assert same_in_every_schedule(source(*PROGRAMS[name]), SIZES) == []


@pytest.mark.quick
@pytest.mark.parametrize("declaration", ["int z[2] = {[1] = 2};", "int z[2][2] = {1, 2};", "int z[n + 1] = {1};"])
def test_what_is_refused(declaration: str) -> None:
    body = f"for (int i = 0; i < n; i++) {{ {declaration} b[i] = z[0][0]; }}"
    with pytest.raises(UserError, match="has a list of initial values"):
        polytile.compile(source("int b[n]", body.replace("[0][0]", "[0]" if "][" not in declaration else "[0][0]")))
