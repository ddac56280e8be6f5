"""Quotients by square roots as products with reciprocal square roots."""

from __future__ import annotations

import pytest

import polytile
from polytile.ir.expr import Call
from polytile.ir.expr_trees import walk


def functions(statement: str, ctype: str = "double", *, strict: bool = False) -> list[str]:
    """The functions that a compiled statement calls."""
    text = f"""#include <math.h>
void f(int n, {ctype} s, {ctype} x[n], {ctype} y[n], {ctype} B[n]) {{
#pragma scop
    for (int i = 0; i < n; i++) {statement};
#pragma endscop
}}
"""
    state = polytile.compile(text, strict=strict).scops[0].compilation
    nodes = (node for s in state.scop.statements for part in s.body for node in walk(part))
    return [node.function for node in nodes if isinstance(node, Call)]


@pytest.mark.parametrize(
    ("statement", "ctype", "expected"),
    [
        ("B[i] = 1.0 / sqrt(x[i])", "double", ["rsqrt"]),
        ("B[i] = 1.0f / sqrtf(x[i])", "float", ["rsqrtf"]),
        ("B[i] = y[i] / sqrt(x[i] * x[i] + 1.0)", "double", ["rsqrt"]),
        ("B[i] /= sqrt(x[i])", "double", ["rsqrt"]),
        ("B[i] = y[i] / sqrt(x[i]) / sqrt(s)", "double", ["rsqrt", "rsqrt"]),
        ("B[i] = 1.0 / sqrt(1.0 / sqrt(x[i]))", "double", ["rsqrt", "rsqrt"]),
        ("B[i] = sqrt(x[i])", "double", ["sqrt"]),
        ("B[i] = 1.0 / (2.0 * sqrt(x[i]))", "double", ["sqrt"]),  # the root is a part of the divisor only
        ("B[i] = sqrt(x[i]) / y[i]", "double", ["sqrt"]),
        ("B[i] = 1.0 / sqrtf((float) x[i])", "double", ["sqrtf"]),  # the quotient has more digits than the root
    ],
)
def test_which_roots(statement: str, ctype: str, expected: list[str]) -> None:
    assert functions(statement, ctype) == expected


def test_strict_results_keep_their_roots() -> None:
    assert functions("B[i] = 1.0 / sqrt(x[i])", strict=True) == ["sqrt"]


def test_the_value_of_one_is_no_product() -> None:
    loop = "for (int i = 0; i < n; i++) x[i] = 1.0f / sqrtf(x[i]);"
    text = f"float sqrtf(float);\nvoid f(int n, float x[n]) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}"
    program = polytile.compile(text)
    assert "x[i] = rsqrtf(x[i]);" in program.cuda
    assert "multiplications by reciprocal roots in S0" in program.scops[0].explain()
    (result,) = program.scops[0].validate(on="emulator", parameters={"n": 50}, seed=3)
    assert "validated" in result.line


def test_a_variable_of_that_name_is_renamed() -> None:
    loop = "for (int i = 0; i < n; i++) rsqrt[i] += 1.0;"
    text = f"void f(int n, double rsqrt[n]) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}"
    assert "polytile_rsqrt[i]" in polytile.compile(text).cuda
