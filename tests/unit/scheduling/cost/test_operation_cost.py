"""What arithmetic counts for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.cost.operation_cost import fused_operations, is_double, operations, slow_operations

MATH = "double sqrt(double), fabs(double), exp(double); float sqrtf(float);"
FUSED: dict[str, float] = {
    "A[i]": 0,
    "A[i] + 1.0": 1,
    "2.0 * A[i] + A[i + 1]": 1,
    "2.0 * (A[i] + A[i + 1])": 2,
    "(1.0 / 3.0) * A[i]": 1,
    "A[i] / A[i + 1]": 9,
    "1.0 / sqrt(A[i])": 18.5,
    "fabs(A[i])": 1,
    "exp(A[i])": 40,
}


@pytest.mark.parametrize("text", FUSED)
def test_operations_of_a_cell(scop: Callable[..., Scop], text: str) -> None:
    program = scop("int n, double A[n + 1], double x[n]", f"for (int i = 0; i < n; i++) x[i] = {text};", MATH)
    (statement,) = program.statements
    assert fused_operations(statement) == FUSED[text]
    slow = slow_operations(statement)
    assert slow in (0, FUSED[text])
    assert slow == 0 or operations(statement) == 2 * slow
    assert is_double(statement)


def test_floats_have_other_instructions(scop: Callable[..., Scop]) -> None:
    body = "for (int i = 0; i < n; i++) x[i] = A[i] / sqrtf(A[i + 1]);"
    (statement,) = scop("int n, float A[n + 1], float x[n]", body, MATH).statements
    assert fused_operations(statement) == slow_operations(statement) == 23
    assert not is_double(statement)


def test_updates_divide_too(scop: Callable[..., Scop]) -> None:
    (statement,) = scop("int n, double x[n]", "for (int i = 0; i < n; i++) x[i] /= 7.5 + i;").statements
    assert slow_operations(statement) == 9
