"""Kernels of one step whose blocks share planes: the proof and the checker refuse wrong rings, barriers and halos."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import polytile
from polytile.check.checker import problems
from polytile.compilation import Compilation
from polytile.diagnostics import UsageError
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.plan import KernelPlan
from polytile.ir.plan_file import from_json, to_json
from polytile.ir.time_tile import Exchange
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError

from .planted import Change, with_read, with_step

STAR, BOX = "cluster/stencil-7pt.c", "an5d/box3d1r.c"


@cache
def compiled(source: str, planes: str, barriers: int) -> tuple[Compilation, str]:
    """The compilation of the one SCoP, and its certificate."""
    file = Path("polybench") / source
    program = polytile.compile(file, tile=(8, 32), block=(4, 16), raise_bugs=True, planes=planes, barriers=barriers)
    (scop,) = program.scops
    (certificate,) = json.loads(program.certificate)["scops"]
    return scop.compilation, json.dumps(certificate)


@cache
def wrongs(certificate: str) -> tuple[str, ...]:
    """What the checker has against a certificate."""
    return tuple(problems(json.loads(certificate)))


def plan_of(state: Compilation) -> OverlappedTiles:
    assert state.overlapped is not None
    return state.overlapped


def is_refused(state: Compilation, certificate: str, wrong: OverlappedTiles, reason: str) -> None:
    """By the proof, and by the checker, which finds nothing wrong with the plan that was made."""
    with pytest.raises(WrongTimeTileError) as caught:
        prove_overlapped(state.scop, state.scop, state.dependences, wrong)
    assert reason in caught.value.message
    assert not wrongs(certificate)
    found = json.loads(certificate)
    assert any(problems({**found, "plans": [*found["plans"], {"kernel": 0, "time_tile": to_json(wrong)}]}))


def fewer_slots(plan: OverlappedTiles) -> OverlappedTiles:
    return with_step(plan, 0, slots=plan.steps[0].slots - 1)


def fewer_shared_planes(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, shared_planes=plan.shared_planes - 1)


def fewer_barriers(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, barriers=plan.barriers - 1)


def earlier(plan: OverlappedTiles) -> OverlappedTiles:
    return with_step(plan, 1, lag=plan.steps[1].lag - 1)


def narrower(plan: OverlappedTiles) -> OverlappedTiles:
    lower = plan.steps[0].lower
    return with_step(plan, 0, lower=(*lower[:-1], lower[-1] + 1))


def shorter(plan: OverlappedTiles) -> OverlappedTiles:
    upper = plan.steps[0].upper
    return with_step(plan, 0, upper=(upper[0] - 1, *upper[1:]))


def elsewhere(plan: OverlappedTiles) -> OverlappedTiles:
    number, read = next((k, r) for k, r in enumerate(plan.reads) if any(r.offset[1:]))
    return with_read(plan, number, offset=tuple(-d for d in read.offset))


BOTH = ("shared", "registers")
SLOT, LATE, NONE = "has its slot", "with no barrier before", "no barrier behind what is put"
WRONG: list[tuple[Change, str, int, str]] = [  # the mistake, where planes are, barriers, and what the proof says
    (fewer_slots, "shared", 2, SLOT),
    (fewer_slots, "shared", 1, LATE),
    (fewer_slots, "registers", 1, SLOT),
    (fewer_shared_planes, "registers", 1, LATE),
    (fewer_shared_planes, "registers", 2, LATE),
    (fewer_barriers, "shared", 2, LATE),
    (fewer_barriers, "registers", 2, LATE),
    *((fewer_barriers, planes, 1, NONE) for planes in BOTH),
    *((earlier, planes, 1, "before it is made") for planes in BOTH),
    *((narrower, planes, 1, "before the box") for planes in BOTH),
    *((shorter, planes, 2, "behind the box") for planes in BOTH),
    *((elsewhere, planes, 2, "does not read the cell") for planes in BOTH),
]


@pytest.mark.slow(but="cluster/stencil-7pt.c-registers-2")
@pytest.mark.parametrize("barriers", [1, 2])
@pytest.mark.parametrize(("source", "planes"), [(STAR, "shared"), (STAR, "registers"), (BOX, "shared")])
def test_right_plans_are_proven_and_checked(source: str, planes: str, barriers: int) -> None:
    state, certificate = compiled(source, planes, barriers)
    plan = plan_of(state)
    assert plan.barriers == barriers and plan.in_place and plan.owned == plan.tile == (8, 32)
    written = KernelPlan(0, time_tile=plan)
    assert from_json(KernelPlan, to_json(written)) == written
    assert not wrongs(certificate)


@pytest.mark.slow(
    but=("fewer_slots-shared-1-with no barrier before", "fewer_barriers-registers-2-with no barrier before")
)
@pytest.mark.parametrize(("change", "planes", "barriers", "reason"), WRONG)
def test_planted_errors_are_refused(change: Change, planes: str, barriers: int, reason: str) -> None:
    state, certificate = compiled(STAR, planes, barriers)
    is_refused(state, certificate, change(plan_of(state)), reason)


def test_boxes_have_no_columns_in_registers() -> None:
    with pytest.raises(UsageError, match="read in several planes"):
        compiled(BOX, "registers", 1)
    state, certificate = compiled(BOX, "shared", 2)
    wrong = replace(plan_of(state), exchange=Exchange.COLUMNS, shared_planes=2)
    is_refused(state, certificate, wrong, "several planes")


def test_kernels_that_load_what_others_make_come_behind_these() -> None:
    """B of an iteration is made by the first kernel, and A from it by the second one."""
    state, certificate = compiled("polybench/heat-3d.c", "shared", 1)
    plan = plan_of(state)
    older = with_step(plan, 2, iteration=-1)
    is_refused(state, certificate, older, "reads other values of B")
    unstored = replace(plan, stores=plan.stores[1:])
    is_refused(state, certificate, unstored, "no block stores the values of iteration t0+0")
    steps = (*plan.steps[2:], *plan.steps[:2])
    moved = {s.index: k for k, s in enumerate(steps)}
    swapped = replace(
        plan,
        steps=tuple(replace(s, index=k) for k, s in enumerate(steps)),
        reads=tuple(replace(r, step=moved[r.step], source=moved[r.source]) for r in plan.reads),
        stores=tuple(replace(s, step=moved[s.step]) for s in plan.stores),
    )
    is_refused(state, certificate, swapped, "")
