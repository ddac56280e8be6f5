"""Homes of partial results that were looked at while combinations were spread are those that would be found anew."""

from __future__ import annotations

import pytest

from polytile.api import compile
from polytile.ir.memory import Space
from polytile.scheduling.contract import contract

ROWS = """void f(int n, int m, double A[n][m], double x[m], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j]; }
#pragma endscop
}
"""
BOTH = """void f(int n, int m, double A[n][m], double p[m], double q[n], double r[n], double s[m]) {
#pragma scop
  for (int j = 0; j < m; j++) s[j] = 0;
  for (int i = 0; i < n; i++) {
    q[i] = 0;
    for (int j = 0; j < m; j++) { s[j] += r[i] * A[i][j]; q[i] += A[i][j] * p[j]; }
  }
#pragma endscop
}
"""


@pytest.mark.parametrize("text", [ROWS, BOTH])
@pytest.mark.parametrize("shared", [0, 48 * 1024])
def test_known_homes_are_those_found_anew(text: str, shared: int) -> None:
    state = compile(text, schedule="superposed").scops[0].compilation
    assert state.spread is not None and state.spread.private
    anew = contract(*state.run, shared)
    assert contract(*state.run, shared, known=state.spread.private) == anew
    private = {n for homes in anew.values() for n, home in homes.items() if home.space is Space.PRIVATE}
    assert {n for n, home in state.spread.private.items() if home is not None} <= private
