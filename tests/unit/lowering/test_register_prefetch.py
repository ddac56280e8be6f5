"""Loads ahead: what divisions would make each iteration of a recurrence wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 2), (3, 4), (5, 5), (4, 6), (33, 70))]
THREE = "int n, int m, double A[n][m], double B[n][m], double C[m][n]"


def rows(body: str) -> str:
    return f"for (int i = 0; i < n; i++) {body}"


AHEAD = {
    "a division": ("for (int k = 1; k < m; k++) A[i][k] = B[i][k] / (A[i][k - 1] + 4);", 1),
    "steps of two": ("for (int k = 2; k < m; k += 2) A[i][k] = B[i][k] / (A[i][k - 2] + 4);", 1),
    "backwards": ("for (int k = m - 2; k >= 0; k--) A[i][k] = C[k][i] / (A[i][k + 1] + 4);", 1),
    "a function": ("for (int k = 1; k < m; k++) A[i][k] = exp(-B[i][k]) + A[i][k - 1] * C[k][i] * B[i][k];", 2),
    "neighbours": ("for (int k = 1; k < m - 1; k++) A[i][k] = (B[i][k - 1] - B[i][k + 1]) / (A[i][k - 1] + 4);", 2),
    "one that may be read": (
        "for (int k = 1; k < m; k++) A[i][k] = (B[i][k] > 0 ? C[k][i] : 1) / (A[i][k - 1] + 4);",
        1,
    ),
    "a last iteration that is found at run time": (
        "for (int k = 1; k < m && k <= i; k++) A[i][k] = B[i][k] / (A[i][k - 1] + 4);",
        1,
    ),
}


@pytest.mark.slow(but="a division")
@pytest.mark.parametrize(("body", "loads"), AHEAD.values(), ids=AHEAD)
def test_loads_run_ahead(validated: Callable[..., Any], body: str, loads: int) -> None:
    program = (THREE, rows(body), "double exp(double);") if "exp" in body else (THREE, rows(body))
    text = validated(program, *SIZES).cuda
    assert text.count("_in4 = ") == loads


def test_elements_and_registers(compiled: Callable[..., Any]) -> None:
    text = compiled(THREE, rows("for (int k = 1; k < m; k++) A[i][k] = B[i][k] / (A[i][k - 1] + B[i][k - 1]);")).cuda
    assert "(k < m - 4 ? k + 4 : m - 1)]" in text and "(1 < m - 3 ? 4 : m - 1)]" in text
    assert "A_last = B_now / (A_last + B1_now);" in text
    assert "B_now = B_in1;" in text and "B1_in3 = B1_in4;" in text


USUAL = {
    "straight code": "for (int k = 1; k < m; k++) A[i][k] = B[i][k] - A[i][k - 1] * 0.5;",
    "a division of integers": "for (int k = 1; k < m; k++) A[i][k] = B[i][k] - A[i][k - 1] * (k / 2);",
    "no recurrence": "for (int k = 1; k < m; k++) A[i][0] += B[i][k] / 3;",
    "an array that the kernel writes": (
        "for (int k = 1; k < m; k++) { B[i][k - 1] = A[i][k] / 2; A[i][k] = B[i][k] / (A[i][k - 1] + 4); }"
    ),
    "nothing that moves": "for (int k = 1; k < m; k++) A[i][k] = B[i][0] / (A[i][k - 1] + 4);",
    "too many loads": (
        "for (int k = 2; k < m - 2; k++) A[i][k] = (B[i][k - 2] + B[i][k - 1] + B[i][k] + B[i][k + 1] + B[i][k + 2])"
        " / (A[i][k - 1] + 4);"
    ),
}


@pytest.mark.slow(but="nothing that moves")
@pytest.mark.parametrize("body", USUAL.values(), ids=USUAL)
def test_usual_loads_elsewhere(validated: Callable[..., Any], body: str) -> None:
    assert "_in4" not in validated((THREE, rows(body)), *SIZES).cuda


def test_usual_loads_where_many_threads_hide_them(validated: Callable[..., Any]) -> None:
    arguments = "int n, int m, double A[n][n][m], double B[n][n][m]"
    body = """for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 1; k < m; k++)
        A[i][j][k] = B[i][j][k] / (A[i][j][k - 1] + 4);"""
    text = validated((arguments, body), *({"n": n, "m": m} for n, m in ((1, 1), (9, 5), (33, 3)))).cuda
    assert "A_last" in text and "_in4" not in text
