"""Proofs of stream plans: right plans are proven, planted errors are refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStore
from polytile.ir.plan import KernelPlan
from polytile.ir.plan_file import from_json, to_json
from polytile.ir.time_tile import Exchange
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError

from .conftest import PlanOf, problem_of
from .planted import MISTAKES
from .test_stream_steps import COPY_BACK

RIGHT = [
    ("stencilgen/j2d5pt.c", 4),
    ("stencilgen/j2d5pt.c", 8),
    ("stencilgen/j2d9pt.c", 3),
    ("stencilgen/j3d7pt.c", 3),
    ("stencilgen/j3d27pt.c", 2),
    ("stencilgen/cheby.c", 4),
    ("stencilgen/denoise.c", 2),
    ("polybench/fdtd-2d.c", 3),
    ("polybench/jacobi-1d.c", 4),
    ("polybench/jacobi-2d.c", 4),
    ("polybench/heat-3d.c", 2),
    ("cluster/himeno-19pt.c", 2),
    ("an5d/box2d1r.c", 4),
    (COPY_BACK, 4),
]


def prove(source: str, plan: OverlappedTiles) -> tuple[str, ...]:
    problem = problem_of(source)
    return prove_overlapped(problem.scop, problem.scop, problem.dependences, plan)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(("source", "iterations"), RIGHT)
def test_right_plans_are_proven(source: str, iterations: int, plan_of: PlanOf) -> None:
    plan = plan_of(source, iterations)
    assert prove(source, plan)
    written = KernelPlan(0, time_tile=plan)
    assert from_json(KernelPlan, to_json(written)) == written


def test_blocks_in_place_write_no_element_that_they_read(plan_of: PlanOf) -> None:
    plan = plan_of("an5d/box2d1r.c", 1)
    assert plan.in_place and prove("an5d/box2d1r.c", plan)
    with pytest.raises(WrongTimeTileError, match=r"no block stores the values of iteration t0\+0 of A"):
        prove("an5d/box2d1r.c", replace(plan, stores=()))
    with pytest.raises(WrongTimeTileError, match="stored twice"):
        prove("an5d/box2d1r.c", replace(plan, stores=2 * plan.stores))
    copied = plan_of(COPY_BACK, 1)
    assert copied.shadows and prove(COPY_BACK, copied)
    stores = tuple(StreamStore(s.index) for s in copied.made)
    with pytest.raises(WrongTimeTileError, match="overwrites what it reads, A of iteration t0-1"):
        prove(COPY_BACK, replace(copied, in_place=True, shadows=(), stores=stores))


@pytest.mark.slow(but=10)
@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("source", ["stencilgen/j2d5pt.c", "polybench/jacobi-2d.c", "stencilgen/j3d27pt.c"])
def test_planted_errors_are_refused(source: str, mistake: str, plan_of: PlanOf) -> None:
    change, reason = MISTAKES[mistake]
    wrong = change(plan_of(source, 3))
    with pytest.raises(WrongTimeTileError) as caught:
        prove(source, wrong)
    assert reason in caught.value.message


def test_shared_memory_needs_a_barrier_behind_what_other_threads_made(plan_of: PlanOf) -> None:
    """A plan for shuffles has values of neighbours in the plane that makes them."""
    plan = plan_of("an5d/box2d1r.c", 3)
    apart = replace(plan, exchange=Exchange.BLOCK, threads=(32,), points=(4,))
    assert prove("an5d/box2d1r.c", plan)
    waiting = tuple(replace(s, lag=2 * s.lag, slots=s.slots + 1) for s in plan.steps)
    assert prove("an5d/box2d1r.c", replace(apart, steps=waiting))
    early = tuple(replace(s, lag=s.lag, slots=s.slots + 1) for s in plan.steps)
    with pytest.raises(WrongTimeTileError, match="no barrier"):
        prove("an5d/box2d1r.c", replace(apart, steps=early))


def test_older_versions_that_can_be_seen_are_stored(plan_of: PlanOf) -> None:
    """The other of two elements has the values of the iteration before the last."""
    plan = plan_of("stencilgen/j2d5pt.c", 3)
    older = next(s for s in plan.stores if s.becomes is None)
    without = replace(plan, stores=tuple(s for s in plan.stores if s != older))
    with pytest.raises(WrongTimeTileError, match="no block stores"):
        prove("stencilgen/j2d5pt.c", without)
    stale = replace(plan, stores=(*without.stores, StreamStore(older.step - 1)))
    with pytest.raises(WrongTimeTileError, match="same elements"):
        prove("stencilgen/j2d5pt.c", stale)


def test_elements_of_their_own_for_each_iteration_are_refused(plan_of: PlanOf) -> None:
    """No block of some iterations stores all that is seen of E[t]."""
    with pytest.raises(WrongTimeTileError, match="values of more iterations"):
        prove(COPY_BACK.replace("B[i][j]", "E[t][i][j]"), renamed(plan_of(COPY_BACK, 4), "B", "E"))


def renamed(plan: OverlappedTiles, array: str, other: str) -> OverlappedTiles:
    return replace(plan, steps=tuple(replace(s, array=other if s.array == array else s.array) for s in plan.steps))


def test_iterations_that_make_other_cells_are_refused(plan_of: PlanOf) -> None:
    plan = plan_of(COPY_BACK, 4)
    with pytest.raises(WrongTimeTileError, match="same cells in each iteration"):
        prove(COPY_BACK.replace("i < N - 1", "i < N - 1 - t"), plan)


def test_a_plan_of_another_program_is_refused(plan_of: PlanOf) -> None:
    plan = plan_of(COPY_BACK, 4)
    with pytest.raises(WrongTimeTileError, match="at \\[1, 0\\] from the one that it writes"):
        prove(COPY_BACK.replace("A[i + 1][j]", "A[i + 1][j + 1]"), plan)
    in_place = COPY_BACK.replace("B[i][j] = A[i - 1]", "B[i][j] = B[i][j] + A[i - 1]")
    with pytest.raises(WrongTimeTileError):
        prove(in_place, plan)
