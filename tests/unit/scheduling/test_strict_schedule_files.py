"""Schedule files that change the order of sums are refused where the bits of the C are asked for."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError

SUMS = """
void rows(int n, double a[n][n], double r[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        r[i] = 0;
        for (int j = 0; j < n; j++) r[i] += a[i][j];
    }
#pragma endscop
}
"""
BACK_SUBSTITUTION = """
void solve(int n, double a[n][n], double x[n][n])
{
#pragma scop
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            for (int k = i + 1; k < j; k++) x[i][j] += x[i][k] * x[k][j];
            x[i][j] = x[i][j] * a[i][j];
        }
#pragma endscop
}
"""
LINES = {"partial results of": SUMS, "begins with": BACK_SUBSTITUTION}


@pytest.mark.slow(but="partial results of")
@pytest.mark.parametrize("line", LINES)
def test_sums_in_another_order_are_refused(line: str) -> None:
    (made,) = polytile.compile(LINES[line], parameters={"n": 2000}).scops
    schedule = made.compilation.schedule_text()
    assert line in schedule
    polytile.compile(LINES[line], load_schedule=schedule)
    with pytest.raises(UserError, match="adds up the terms of sums in another order") as raised:
        polytile.compile(LINES[line], load_schedule=schedule, strict=True)
    assert raised.value.hint == "leave out --fp strict, or save a schedule that was made with it"


@pytest.mark.slow(but="partial results of")
@pytest.mark.parametrize("line", LINES)
def test_integers_may_have_any_order(line: str) -> None:
    text = LINES[line].replace("double", "unsigned")
    (made,) = polytile.compile(text, parameters={"n": 2000}, strict=True).scops
    schedule = made.compilation.schedule_text()
    assert line in schedule
    polytile.compile(text, load_schedule=schedule, strict=True)
