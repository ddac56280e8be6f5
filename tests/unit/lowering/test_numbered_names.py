"""Arrays whose names differ by a number: what holds the second element of A is not what holds the first of A1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

ELEMENTS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
PRODUCT = ELEMENTS + "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * A1[k][j];"
PROGRAMS = {
    "a tile": ("int n, int m, int l, double C[n][m], double A[n][l], double A1[l][m]", PRODUCT),
    "a tile of two types": ("int n, int m, int l, double C[n][m], float A[n][l], double A1[l][m]", PRODUCT),
    "sums in vectors": (
        "int n, int m, double C[n], double A[n][m], double A1[m], double A2[n]",
        "for (int i = 0; i < n; i++) { C[i] = A2[i]; for (int j = 0; j < m; j++) C[i] += A[i][j] * A1[j]; }",
    ),
    "sums over rows": (
        "int n, int m, double C[m], double A[n][m], float A1[n], float A2[n][m]",
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) C[j] += A[i][j] * A1[i] + A2[i][j];",
    ),
    "updates": (
        "int n, int m, double A[n], double A1[n], double A2[n], double B[n][m], double B1[m]",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { A[i] += B[i][j] * B1[j]; A1[i] += B[i][j]; } "
        "A[i] = A[i] + A2[i]; A1[i] = A1[i] * 2 + A2[i]; }",
    ),
    "divisions": (
        "int n, int m, double A[n + 2][m], double A1[n + 2][m]",
        "for (int j = 0; j < m; j++) for (int i = 1; i < n; i++) "
        "A1[i][j] = (A1[i - 1][j] + A[i][j]) / (A[i + 1][j] + A1[i + 1][j] + 2);",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["superposed", "classic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_stay_apart(name: str, schedule: str, compiled: Callable[..., Any], emulator: None) -> None:
    found = compiled(*PROGRAMS[name], schedule=schedule)
    for n, m in ((5, 67), (36, 320)):
        sizes = {"n": n, "m": m, "l": 13}
        given = {p.name: sizes[p.name] for p in found.scop.parameters}
        found.validate(on="emulator", parameters=given, seed=1, sanitize=("address", "undefined", "race"))
