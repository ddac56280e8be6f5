"""isl calls with a bound on their time."""

from __future__ import annotations

import os
import signal

import pytest

from polytile.ir.isl_util import OverBudgetError
from polytile.scheduling.bounded import in_bounded_time

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
