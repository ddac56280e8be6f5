"""isl calls with a bound on their time."""

from __future__ import annotations

import os
import signal

import islpy as isl
import pytest

import polytile
from polytile.ir.isl_time_limit import in_bounded_time
from polytile.ir.isl_util import OverBudgetError, budget

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


def endless() -> str:
    while True:
        pass


def too_many_operations() -> str:
    raise OverBudgetError("operations")


def wrong() -> str:
    raise ValueError("no schedule")


def killed() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def test_an_answer_of_any_length_comes_back() -> None:
    assert in_bounded_time(lambda: "ä" * 300_000, 5) == "ä" * 300_000
    assert in_bounded_time(lambda: "", 5) == ""


def test_what_takes_too_long_ends() -> None:
    with pytest.raises(OverBudgetError, match="more than 1 s"):
        in_bounded_time(endless, 1)


def test_what_runs_out_of_operations_says_so() -> None:
    with pytest.raises(OverBudgetError):
        in_bounded_time(too_many_operations, 5)


def test_what_fails_gives_its_reason() -> None:
    with pytest.raises(RuntimeError, match="ValueError: no schedule"):
        in_bounded_time(wrong, 5)


def test_a_child_that_is_killed() -> None:
    with pytest.raises(RuntimeError, match="ended with status"):
        in_bounded_time(killed, 5)


CELLS = """
struct cell { double x; float y; int k; };
double g(int n, int m, struct cell *restrict A, float *restrict B)
{
    int r = 3;
#pragma scop
    for (int i = 1; i < m; i += 2) {
        A[0].y = B[n];
        for (int j = 0; j < i; j++)
            A[i].k = r < A[j].k ? r : A[j].k;
    }
#pragma endscop
    return (double)r;
}
"""


@pytest.mark.parametrize("operations", [1, 20, 200, 1000, 2000, 4000, 10000])
def test_scheduling_that_ends_anywhere_in_isl_ends_in_a_schedule(operations: int) -> None:
    program = polytile.compile(CELLS, name="cells.c", schedule="classic", max_operations=operations)
    assert len(program.scops) == 1


@pytest.mark.parametrize(
    "text",
    [
        "call to isl_set_union failed: maximal number of operations exceeded",
        "call to isl_map_apply_range failed",
        "failed to copy arg self on entry to schedule_constraints_set_coincidence",
        "passed invalid arg to isl_set_copy for self: null",
    ],
)
def test_the_forms_of_a_spent_budget(text: str) -> None:
    with pytest.raises(OverBudgetError), budget(10):
        raise isl.Error(text)
