"""A whole search of a small program, in processes, with the emulator and the cost model's times in place of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import polytile
from polytile.autotuning import scop_search
from polytile.autotuning.gpu_evaluator import GpuEvaluator
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.scop_search import Plan, Searched, estimates_of, search_scop
from polytile.autotuning.space import Point
from polytile.autotuning.spaces import space_of
from polytile.autotuning.tuned import result_file, tuned_entry
from polytile.autotuning.tuner import Budget, Observer
from polytile.autotuning.worker import STAND_IN
from polytile.autotuning.workload import Workload
from polytile.choices import Choices
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import DeviceError, UserError
from polytile.tuned_file import read_tuned
from tests.unit.autotuning import faulty_estimates

TEXT = """
void add(int n, int m, double a[n][m], double b[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[i][j] + 1.0;
#pragma endscop
}
"""
SIZES = {"n": 300, "m": 500}
Evaluators = Callable[[Workload, Callable[[Point], Choices]], GpuEvaluator]


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    file = tmp_path / "add.c"
    file.write_text(TEXT)
    return Workload(str(file), "add_scop0", SIZES)


def compiled(workload: Workload) -> CompiledScop:
    (scop,) = polytile.compile(Path(workload.path), parameters=SIZES).scops
    return scop


def searched(workload: Workload, budget: Budget, told: list[Outcome]) -> Searched:
    """What a search finds; `told` gets its outcomes."""

    class Teller(Observer):
        def outcome(self, outcome: Outcome, progress: object) -> None:
            told.append(outcome)

    record = Path(workload.path).with_suffix(".tune.jsonl")
    evaluators: Evaluators = partial(GpuEvaluator, width=1, device=STAND_IN)
    plan = Plan(record, ("classic",), "random", budget)
    return search_scop(workload, compiled(workload), plan, evaluators, lambda space, search: Teller())


@pytest.mark.slow
def test_a_search_goes_on_from_its_record_and_its_result_is_taken(workload: Workload) -> None:
    first, second = list[Outcome](), list[Outcome]()
    searched(workload, Budget(evaluations=1), first)
    found = searched(workload, Budget(evaluations=2), second)
    assert [one.point for one in second[:2]] == [one.point for one in first]
    assert [one.reused for one in second] == [True, True, False]
    assert found.history.gpu == "none" and len(found.history.outcomes) == 3
    assert found.near_default in found.space.points
    entry = tuned_entry(workload, found.choices, found.tuned, Path("record"))
    text = result_file(Path("none.json"), [entry], found.conditions, "sm_90").to_text()
    assert read_tuned(text, "none.json").scop("add_scop0") == entry
    file = Path(workload.path).with_suffix(".json")
    file.write_text(text)
    assert polytile.compile(Path(workload.path), tuned=file).scops


@pytest.mark.slow
def test_a_change_of_the_source_begins_anew(workload: Workload) -> None:
    first, second = list[Outcome](), list[Outcome]()
    searched(workload, Budget(evaluations=0), first)
    Path(workload.path).write_text(TEXT.replace("1.0", "2.0"))
    searched(workload, Budget(evaluations=0), second)
    assert [one.reused for one in (*first, *second)] == [False, False]
    assert first[0].key != second[0].key


@pytest.mark.slow
def test_estimates_are_the_same_in_one_process_and_in_several(workload: Workload) -> None:
    space = space_of(compiled(workload), SIZES, ("classic",))
    points = list(space.points)[:3]
    alone, together = (list(estimates_of(workload, space.choices, jobs)(points)) for jobs in (1, 2))
    assert alone == together and all(time is not None and time > 0 for time in alone)


def test_what_is_refused_has_no_estimate(workload: Workload) -> None:
    assert list(estimates_of(workload, lambda point: Choices(block=(2000,)), 1)([()])) == [None]


BLOCKS = (32, faulty_estimates.ENDS, 128, faulty_estimates.ENDS, 256, 16)
POINTS: list[Point] = [(("block", block),) for block in BLOCKS]


def of_block(point: Point) -> Choices:
    return Choices(block=(int(dict(point)["block"]),))


@pytest.mark.slow
def test_a_process_that_ends_takes_one_estimate_with_it(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scop_search, "_of_this_process", faulty_estimates.ends_at_some)
    assert list(estimates_of(workload, of_block, 2)(POINTS)) == [32, None, 128, None, 256, 16]


def test_processes_that_all_end_are_an_error(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scop_search, "_of_this_process", faulty_estimates.ends_always)
    with pytest.raises(DeviceError, match="add_scop0: each process that compiles") as caught:
        estimates_of(workload, of_block, 2)(POINTS[:2])
    assert caught.value.hint is not None and "--jobs" in caught.value.hint


def test_a_file_that_is_changed_meanwhile_is_the_users(workload: Workload) -> None:
    Path(workload.path).write_text(TEXT.replace("b[i][j] =", "b[i * i][j] ="))
    with pytest.raises(UserError, match="not affine") as caught:
        estimates_of(workload, of_block, 2)(POINTS[:2])
    assert caught.value.location is not None and caught.value.location.line == 7
