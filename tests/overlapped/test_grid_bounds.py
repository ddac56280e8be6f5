"""Where sizes are not known, overlapped tiles run large grids, and kernels of one iteration small ones."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.api import CompiledScop
from polytile.diagnostics import UserError
from polytile.ir.stream_plan import MOST_OF_A_SIDE
from polytile.runtime.launches import launches_of, without_bounds
from tests.bitwise import same_as_c

from .checks import compiled, plan_of

PLANE = """void f(int T, int N, int M, double A[2][N][M])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                A[(t + 1) % 2][i][j] = 0.2 * (A[t % 2][i - 1][j] + A[t % 2][i][j - 1] + A[t % 2][i + 1][j + 1]);
#pragma endscop
}
"""
SPACE = """void f(int T, int N, float A[2][N][N][N])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    A[(t + 1) % 2][i][j][k] = 0.2f * (A[t % 2][i - 1][j][k] + A[t % 2][i][j - 1][k] +
                        A[t % 2][i][j][k] + A[t % 2][i][j][k + 1] + A[t % 2][i + 1][j][k]);
#pragma endscop
}
"""
PROGRAMS = Path(__file__).parents[2] / "polybench/polybench"
BOUND = re.compile(r'"least_cells": \d+')


def typed(text: str, **settings: object) -> CompiledScop:
    """As without options, but for the order of sums."""
    return compiled(text, schedule="auto", **settings)


def blocks(scop: CompiledScop, **values: int) -> list[bool]:
    """Whether kernels of blocks run, and those of single iterations."""
    assert scop.compilation.program is not None
    found = launches_of(scop.compilation.program, values)
    streams = {k.kernel: k.launches > 0 for k in found}
    return [any(runs for name, runs in streams.items() if name.endswith(end)) for end in ("_in", "_k0")]


@pytest.mark.parametrize("text", [PLANE, SPACE], ids=["plane", "space"])
def test_the_host_takes_tiles_for_large_grids(text: str) -> None:
    scop = typed(text)
    least, dims = plan_of(scop).least_cells, plan_of(scop).dims
    side = round(least ** (1 / dims)) + 2  # with what no cell is computed of
    assert least > 0 and f"spaces of fewer than {least} cells run one iteration a kernel" in list(plan_of(scop).lines())
    even = {"T": 2 * plan_of(scop).iterations}
    sides = ("N", "M")[: 1 + (text is PLANE)]
    assert blocks(scop, **even, **dict.fromkeys(sides, side + 1)) == [True, False]
    assert blocks(scop, **even, **dict.fromkeys(sides, side - 1)) == [False, True]
    assert blocks(scop, **dict.fromkeys(sides, side + 1), T=even["T"] + 1) == [True, True]
    assert blocks(scop, **dict.fromkeys(sides, 2), T=8) == [False, False]


def test_sides_longer_than_any_array_do_not_overflow() -> None:
    assert blocks(typed(PLANE), T=100, N=2**31 - 4, M=2**29)[0]
    assert MOST_OF_A_SIDE**3 < 2**63


@pytest.mark.parametrize("known", [{"N": 4000, "M": 4000}, {"N": 40, "M": 40}], ids=["large", "small"])
def test_known_sizes_need_no_bound(known: dict[str, int]) -> None:
    scop = typed(PLANE, parameters={**known, "T": 100})
    assert scop.compilation.stream is None or plan_of(scop).least_cells == 0


def test_a_strategy_that_is_asked_for_has_no_bound() -> None:
    assert plan_of(compiled(PLANE)).least_cells == 0


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("text", [PLANE, SPACE], ids=["plane", "space"])
def test_small_grids_show_that_tiles_for_large_ones_are_right(text: str) -> None:
    scop = typed(text)
    assert scop.compilation.program is not None
    any_size = without_bounds(scop.compilation.program)
    assert any_size.kernels == scop.compilation.program.kernels and any_size.body != scop.compilation.program.body
    n = 2 * plan_of(scop).iterations
    same_as_c(scop, [{"T": n + 1, "N": 9, "M": 40}, {"T": n, "N": 35, "M": 5}, {"T": 2, "N": 7, "M": 7}])
    sizes = {p.name: {"T": n + 1, "N": 9, "M": 40}[p.name] for p in scop.scop.parameters}
    reports = scop.validate(on="emulator", parameters=sizes, seed=1)
    assert all(kernel.launches for report in reports for kernel in report.runs[0].kernels)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("least", [1, 240, 241, 1000])
def test_both_sides_of_the_bound_are_right(least: int) -> None:
    """14 x 17 cells: the program runs as it is, bound and all."""
    saved = compiled(PLANE, time_tile=2, tile=(5, 32)).saved_schedule
    marked = saved.replace('# stream {"name"', f'# stream {{"least_cells": {least}, "name"')
    scop = compiled(PLANE, schedule="auto", load_schedule=BOUND.sub(f'"least_cells": {least}', marked))
    assert plan_of(scop).least_cells == least
    assert blocks(scop, T=5, N=17, M=18) == [least <= 240, True]
    start = np.random.default_rng(3).random((2, 17, 18))
    found, wanted = start.copy(), start.copy()
    scop(T=5, N=17, M=18, A=found, on="emulator")
    compiled(PLANE, schedule="classic")(T=5, N=17, M=18, A=wanted, on="emulator")
    assert np.array_equal(found, wanted) and not np.array_equal(found, start)


@pytest.mark.parametrize("least", [-1, 2**63])
def test_a_bound_that_is_none_is_refused(least: int) -> None:
    saved = compiled(PLANE, time_tile=2, tile=(5, 32)).saved_schedule
    line = next(line for line in saved.splitlines() if line.startswith("# stream "))
    wrong = json.loads(line.removeprefix("# stream ")) | {"least_cells": least}
    with pytest.raises(UserError, match=f"least_cells is a number of cells, not {least}"):
        compiled(PLANE, schedule="auto", load_schedule=saved.replace(line, f"# stream {json.dumps(wrong)}"))


def test_programs_without_bounds_are_as_they_were() -> None:
    program = compiled(PLANE).compilation.program
    assert program is not None and program.bounds == () and without_bounds(program) is program
    assert without_bounds(replace(program, bounds=("n",))).body == program.body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "strategy"), [("jacobi-1d", "overlapped"), ("jacobi-2d", "overlapped"), ("fdtd-2d", "split")]
)
def test_split_tiles_stay_unless_overlapped_ones_are_much_faster_for_large_grids(program: str, strategy: str) -> None:
    (scop,) = polytile.compile(PROGRAMS / f"{program}.c", raise_bugs=True).scops
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == strategy


def test_a_grid_for_which_blocks_are_only_now_and_then_faster_has_none() -> None:
    """By estimates, box stencils in space gain by 406^3 cells what they lose by 507^3, where the last tiles are few."""
    (scop,) = polytile.compile(PROGRAMS.parent / "an5d/box3d1r.c", defines=["DATA_TYPE_IS_FLOAT"]).scops
    assert scop.compilation.stream is None
