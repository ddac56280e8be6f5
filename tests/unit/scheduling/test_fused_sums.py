"""Sums that begin with an addend that is no product."""

from __future__ import annotations

import pytest

import polytile
from polytile.ir.expr import Assign
from polytile.ir.node_text import expression_text
from polytile.scheduling.transform.fused_sums import begin_with_addends


def value(statement: str, ctype: str = "double", *, changed: bool = True) -> str:
    """What is assigned, before and after the change."""
    text = f"""void f(int n, {ctype} s, {ctype} x[n], {ctype} y[n], double z[n], {ctype} B[n]) {{
#pragma scop
    for (int i = 1; i < n - 1; i++) {statement};
#pragma endscop
}}
"""
    scop = polytile.compile(text).scops[0].compilation.source
    (assigned,) = (begin_with_addends(scop) if changed else scop).statements[0].body
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
    assert value(statement) == value(same) != value(statement, changed=False)


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
    assert value(statement) == value(statement, changed=False)


def test_sums_in_two_types_stay() -> None:
    """The product is rounded to float before it is added to a double."""
    assert value("B[i] = s * x[i] + z[i]", "float") == value("B[i] = s * x[i] + z[i]", "float", changed=False)


def test_integers_stay() -> None:
    assert value("B[i] = s * x[i] + y[i]", "int") == value("B[i] = s * x[i] + y[i]", "int", changed=False)


TIME_LOOP = """void f(int tsteps, int n, {ctype} A[2][n][n]) {{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[(t + 1) % 2][i][j] = {ctype}_s * (A[t % 2][i - 1][j] + A[t % 2][i + 1][j]) + A[t % 2][i][j];
#pragma endscop
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("ctype", ["float", "double"])
def test_overlapped_tiles_begin_with_addends(ctype: str) -> None:
    text = TIME_LOOP.format(ctype=ctype).replace(f"{ctype}_s", "0.25f" if ctype == "float" else "0.25")
    made = polytile.compile(text, schedule="overlapped").scops[0]
    assert "sums begin with an addend that is no product in S0" in made.explain()
    for n in (3, 4, 50):
        (result,) = made.validate(on="emulator", parameters={"tsteps": 5, "n": n}, seed=3)
        assert "validated" in result.line
    strict = polytile.compile(text, schedule="overlapped", strict=True).scops[0]
    assert "sums begin" not in strict.explain()
    assert "sums begin" not in polytile.compile(text, schedule="classic").scops[0].explain()
