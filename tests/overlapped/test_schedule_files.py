"""Overlapped tiles in schedule files: what was saved loads as it was, and what was changed is refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from polytile.api import CompiledScop
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

from .checks import compiled, plan_of

TEXT = """void f(int T, int N, int M, double A[N][M], double B[N][M])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                B[i][j] = 0.3 * (A[i - 1][j] + A[i][j] + A[i + 1][j - 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                A[i][j] = 0.3 * (B[i - 1][j] + B[i][j] + B[i + 1][j - 1]);
    }
#pragma endscop
}
"""
MARK = "# time_tile "


Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def saved() -> CompiledScop:
    return compiled(TEXT, time_tile=2, tile=(5, 32))


def load(text: str) -> CompiledScop:
    return compiled(TEXT, schedule="auto", load_schedule=text)


def changed(text: str, change: Change) -> str:
    """The schedule file with another plan of streams."""
    before, _, rest = text.partition(MARK)
    line, _, after = rest.partition("\n")
    plan = json.loads(line)
    change(plan)
    return f"{before}{MARK}{json.dumps(plan)}\n{after}"


def test_a_saved_schedule_gives_the_same_kernels(saved: CompiledScop) -> None:
    again = load(saved.saved_schedule)
    assert plan_of(again) == plan_of(saved)
    assert again.cuda.replace("// loaded schedule", "// overlapped schedule") == saved.cuda
    assert again.saved_schedule.partition(MARK)[2] == saved.saved_schedule.partition(MARK)[2]


def _set(*path: Any) -> Change:
    *front, key, value = path

    def change(plan: Any) -> None:
        for part in front:
            plan = plan[part]
        plan[key] = value

    return change


WRONG = {
    "a plane read before it is made": (
        _set("steps", 1, "lag", 0),
        "step 1 reads plane z+1 of step 0 before it is made",
    ),
    "a plane read too late": (_set("steps", 1, "slots", 2), "when plane z+1 has its slot"),
    "too narrow a box": (_set("steps", 0, "lower", [-4, -3]), "before the box of step 0"),
    "a box without its owner box": (_set("steps", 4, "lower", [1, 0]), "a box holds its owner box"),
    "another value": (_set("reads", 0, "offset", [-1, 1]), "S0 does not read the cell of A at [-1, 1]"),
    "another step": (_set("reads", 0, "source", 2), "S0 reads other values of A than those of the same iteration"),
    "no such step": (_set("reads", 0, "source", 77), "step 1 reads step 77, which is none"),
    "a missing read": (_set("reads", []), "step 1: no step is the source of an access of S0"),
    "no such statement": (_set("steps", 1, "statements", ["X"]), "step 1 runs X, which is no statement"),
    "no such array": (_set("steps", 0, "array", "X"), "which has X, for A"),
    "more iterations": (_set("iterations", 3), "which does not become A of iteration t0-1 of the next block"),
    "an unseen array lost": (_set("stores", [{"step": 4, "becomes": 0}]), "which can be seen afterwards"),
    "an array as its second buffer": (_set("shadows", [[0, "B"]]), "is an array of the program"),
    "a parameter as its second buffer": (_set("shadows", [[0, "T"]]), "'T' is no free name"),
    "a keyword as its second buffer": (_set("shadows", [[0, "double"]]), "'double' is no free name"),
    "two words as its second buffer": (_set("shadows", [[0, "a b"]]), "'a b' is no free name"),
    "no second buffer": (_set("shadows", []), "each input has a second buffer"),
    "no threads": (_set("threads", []), "threads of a block by shuffles: 1 sizes"),
    "threads in rows": (_set("threads", [4, 32]), "threads of a block by shuffles: 1 sizes"),
    "too many threads": (_set("threads", [33]), "a block has at most 1024 threads, not 1056"),
    "no cells": (_set("points", [0]), "all halo"),
    "negative chunks": (_set("chunk", -1), "tiles of a positive number of cells"),
    "no such exchange": (_set("exchange", "telepathy"), "'telepathy' is no Exchange"),
    "an unknown field": (_set("speed", 1), "is no OverlappedTiles"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_plans_are_refused(saved: CompiledScop, case: str) -> None:
    change, reason = WRONG[case]
    with pytest.raises(UserError) as found:
        load(changed(saved.saved_schedule, change))
    assert reason in found.value.message
    assert "# time_tile" in (found.value.hint or "") or "--save-schedule" in (found.value.hint or "")


def test_a_line_that_is_no_json_is_refused(saved: CompiledScop) -> None:
    with pytest.raises(UserError, match="no JSON behind `# time_tile`"):
        load(saved.saved_schedule.replace(MARK + "{", MARK + "{,"))


def test_without_its_line_iterations_run_one_by_one(saved: CompiledScop) -> None:
    before, _, rest = saved.saved_schedule.partition(MARK)
    scop = load(before + rest.partition("\n")[2])
    assert scop.compilation.overlapped is None
    same_as_c(scop, [{"T": 3, "N": 7, "M": 9}])


def test_other_sizes_are_no_error(saved: CompiledScop) -> None:
    """Planes of chunks, warps of blocks and wider boxes may be changed: what is proven holds for any."""

    def change(plan: dict[str, Any]) -> None:
        plan["chunk"], plan["threads"] = 3, [2]
        plan["steps"][0]["lower"] = [-5, -5]

    same_as_c(load(changed(saved.saved_schedule, change)), [{"T": 9, "N": 13, "M": 50}])


def test_a_file_of_an_older_version_is_refused_with_what_to_do(saved: CompiledScop) -> None:
    with pytest.raises(UserError, match="a line `# stream` is of an older polytile") as found:
        load(saved.saved_schedule.replace('# time_tile {"shape": "overlapped", ', '# stream {"name": "f", '))
    assert "save the schedule anew" in (found.value.hint or "")
