"""Plans of DAGs of stencils that are not iterated: right ones are proven and checked, planted errors found by both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from polytile.frontend.program import read_program
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStore
from polytile.ir.plan import KernelPlan
from polytile.ir.plan_file import from_json, to_json
from polytile.ir.time_tile import Exchange, TileThreads
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.candidate import Problem
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError
from polytile.scheduling.strategies.overlapped.dag_values import dag_values
from polytile.scheduling.strategies.overlapped.stream_steps import stream_steps

from .planted import MISTAKES, with_read, with_step, with_stores
from .test_stream_simulation import checked

HEADER = "void f(int n, double A[n][n], double B[n][n], double C[n][n], double D[n][n])"
NEST = "for (int i = {0}; i < n - {0}; i++) for (int j = {0}; j < n - {0}; j++) "
CHAIN = (
    NEST.format(1)
    + "B[i][j] = A[i][j - 1] + A[i + 1][j];"
    + NEST.format(2)
    + "C[i][j] = B[i - 1][j - 1] + B[i + 1][j];"
    + NEST.format(3)
    + "D[i][j] = C[i - 1][j + 1] + C[i + 1][j - 1] + B[i][j];"
)
TILES = {Exchange.WARP: ((4,), (4,)), Exchange.BLOCK: ((32,), (4,))}


@cache
def problem() -> Problem:
    scop = read_program("test.c", f"{HEADER}\n{{\n#pragma scop\n{CHAIN}\n#pragma endscop\n}}\n").scops[0]
    return Problem(scop, analyse(scop), Options(), machine_of("sm_90"))


def plan_of(exchange: Exchange = Exchange.WARP) -> OverlappedTiles:
    values = dag_values(problem())
    assert values is not None
    return stream_steps(problem().scop, values, 1, exchange).plan(TileThreads(exchange, *TILES[exchange]))


def prove(plan: OverlappedTiles) -> tuple[str, ...]:
    return prove_overlapped(problem().scop, problem().scop, problem().dependences, plan)


@pytest.mark.parametrize("exchange", TILES)
def test_right_plans_are_proven_and_checked(exchange: Exchange) -> None:
    plan = plan_of(exchange)
    assert plan.once and not plan.inputs and not plan.shadows
    assert prove(plan) and not checked(problem().scop, plan)
    written = KernelPlan(0, time_tile=plan)
    assert from_json(KernelPlan, to_json(written)) == written


def not_stored(plan: OverlappedTiles) -> OverlappedTiles:
    return with_stores(plan, *plan.stores[1:])


def other_array(plan: OverlappedTiles) -> OverlappedTiles:
    """Values of C are those of B."""
    number = next(k for k, r in enumerate(plan.reads) if plan.steps[r.source].array == "C")
    return with_read(plan, number, source=0)


def not_run(plan: OverlappedTiles) -> OverlappedTiles:
    last = len(plan.steps) - 1
    return replace(
        plan,
        steps=plan.steps[:last],
        reads=tuple(r for r in plan.reads if r.step != last),
        stores=tuple(s for s in plan.stores if s.step != last),
    )


def becomes_an_input(plan: OverlappedTiles) -> OverlappedTiles:
    return with_stores(plan, StreamStore(plan.stores[0].step, 0), *plan.stores[1:])


def iterated(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, once=False)


OWN: dict[str, Callable[[OverlappedTiles], OverlappedTiles]] = {
    "what is seen is not stored": not_stored,
    "values of another array": other_array,
    "a field is not made": not_run,
    "a result that becomes an input": becomes_an_input,
    "a loop over time that is not there": iterated,
}
SHARED = (
    "lag one less",
    "slots one less",
    "a plane less before",
    "a plane less behind",
    "a cell less on the left",
    "a cell less on the right",
    "an offset to the other side",
    "an access with no source",
    "elements with two owners",
)
PLANTED = {**{name: MISTAKES[name][0] for name in SHARED}, **OWN}


@pytest.mark.parametrize("mistake", PLANTED)
def test_planted_errors_are_refused_and_found(mistake: str) -> None:
    wrong = PLANTED[mistake](plan_of())
    with pytest.raises(WrongTimeTileError):
        prove(wrong)
    assert checked(problem().scop, wrong)


def test_other_iterations_are_no_plan() -> None:
    with pytest.raises(Exception, match="without a time loop"):
        with_step(plan_of(), 0, iteration=1)


def test_a_time_loop_is_no_single_iteration() -> None:
    text = "for (int t = 0; t < n; t++) " + NEST.format(1) + "B[i][j] = A[i][j - 1] + t;"
    scop = read_program("test.c", f"{HEADER}\n{{\n#pragma scop\n{text}\n#pragma endscop\n}}\n").scops[0]
    plan = not_run(not_run(plan_of()))
    assert checked(scop, plan)
    with pytest.raises(WrongTimeTileError, match="several instances"):
        prove_overlapped(scop, scop, analyse(scop), plan)
