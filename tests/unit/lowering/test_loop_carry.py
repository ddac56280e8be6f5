"""Recurrences: values that the next iteration reads stay in a register, and what must be read from memory is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polytile.ir.expr import Access, Binary, Expr, Literal, Name, Unary
from polytile.ir.polynomial import linear

SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 2), (5, 3), (33, 70))]
PAIR = "int n, int m, double A[n][m], double B[n][m]"


def rows(body: str) -> str:
    return f"for (int i = 0; i < n; i++) {body}"


CARRIED = {
    "a plain recurrence": ("for (int k = 1; k < m; k++) A[i][k] = B[i][k] / (A[i][k - 1] + 4);", "A"),
    "backwards": ("for (int k = m - 2; k >= 0; k--) A[i][k] = B[i][k] * A[i][k + 1] + 1;", "A"),
    "steps of three": ("for (int k = 3; k < m; k += 3) A[i][k] = B[i][k] - A[i][k - 3];", "A"),
    "a sum that starts in memory": ("for (int k = 1; k < m; k++) A[i][k] += A[i][k - 1];", "A"),
    "read behind the write": (
        "for (int k = 1; k < m; k++) { A[i][k] = A[i][k - 1] / 2; B[i][k] = A[i][k - 1] - B[i][k - 1]; }",
        "AB",
    ),
    "read again where a condition holds": (
        "for (int k = 1; k < m; k++) A[i][k] = A[i][k - 1] > 0 ? B[i][k] - A[i][k - 1] : B[i][k];",
        "A",
    ),
    "other elements are read too": (
        "for (int k = 1; k < m; k++) A[i][k] = A[i][k - 1] * 0.5 + A[i][k] + (k > 1 ? A[i][k - 2] : 0);",
        "A",
    ),
}


@pytest.mark.slow(but="a plain recurrence")
@pytest.mark.parametrize(("body", "arrays"), CARRIED.values(), ids=CARRIED)
def test_values_are_handed_on(validated: Callable[..., Any], body: str, arrays: str) -> None:
    text = validated((PAIR, rows(body)), *SIZES).cuda
    for array in arrays:
        assert f"double {array}_last = {array}[" in text


def test_the_loop_reads_nothing_back(compiled: Callable[..., Any]) -> None:
    text = compiled(PAIR, rows(CARRIED["a plain recurrence"][0])).cuda
    assert text.count("= A[") == 1  # in front of the loop
    assert "A_last = B_now / (A_last + 4);" in text and "] = A_last;" in text


def test_elements_of_other_types(validated: Callable[..., Any]) -> None:
    arguments = "int n, int m, float A[n][m], unsigned char B[n][m]"
    body = "for (int k = 1; k < m; k++) { A[i][k] = A[i][k - 1] * 0.1 + 1; B[i][k] += 7 * B[i][k - 1]; }"
    text = validated((arguments, rows(body)), *SIZES).cuda
    assert "float A_last" in text and "unsigned char B_last" in text


def test_the_first_value_is_loaded_only_where_the_loop_runs(validated: Callable[..., Any]) -> None:
    text = validated((PAIR, rows("for (int k = i + 1; k < m; k++) A[i][k] = B[i][k] - A[i][k - 1];")), *SIZES).cuda
    guard = text.rindex("if (", 0, text.index("double A_last"))
    assert "< m" in text[guard : text.index("\n", guard)]


MEMORY = {
    "two iterations before": "for (int k = 2; k < m; k++) A[i][k] = B[i][k] - A[i][k - 2];",
    "a write that may not happen": "for (int k = 1; k < m; k++) if (B[i][k] > 0) A[i][k] = A[i][k - 1] + 1;",
    "a read that may not happen": "for (int k = 1; k < m; k++) A[i][k] = B[i][k] > 0 ? A[i][k - 1] : 0;",
    "two writes": "for (int k = 2; k < m; k++) { A[i][k] = A[i][k - 1] / 3 + A[i][k - 2]; A[i][k - 1] = B[i][k]; }",
    "another loop inside": (
        "for (int k = 1; k < m; k++) { A[i][k] = A[i][k - 1] / 3 - B[i][k - 1] / 9;"
        " for (int l = 0; l < k; l++) B[i][k] += A[i][l] / 9; }"
    ),
    "the same element": "for (int k = 1; k < m; k++) A[i][0] = A[i][0] / 2 + B[i][k];",
    "subscripts that are not linear": "for (int k = 1; k < m; k++) A[i][k % 7] = A[i][(k - 1) % 7] / 2;",
}


@pytest.mark.slow(but="a write that may not happen")
@pytest.mark.parametrize("body", MEMORY.values(), ids=MEMORY)
def test_what_may_be_another_value_is_read_from_memory(validated: Callable[..., Any], body: str) -> None:
    sizes = [{"n": 5, "m": 9}] if "%" in body else SIZES
    assert "_last" not in validated((PAIR, rows(body)), *sizes).cuda


def test_names_that_the_program_uses_itself(validated: Callable[..., Any]) -> None:
    arguments = "int n, int m, double A[n][m], double A_last[n][m]"
    body = "for (int k = 1; k < m; k++) A[i][k] = A_last[i][k] - A[i][k - 1];"
    assert "double A_last_2 = A[" in validated((arguments, rows(body)), *SIZES).cuda


i, k, n = Name("i"), Name("k"), Name("n")
FORMS: dict[str, tuple[Expr, dict[str, int] | None]] = {
    "2*i + n - 1": (
        Binary("-", Binary("+", Binary("*", Literal("2"), i), n), Literal("1")),
        {"i": 2, "n": 1, "": -1},
    ),
    "i - i": (Binary("-", i, i), {}),
    "-(k - n) * 3": (Binary("*", Unary("-", Binary("-", k, n)), Literal("3")), {"k": -3, "n": 3}),
    "0 * i": (Binary("*", Literal("0"), i), {}),
    "i * k": (Binary("*", i, k), None),
    "i / 2": (Binary("/", i, Literal("2")), None),
    "A[i] + 1": (Binary("+", Access("A", (i,)), Literal("1")), None),
}


@pytest.mark.parametrize(("expression", "form"), FORMS.values(), ids=FORMS)
def test_linear_forms(expression: Expr, form: dict[str, int] | None) -> None:
    assert linear(expression) == form
