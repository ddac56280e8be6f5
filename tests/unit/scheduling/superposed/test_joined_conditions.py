"""Sums of different rows in one kernel, whose loops isl joins below conditions under which threads cannot meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.every_schedule import code

PROGRAMS = {
    "rows of one parity": (
        "int n, int m, double A[n][m], double v[m], double w[n]",
        "for (int i = 0; i < n; i++) { if (i % 2 == 0) for (int j = 0; j < m; j++) w[i] += A[i][j];"
        " for (int j = 0; j < m; j++) v[j] += A[i][j]; }",
    ),
    "a triangle of the rows": (
        "int n, int m, double A[n][m], double t[n], double y[m]",
        "for (int i = 0; i < n; i++) { for (int j = i; j < m; j++) t[i] += A[i][j];"
        " for (int j = 0; j < m; j++) y[j] += A[i][j]; }",
    ),
    "two results of columns": (
        "int n, int m, double A[n][m], double B[n][m], double x[m], double v[m], double y[m], double t[n]",
        "for (int j = 0; j < m; j++) { y[j] = 0; v[j] = 1; }"
        "for (int i = 0; i < n; i++) { t[i] = 0; for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];"
        " for (int j = 0; j < m; j++) v[j] += B[i][j] * t[i]; for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_compiled(emulator: None, compiled: Callable[..., Any], name: str) -> None:
    """If need be by the classic strategy, with a remark."""
    seen: set[str] = set()
    for schedule in ("superposed", "auto"):
        found = compiled(*PROGRAMS[name], schedule=schedule)
        strategy = found.compilation.schedule.strategy
        told = any("not well formed" in remark.message for remark in found.compilation.remarks)
        assert "__global__" in found.cuda and strategy.startswith("classic") == told
        for n, m in ((0, 0), (1, 3), (5, 40), (40, 33), (17, 70)) if code(found.cuda) not in seen else ():
            checks = ("address", "undefined", "race")
            found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=checks)
        seen.add(code(found.cuda))
