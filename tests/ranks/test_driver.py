"""The loop over periods with a plan that was written by hand: results, messages, memory and what is recorded."""

from __future__ import annotations

import json
from math import prod
from typing import Any

import pytest

from tests.ranks.mpirun import mpirun

STEPS = 7


def cases_of(ranks: int, *where: str) -> list[dict[str, Any]]:
    done = mpirun(ranks, "tests.ranks.by_hand", *where)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(case: dict[str, Any]) -> None:
    assert case["equal"] and case["again"], case
    if case["iterations"] != STEPS:
        return
    steps, ranks = case["steps"], prod(case["shape"])
    exchanges = (STEPS - 1) // steps if ranks > 1 else 0
    assert case["exchanges"] == exchanges
    rows, columns = ((n > 1) + (n > 2) for n in case["shape"])  # neighbours of the rank with most
    corners = rows * columns * (case["mode"] != "basic")
    assert max(case["messages"]) == exchanges * (rows + columns + corners), case
    expected = {"interior", "steps"} | ({"pack", "unpack", "wait"} if ranks > 1 else set())
    assert set(case["spans"]) == expected | ({"boundary"} if exchanges and case["mode"] == "overlap" else set())


def test_two_ranks() -> None:
    cases = cases_of(2)
    assert len(cases) == 18
    for case in cases:
        check(case)
    once = [case for case in cases if case["shape"] == [2, 1] and case["steps"] == 1]
    assert {tuple(case["bytes"]) for case in once} == {(6 * 2 * 53 * 8,) * 2}  # the same halo in all modes


@pytest.mark.slow
def test_streams_of_a_device_that_does_everything_late() -> None:
    cases = cases_of(4, "device")
    assert len(cases) == 38
    for case in cases:
        check(case)


@pytest.mark.slow
def test_grids_of_up_to_eight_ranks() -> None:
    cases = cases_of(8)
    assert len(cases) == 65
    for case in cases:
        check(case)
    by_steps = {c["steps"]: sum(c["messages"]) for c in cases if c["shape"] == [2, 4] and c["mode"] == "overlap"}
    assert by_steps == {1: by_steps[3] * 3, 2: by_steps[3] * 3 // 2, 3: by_steps[3]}
    for case in cases:  # a part and its halos, not the whole of two arrays of 23 x 53 numbers
        if case["iterations"] == STEPS and prod(case["shape"]) == 8:
            assert max(case["memory"]) < 2 * 23 * 53 * 8 / 2
