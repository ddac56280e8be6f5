"""Stream plans of small stencils and of benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from polytile.frontend.program import read_program
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.time_tile import Exchange, TileThreads
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.stencil_form import iterated_stencil
from polytile.scheduling.analysis.stencil_values import stencil_values
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.overlapped.stream_steps import stream_steps
from polytile.scheduling.transform.statement_fusion import fuse_locals

HEADER = "void f(int T, int N, double A[N][N], double B[N][N], double C[2][N][N], double E[T][N][N])"
PlanOf = Callable[..., OverlappedTiles]
TILES = {1: ((4,), (8,)), 2: ((4,), (4,)), 3: ((16, 32), (2, 2))}  # threads and points, by the dimensions of space


@cache
def problem_of(source: str) -> Problem:
    """The problem of a benchmark of polybench/, or of the body of a time loop over t."""
    if not source.endswith(".c"):
        loop = f"for (int t = 0; t < T; t++) {{\n{source}\n}}"
        found = read_program("test.c", f"{HEADER}\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    else:
        found = read_program(str(Path("polybench") / source))
    assert not found.refusals, found.refusals[0].error
    scop = fuse_locals(found.scops[0])
    return Problem(scop, analyse(scop), Options(), machine_of("sm_90"))


@pytest.fixture
def plan_of() -> PlanOf:
    """`plan_of(source, iterations)`: by shuffles in one and two dimensions, else through shared memory."""

    def plan(source: str, iterations: int = 4, exchange: Exchange | None = None) -> OverlappedTiles:
        problem = problem_of(source)
        form = iterated_stencil(problem.scop, problem.dependences)
        usual = Exchange.BLOCK if form.dims > 2 else Exchange.WARP
        values, chosen = stencil_values(problem.scop, problem.dependences, form), exchange or usual
        tiles = TileThreads(chosen, *TILES[form.dims])
        return stream_steps(problem.scop, values, iterations, chosen).plan(tiles)

    return plan
