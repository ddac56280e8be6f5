"""Split tiles whose arrays stay in shared memory for the whole kernel: what is chosen, proven, checked and refused.

Their blocks are no whole warps, so that values do not live in registers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import polytile
from polytile.check import checker
from polytile.check.checker import problems
from polytile.compilation import Compilation
from polytile.ir.loop_places import labelled_loops
from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Placement
from polytile.scheduling.proof.kernel_tiles import wrong_kernel_tile
from polytile.scheduling.proof.placements import wrong_placements

JACOBI = """void f(int T, int N, double A[N], double B[N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            B[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < N - 1; i++)
            A[i] = 0.3 * (B[i - 1] + B[i] + B[i + 1]);
    }
#pragma endscop
}
"""
RED_BLACK = """void f(int T, int N, double A[N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; 2 * i < N - 1; i++)
            A[2 * i] = 0.5 * (A[2 * i - 1] + A[2 * i + 1]);
        for (int i = 0; 2 * i + 1 < N - 1; i++)
            A[2 * i + 1] = 0.5 * (A[2 * i] + A[2 * i + 2]);
    }
#pragma endscop
}
"""
FIXED = JACOBI.replace("N]", "100]").replace("< N - 1", "< 99")


@cache
def state(text: str) -> Compilation:
    (scop,) = polytile.compile(text, schedule="split", strict=True, time_tile=4, tile=(20,), block=(48,)).scops
    return scop.compilation


def tiles(text: str) -> list[tuple[int, Placement]]:
    return [(plan.kernel, placement) for plan in state(text).kernel_plans for placement in plan.placements]


def failures(kernel: int, placement: Placement) -> set[str]:
    run = state(JACOBI).run
    whole = labelled_loops(run.schedule.tree)[kernel, WHOLE_KERNEL]
    return {failure.why for failure in wrong_kernel_tile(run.scop, placement, whole)}


@pytest.mark.slow
def test_both_arrays_stay_in_shared_memory() -> None:
    found = [(kernel, p.array, p.level, p.memory, p.extents) for kernel, p in tiles(JACOBI)]
    shared = WHOLE_KERNEL, Space.SHARED
    assert sorted(found, key=lambda each: each[:2]) == [
        (0, "A", *shared, (22,)),
        (0, "B", *shared, (20,)),
        (1, "A", *shared, (20,)),
        (1, "B", *shared, (22,)),
    ]


@pytest.mark.slow(but="text0")
@pytest.mark.parametrize("text", [JACOBI, RED_BLACK, FIXED])
def test_results_are_those_of_c(text: str) -> None:
    (scop,) = polytile.compile(text, schedule="split", strict=True, time_tile=4, tile=(20,), block=(48,)).scops
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == "split"
    assert tiles(text)
    for steps, size in ((0, 10), (1, 21), (5, 45), (9, 100)):
        known = {parameter.name for parameter in scop.compilation.scop.parameters}
        parameters = {name: value for name, value in (("T", steps), ("N", size)) if name in known}
        (report,) = scop.validate(on="emulator", parameters=parameters, seed=size)
        assert report.bitwise


@cache
def certificate() -> str:
    return polytile.compile(JACOBI, schedule="split", time_tile=4, tile=(20,), block=(48,)).certificate


@pytest.mark.slow
def test_a_certificate_is_accepted() -> None:
    (scop,) = json.loads(certificate())["scops"]
    assert [p for plan in scop["plans"] for p in plan["placements"]]
    assert list(problems(scop)) == []


# Refusals -------------------------------------------------------------------------------------------------------------
def without(kind: str) -> Callable[[Placement], Placement]:
    return lambda p: replace(p, **{kind: None})


def copied(kind: str, elements: str) -> Callable[[Placement], Placement]:
    def change(p: Placement) -> Placement:
        copy = getattr(p, kind)
        assert copy is not None
        return replace(p, **{kind: replace(copy, elements=elements)})

    return change


ALL = "[T, N] -> { [h0, b0] -> A[e0] : 0 <= e0 < N }"
BEYOND = ALL.replace("< N", "<= N")
SOME = "[T, N] -> { [h0, b0] -> A[e0] : 34 b0 + 3 <= e0 < 34 b0 + 9 and 0 < e0 < N - 1 }"
WRONG: dict[str, tuple[Callable[[Placement], Placement], str]] = {
    "a box too small": (lambda p: replace(p, extents=(19,)), "a cell of {} is outside of its extents"),
    "a cell for two": (
        lambda p: replace(p, cell="{ [[h0, b0] -> A[e0]] -> [floor(e0/2) - 17 b0 + 1] }"),
        "two elements have one cell of {}",
    ),
    "no fill": (without("fill"), "what is read was never written there"),
    "a fill too small": (copied("fill", SOME), "what is read was never written there"),
    "no drain": (without("drain"), "what is written is not drained"),
    "a drain too small": (copied("drain", SOME), "what is written is not drained"),
    "a drain of what was not filled": (
        copied("drain", BEYOND),
        "what is drained was neither filled nor surely written there",
    ),
    "a drain of what others use": (copied("drain", ALL), "another block uses what is drained"),
    "a fill of what is not there": (copied("fill", BEYOND), "there is no such element to fill with"),
    "a fill of what others write": (copied("fill", ALL), "another block uses what is drained"),
}


def first_tile() -> Placement:
    return next(p for kernel, p in tiles(JACOBI) if (kernel, p.array) == (0, "A"))


def test_the_first_tile_is_proven() -> None:
    assert failures(0, first_tile()) == set()


@pytest.mark.parametrize("case", WRONG)
def test_wrong_placements_are_refused(case: str) -> None:
    change, why = WRONG[case]
    assert why.format(first_tile().name) in failures(0, change(first_tile()))


@pytest.mark.parametrize("case", ["no fill", "no drain", "a box too small"])
def test_what_is_in_doubt_is_refused(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setattr("polytile.scheduling.proof.placements.DOUBTED_OPERATIONS", 100_000)
    run = state(JACOBI).run
    wrong = WRONG[case][0](first_tile())
    assert wrong_placements(run.scop, run.schedule.tree, [KernelPlan(0, (wrong,))])


@pytest.mark.slow(but="no fill")
@pytest.mark.parametrize("case", WRONG)
def test_tampered_certificates_are_refused(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setattr(checker, "MAX_OPERATIONS", 1_000_000)
    (scop,) = json.loads(certificate())["scops"]
    wrong = WRONG[case][0](first_tile())
    for placement in scop["plans"][0]["placements"]:
        if placement["name"] == wrong.name:
            placement.update(_as_json(wrong))
    assert any("A" in line for line in problems(scop))


def _as_json(placement: Placement) -> dict[str, Any]:
    found: dict[str, Any] = {"cell": placement.cell, "extents": list(placement.extents)}
    for kind in ("fill", "drain"):
        copy = getattr(placement, kind)
        found[kind] = None if copy is None else {"elements": copy.elements, "at": copy.at}
    return found
