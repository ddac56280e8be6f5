"""Perturbed stream plans are carried out on small sizes: none that is proven or checked computes something else."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.certificate import statements
from polytile.check.time_tiles.problems import time_tile_problems
from polytile.diagnostics import InternalError
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStore
from polytile.ir.plan_file import to_json
from polytile.ir.scop import Origin, Scop
from polytile.ir.time_tile import Exchange
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError

from .conftest import PlanOf, problem_of
from .planted import MISTAKES, with_read, with_step
from .simulate import Simulation
from .test_stream_proof import RIGHT
from .test_stream_steps import COPY_BACK

PROGRAMS: dict[str, tuple[dict[str, int], str]] = {  # sizes, and which of them are iterations
    "polybench/jacobi-2d.c": ({"n": 8}, "tsteps"),
    "stencilgen/j2d5pt.c": ({"nx": 7, "ny": 8}, "tsteps"),
    "polybench/fdtd-2d.c": ({"nx": 6, "ny": 7}, "tmax"),
    "an5d/box2d1r.c": ({"nx": 6, "ny": 7}, "tsteps"),
    COPY_BACK: ({"N": 7}, "T"),
}


def simulation(source: str, plan: OverlappedTiles, iterations: int) -> Simulation:
    sizes, time = PROGRAMS[source]
    return Simulation(problem_of(source).scop, {**sizes, time: iterations}, plan.dims)


def is_proven(source: str, plan: OverlappedTiles) -> bool:
    problem = problem_of(source)
    try:
        return bool(prove_overlapped(problem.scop, problem.scop, problem.dependences, plan))
    except WrongTimeTileError:
        return False


def checked(scop: Scop, plan: OverlappedTiles) -> list[str]:
    program: Any = {**statements(scop), "arrays": {a.name: a.root for a in scop.arrays}}
    visible = [a.name for a in scop.arrays if a.origin is Origin.EXTERNAL and a.live_out]
    program, content = json.loads(json.dumps([program, to_json(plan)]))
    return list(time_tile_problems(program, content, visible, isl.Set(str(scop.context))))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("source", "iterations"), RIGHT)
def test_right_plans_are_checked(source: str, iterations: int, plan_of: PlanOf) -> None:
    assert not checked(problem_of(source).scop, plan_of(source, iterations))


MORE = [pytest.param(source, marks=pytest.mark.slow) for source in ("polybench/jacobi-2d.c", "stencilgen/j3d27pt.c")]


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("source", ["stencilgen/j2d5pt.c", *MORE])
def test_the_checker_finds_planted_errors(source: str, mistake: str, plan_of: PlanOf) -> None:
    change, _ = MISTAKES[mistake]
    assert checked(problem_of(source).scop, change(plan_of(source, 3)))


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("source", PROGRAMS)
def test_right_plans_compute_what_the_source_does(source: str, plan_of: PlanOf) -> None:
    plan = plan_of(source, 2)
    for iterations in (0, 1, 3, 4, 5, 8, 9):
        assert simulation(source, plan, iterations).is_right(plan)


def perturbed(plan: OverlappedTiles, choose: random.Random) -> OverlappedTiles:
    """One or two numbers, sources or stores changed at random."""
    for _ in range(choose.choice((1, 1, 1, 2))):
        step, by = choose.choice(plan.steps), choose.choice((-1, 1))
        what = choose.choice(("lower", "upper", "slots", "lag", "source", "offset", "iteration", "store", "exchange"))
        if what in ("lower", "upper"):
            side, k = list(getattr(step, what)), choose.randrange(plan.dims)
            side[k] += by
            plan = with_step(plan, step.index, **{what: tuple(side)})
        elif what in ("slots", "lag", "iteration"):
            plan = with_step(plan, step.index, **{what: getattr(step, what) + by})
        elif what in ("source", "offset"):
            number = choose.randrange(len(plan.reads))
            moved = tuple(o + choose.choice((-1, 0, 0, 1)) for o in plan.reads[number].offset)
            plan = with_read(plan, number, **{what: step.index if what == "source" else moved})
        elif what == "exchange":
            plan = replace(plan, exchange=Exchange.BLOCK, threads=(32,))
        else:
            inputs = [s.index for s in plan.inputs]
            stores = list(plan.stores)
            number = choose.randrange(len(stores))
            new = StreamStore(choose.choice(plan.made).index, choose.choice((None, *inputs)))
            stores[number : number + 1] = choose.choice(([], [new], [stores[number], new]))
            plan = replace(plan, stores=tuple(stores))
    return plan


@pytest.mark.slow
@pytest.mark.parametrize("source", PROGRAMS)
def test_no_perturbed_plan_is_proven_and_wrong(source: str, plan_of: PlanOf) -> None:
    plan, choose = plan_of(source, 2), random.Random(source)
    whole = [simulation(source, plan, iterations) for iterations in (4, 9)]
    found: Counter[tuple[bool, bool]] = Counter()
    for _ in range(30):
        try:
            other = perturbed(plan, choose)
        except InternalError:
            continue
        proven, right = is_proven(source, other), all(s.is_right(other) for s in whole)
        assert right or not proven, other
        assert right or checked(problem_of(source).scop, other), other
        found[proven, right] += 1
    assert found[True, True] and found[False, False]
