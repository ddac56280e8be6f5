"""Functions that isl calls back: what runs out of operations there is an exception like others, and prints nothing."""

from __future__ import annotations

import contextlib

import islpy as isl
import pytest

from polytile.frontend.program import read_program
from polytile.ir.isl_util import OverBudgetError, budget, reduce_quotients
from polytile.scheduling.analysis.source_loops import nest_of
from polytile.scheduling.strategies.loop_nest import skewed_members

TEXT = """
void f(int n, double A[n][n]) {
#pragma scop
  for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i - 1][j];
#pragma endscop
}
"""


def test_out_of_operations_in_a_callback(capfd: pytest.CaptureFixture[str]) -> None:
    (scop,) = read_program("f.c", TEXT).scops
    value = isl.PwAff("[n] -> { [i] -> [floor((i + n)/2)] : i >= 0; [i] -> [3] : i < 0 }")
    for operations in range(1, 120):
        for question in (lambda: nest_of(scop), lambda: skewed_members(scop.schedule), lambda: reduce_quotients(value)):
            with contextlib.suppress(OverBudgetError), budget(operations):
                question()
        assert capfd.readouterr() == ("", ""), operations
