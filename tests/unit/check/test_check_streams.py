"""Certificates of overlapped tiles: right ones hold, and changed plans do not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import polytile
from polytile.check.checker import problems
from tests.time_tiles import tile_of

Plan = dict[str, Any]
JACOBI = """void f(int n, int T, double A[n][n], double B[n][n])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = B[i - 1][j] + B[i + 1][j] + B[i][j - 1] + B[i][j + 1];
    }
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def genuine() -> Plan:
    (found,) = json.loads(polytile.compile(JACOBI, schedule="overlapped", time_tile=2).certificate)["scops"]
    assert tile_of(found)
    return dict(found)


def step(index: int, key: str, value: Any) -> Callable[[Plan], None]:
    def change(plan: Plan) -> None:
        assert plan["steps"][index][key] != value
        plan["steps"][index][key] = value

    return change


def share_buffers(plan: Plan) -> None:
    plan["shadows"][0][1] = "A"


def more_iterations(plan: Plan) -> None:
    plan["iterations"] += 1


CHANGES = {
    "lag": (step(-1, "lag", 3), "does not find in its slots"),
    "slots": (step(1, "slots", 2), "does not find in its slots"),
    "box": (step(1, "upper", [3, 2]), "does not find in its slots"),
    "array": (step(-1, "array", "B"), "writes another array"),
    "iteration": (step(1, "iteration", 1), "reads other values"),
    "statements": (step(1, "statements", ["S0", "S0"]), "writes another array"),
    "box of an owner": (step(-1, "lower", [1, 0]), "does not make its owner box"),
    "buffers": (share_buffers, "no second buffer of its own"),
    "stores": (lambda plan: plan["stores"].pop(), ""),
    "reads": (lambda plan: plan["reads"].pop(), "has not one source for each access"),
    "iterations": (more_iterations, ""),
}


def test_a_right_plan_holds(genuine: Plan) -> None:
    assert not list(problems(genuine))


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_plan_does_not(genuine: Plan, name: str) -> None:
    change, reason = CHANGES[name]
    changed = copy.deepcopy(genuine)
    change(tile_of(changed))
    found = list(problems(changed))
    assert any(reason in line for line in found) and found
