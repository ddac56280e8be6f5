"""Sums that begin with an addend that is no product."""

from __future__ import annotations

import pytest

import polytile
from polytile.ir.dump_kernel import expression_text
from polytile.ir.expr import Assign


def program(statement: str, ctype: str, *, strict: bool = False) -> polytile.Program:
    text = f"""void f(int n, {ctype} s, {ctype} x[n], {ctype} y[n], double z[n], {ctype} B[n]) {{
#pragma scop
    for (int i = 1; i < n - 1; i++) {statement};
#pragma endscop
}}
"""
    return polytile.compile(text, strict=strict)


def value(statement: str, ctype: str = "double", *, strict: bool = False) -> str:
    """What is assigned, after the analysis."""
    (assigned,) = program(statement, ctype, strict=strict).scops[0].compilation.scop.statements[0].body
    assert isinstance(assigned, Assign)
    return expression_text(assigned.value)


@pytest.mark.parametrize(
    ("statement", "same"),
    [
        ("B[i] = s * x[i] + y[i]", "B[i] = y[i] + s * x[i]"),
        ("B[i] = s * x[i - 1] - s * x[i + 1] + y[i]", "B[i] = y[i] + s * x[i - 1] - s * x[i + 1]"),
        ("B[i] = s * x[i] + y[i] + B[i]", "B[i] = y[i] + s * x[i] + B[i]"),  # the first one is enough
        ("B[i] = s * (s * x[i] + y[i])", "B[i] = s * (y[i] + s * x[i])"),
        ("B[i] = s * x[i] + s", "B[i] = s + s * x[i]"),
    ],
)
def test_sums_that_change(statement: str, same: str) -> None:
    assert value(statement) == value(same) != value(statement, strict=True)


@pytest.mark.parametrize(
    "statement",
    [
        "B[i] = y[i] + s * x[i]",
        "B[i] = s * x[i] - y[i]",
        "B[i] = s * x[i] + s * y[i]",
        "B[i] = x[i] / s + y[i]",  # a quotient is fused with nothing
        "B[i] = s * x[i] + 2.0",  # what is constant is in no register
    ],
)
def test_sums_that_stay(statement: str) -> None:
    assert value(statement) == value(statement, strict=True)


def test_sums_in_two_types_stay() -> None:
    """The product is rounded to float before it is added to a double."""
    assert value("B[i] = s * x[i] + z[i]", "float") == value("B[i] = s * x[i] + z[i]", "float", strict=True)


def test_integers_stay() -> None:
    assert value("B[i] = s * x[i] + y[i]", "int") == value("B[i] = s * x[i] + y[i]", "int", strict=True)


@pytest.mark.parametrize("ctype", ["float", "double"])
def test_the_values_are_those_of_the_program(ctype: str) -> None:
    made = program("B[i] = s * (x[i - 1] + x[i + 1]) - s * y[i] + x[i]", ctype)
    assert "sums begin with an addend that is no product in S0" in made.scops[0].explain()
    for n in (0, 1, 3, 1001):
        (result,) = made.scops[0].validate(on="emulator", parameters={"n": n}, seed=3)
        assert "validated" in result.line
