"""Quotients by constants as products: which, what the weights become, and that strict results keep their bits."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import polytile
from polytile.ir.expr import DOUBLE, FLOAT, INT, Assign, Binary, Call, Cast, Expr, Literal, Name, Unary
from polytile.ir.expr_trees import walk
from polytile.scheduling.transform.constant_divisors import constant, multiply_by_reciprocals


def value_of(expression: str, ctype: str = "double", *, exact: bool = False) -> Expr:
    """What `B[i] = expression` assigns afterwards; x, y are elements, s is a scalar."""
    read = re.sub(r"\b([xy])\b", r"\1[i]", expression)
    text = f"""#include <math.h>
void f(int n, {ctype} s, {ctype} x[n], {ctype} y[n], {ctype} B[n]) {{
#pragma scop
    for (int i = 0; i < n; i++) B[i] = {read};
#pragma endscop
}}
"""
    scop = polytile.compile(text).scops[0].compilation.source
    (statement,) = multiply_by_reciprocals(scop, exact).statements
    (body,) = statement.body
    assert isinstance(body, Assign)
    return body.value


def divisions(value: Expr) -> int:
    return sum(isinstance(n, Binary) and n.op == "/" for n in walk(value))


def literals(value: Expr) -> list[Fraction]:
    found = [n for n in walk(value) if isinstance(n, Literal) and n.type != INT]
    return [Fraction(float(np.float32(n.text.rstrip("f")) if n.type == FLOAT else float(n.text))) for n in found]


@pytest.mark.parametrize("ctype", ["double", "float"])
@pytest.mark.parametrize("divisor", [3.0, 118.0, 0.1, 1e-30, 1e30, 7e10, 1.0, 2.9389e-39 * 1e1])
def test_a_quotient_becomes_a_product_with_the_nearest_reciprocal(ctype: str, divisor: float) -> None:
    kind = np.float32 if ctype == "float" else np.float64
    value = value_of(f"x / ({ctype}) {divisor!r}", ctype)
    assert divisions(value) == 0
    assert literals(value) == [Fraction(float(kind(1 / Fraction(float(kind(divisor))))))]


@pytest.mark.parametrize("divisor", ["-4.0", "(-(8.0))", "2", "0x1p-3", "1e0"])
def test_powers_of_two_are_multiplied_by_where_results_must_not_change(divisor: str) -> None:
    assert divisions(value_of(f"x / {divisor}", exact=True)) == 0


@pytest.mark.parametrize("divisor", ["3.0", "10.0", "0.1", "6"])
def test_other_constants_stay_divisors_there(divisor: str) -> None:
    assert divisions(value_of(f"x / {divisor}", exact=True)) == 1


@pytest.mark.parametrize("quotient", ["x / y", "x / s", "1.0 / 3.0", "x / 0.0", "x / 1e-310", "x / 1e308 / 1e-320"])
def test_what_stays_a_quotient(quotient: str) -> None:
    assert divisions(value_of(quotient)) >= 1


def test_weights_of_a_sum_take_the_factor() -> None:
    value = value_of("(2.0 * x - (y * 4.0 + -6.0 * x)) / 8.0")
    assert divisions(value) == 0
    assert sorted(map(abs, literals(value))) == [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    assert sum(isinstance(n, Binary) and n.op == "*" for n in walk(value)) == 3  # none for the factor


@pytest.mark.parametrize("total", ["(2.0 * x + y) / 3.0", "(2.0f * x + 3.0f * x) / 3.0", "sqrt(2.0 * x) / 3.0"])
def test_other_sums_are_multiplied_once(total: str) -> None:
    ctype = "float" if "f" in total else "double"
    value = value_of(total, ctype)
    factors = [n for n in walk(value) if isinstance(n, Binary) and n.op == "*" and n.type == DOUBLE]
    assert divisions(value) == 0 and factors


def test_integers_divide_as_before() -> None:
    text = """
void f(int n, int x[n], int B[n]) {
#pragma scop
    for (int i = 0; i < n; i++) B[i] = x[i] / 3 + x[i] % 4;
#pragma endscop
}
"""
    scop = polytile.compile(text).scops[0].compilation.source
    assert multiply_by_reciprocals(scop, exact=False) is scop


@pytest.mark.parametrize(
    ("text", "ctype", "value"),
    [
        ("0.5f", FLOAT, Fraction(1, 2)),
        ("0.1f", FLOAT, Fraction(float(np.float32(0.1)))),
        ("118", INT, Fraction(118)),
        ("010", INT, Fraction(8)),
        ("0x10u", INT, Fraction(16)),
        ("0x1.8p1", DOUBLE, Fraction(3)),
        ("1e-400", DOUBLE, None),
        ("'a'", INT, None),
    ],
)
def test_values_of_constants(text: str, ctype: object, value: Fraction | None) -> None:
    assert constant(Literal(text, ctype)) == value  # type: ignore[arg-type]


def test_conversions_and_signs_of_constants() -> None:
    third = Cast(FLOAT, Literal("0.1", DOUBLE))
    assert constant(Unary("-", third, FLOAT)) == -Fraction(float(np.float32(0.1)))
    assert constant(Name("n")) is None and constant(Call("sqrt", (third,), DOUBLE)) is None


STENCIL = """
void smooth(int steps, int n, int m, float A[2][n][m]) {
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[(t + 1) % 2][i][j] = (3.0f * A[t % 2][i - 1][j] + 5.0f * A[t % 2][i][j - 1] + A[t % 2][i][j] * 2.0f
                    + 7.0f * A[t % 2][i][j + 1] - 1.5f * A[t % 2][i + 1][j]) / 15.5f;
#pragma endscop
}
"""


@pytest.mark.slow(but="True")
@pytest.mark.parametrize("strict", [True, False])
def test_kernels_agree_with_c(strict: bool) -> None:
    program = polytile.compile(STENCIL, strict=strict)
    (scop,) = program.scops
    code = [line for line in scop.cuda.splitlines() if not line.startswith("//")]
    assert any("/ 15.5f" in line for line in code) == strict
    (found,) = scop.validate(on="emulator", parameters={"steps": 5, "n": 23, "m": 41}, sanitize="all")
    assert found.bitwise == strict


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("strict", [True, False])
def test_the_explanation_names_the_statements(strict: bool) -> None:
    (scop,) = polytile.compile(STENCIL, strict=strict).scops
    assert ("multiplications by reciprocals in S0" in scop.explain()) != strict
