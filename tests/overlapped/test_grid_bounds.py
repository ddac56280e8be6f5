"""Where sizes are not known, overlapped tiles run large grids, and split tiles or kernels of one iteration small
ones."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import isqrt
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.api import CompiledScop
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.ir.overlapped_tiles import MOST_OF_A_SIDE
from polytile.ir.version_conditions import FewerCells
from polytile.runtime.launches import each_version, launches_of
from tests.bitwise import same_as_c
from tests.time_tiles import tile_of

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
THREE = """void f(int T, int N, int M, double A[3][N][M])
{
#pragma scop
    for (int t = 2; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                A[t % 3][i][j] = 0.3 * (A[(t + 2) % 3][i][j] + A[(t + 1) % 3][i - 1][j]) +
                    0.1 * (A[(t + 2) % 3][i + 1][j] + A[(t + 2) % 3][i][j - 1]);
#pragma endscop
}
"""
TWICE = """void f(int T, int N, int M, float A[N][M], float B[N][M])
{
#pragma scop
    for (int t = 1; t <= T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                B[i][j] = 0.25f * (A[i][j] + A[i - 1][j] + A[i][j + 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                A[i][j] = 0.5f * (B[i][j - 1] + B[i + 1][j]);
    }
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
    assert scop.program is not None
    streams = {k.kernel: k.launches > 0 for k in launches_of(scop.program, values)}
    return [any(runs for name, runs in streams.items() if name.endswith(end)) for end in ("_in", "_k0")]


def splits(scop: CompiledScop, **values: int) -> bool:
    """Whether the kernel of split tiles runs."""
    assert scop.program is not None
    return any(k.launches > 0 for k in launches_of(scop.program, values) if k.kernel.endswith("_split"))


def test_the_host_takes_tiles_for_large_grids() -> None:
    scop = typed(SPACE)
    least = plan_of(scop).least_cells
    side = round(least ** (1 / 3)) + 2  # with what no cell is computed of
    said = f"spaces of fewer than {least} cells run as the iterations that tiles leave do"
    assert least > 0 and said in list(plan_of(scop).lines())
    even = 2 * plan_of(scop).iterations
    assert blocks(scop, T=even, N=side + 1) == [True, False]
    assert blocks(scop, T=even, N=side - 1) == [False, True]
    assert blocks(scop, T=even + 1, N=side + 1) == [True, True]
    assert blocks(scop, T=8, N=2) == [False, False]


def test_the_host_takes_split_tiles_for_small_planes() -> None:
    scop = typed(PLANE)
    (version,) = scop.compilation.versions
    assert version.compilation.split is not None and version.compilation.proof is not None
    small = version.where
    assert isinstance(small, FewerCells) and plan_of(scop).least_cells == small.cells
    side, even = isqrt(small.cells) + 2, 2 * plan_of(scop).iterations
    assert 0 < small.iterations <= even
    for more, runs in ((0, (True, False, False)), (small.iterations - 1, (True, True, False)), (even, (True,) * 3)):
        sizes = {"T": 2 * even + min(more, even - 1), "N": side + 1, "M": side + 1}
        behind = (runs[0], more == small.iterations - 1, more == even)
        assert (*blocks(scop, **sizes), splits(scop, **sizes)) == behind
    for n, m in ((side - 1, side - 1), (3, 2 * side), (2 * side, 3)):
        assert (blocks(scop, T=even, N=n, M=m), splits(scop, T=even, N=n, M=m)) == ([False, False], True)
    words = f"grids of fewer than {small.cells} cells, and {small.iterations} or more iterations behind tiles"
    said = f"split schedule for {words}, 1 kernel; legality: proven"
    assert any(said in remark.message for remark in scop.compilation.remarks)
    assert f"  {words}:" in scop.explain().splitlines()
    assert {k.name for k in scop.facts.kernels} == {k.name for k in scop.program.kernels if scop.program}


@pytest.mark.slow
def test_kernels_of_one_iteration_run_the_smallest_planes() -> None:
    """Nine points in double precision at 512^2, H200: 124 GCells/s, 89 in split tiles; at 1024^2 237 and 258."""
    file = PROGRAMS.parent / "an5d/box2d1r.c"
    (scop,) = polytile.compile(file).scops
    (version,) = scop.compilation.versions
    small = version.where
    assert isinstance(small, FewerCells) and 510**2 < small.least < 1022**2 < small.cells == plan_of(scop).least_cells
    even = 2 * plan_of(scop).iterations
    for cells, runs in ((small.least, True), (small.cells, False)):
        for side, here in ((isqrt(cells) + 3, runs), (isqrt(cells) + 1, not runs)):
            sizes = {"tsteps": even, "nx": side, "ny": side}
            assert splits(scop, **sizes) is here
            assert blocks(scop, **sizes) == [cells == small.cells and not here, cells == small.least and not here]
    words = f"at least {small.least} and fewer than {small.cells} cells"
    words += f", and {small.iterations} or more iterations behind tiles"
    assert f"  grids of {words}:" in scop.explain().splitlines()
    assert f"# for grids of {words}:" in scop.saved_schedule
    (again,) = polytile.compile(file, load_schedule=scop.saved_schedule).scops
    assert again.program is not None and scop.program is not None and again.program.body == scop.program.body


@pytest.mark.slow
def test_a_certificate_has_both_versions(tmp_path: Path) -> None:
    source, file = tmp_path / "f.c", tmp_path / "f.json"
    source.write_text(PLANE)
    command = [str(source), "-o", str(tmp_path), "--certificate", str(file), "--no-cache", "--fp", "strict"]
    assert main(command) == 0
    small, large = (content := json.loads(file.read_text()))["scops"]
    assert re.fullmatch(r"grids of fewer than \d+ cells, and \d+ or more iterations behind tiles", small["for"])
    of_small, of_large = (tile_of(scop) for scop in (small, large))
    assert (of_small["shape"], of_large["shape"]) == ("split", "overlapped")
    assert main(["check", str(file), "--source", str(source)]) == 0
    of_small["cuts"][0]["lower"] = 0  # tiles that do not shrink with what they read
    file.write_text(json.dumps(content))
    assert main(["check", str(file)]) == 1


def test_a_saved_schedule_has_both_versions() -> None:
    scop = typed(PLANE)
    assert scop.program is not None
    (version,) = scop.compilation.versions
    saved = scop.saved_schedule
    again = typed(PLANE, load_schedule=saved)
    assert again.program is not None and again.program.body == scop.program.body
    assert [k.body for k in again.program.kernels] == [k.body for k in scop.program.kernels]
    line = f"# for {version.where}:"
    for cells, runs in ((100, True), (99, False)):
        changed = typed(PLANE, load_schedule=saved.replace(line, f"# for grids of fewer than {cells} cells:"))
        assert splits(changed, T=2 * plan_of(scop).iterations, N=3, M=101) is runs
    with pytest.raises(UserError, match="are not split and overlapped tiles"):
        typed(PLANE, load_schedule=f"\n{line}\n".join(reversed(saved.split(line))))


def test_a_version_that_is_refused_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UserError("no")

    monkeypatch.setattr("polytile.stages.plain_programs._split", refuse)
    monkeypatch.setattr("polytile.pipeline._reason", lambda *_: "no")
    scop = typed(PLANE)
    assert not scop.compilation.versions and scop.program is scop.compilation.program
    assert any("the split schedule is not used, as no" in remark.message for remark in scop.compilation.remarks)


def test_sides_longer_than_any_array_do_not_overflow() -> None:
    assert blocks(typed(PLANE), T=100, N=2**31 - 4, M=2**29)[0]
    assert MOST_OF_A_SIDE**3 < 2**63


@pytest.mark.parametrize("known", [{"N": 4000, "M": 4000}, {"N": 40, "M": 40}], ids=["large", "small"])
def test_known_sizes_need_no_bound(known: dict[str, int]) -> None:
    scop = typed(PLANE, parameters={**known, "T": 100})
    assert scop.compilation.overlapped is None or plan_of(scop).least_cells == 0
    assert not scop.compilation.versions


def test_a_strategy_that_is_asked_for_has_no_bound() -> None:
    assert plan_of(compiled(PLANE)).least_cells == 0 and not compiled(PLANE).compilation.versions


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("text", [PLANE, SPACE], ids=["plane", "space"])
def test_small_grids_show_that_tiles_for_large_ones_are_right(text: str) -> None:
    scop = typed(text)
    assert scop.program is not None
    any_size = each_version(scop.program)[0]
    assert any_size.kernels == scop.program.kernels and any_size.body != scop.program.body
    n = 2 * plan_of(scop).iterations
    same_as_c(scop, [{"T": n + 1, "N": 9, "M": 40}, {"T": n, "N": 35, "M": 5}, {"T": 2, "N": 7, "M": 7}])
    sizes = {p.name: {"T": n + 1, "N": 9, "M": 40}[p.name] for p in scop.scop.parameters}
    reports = scop.validate(on="emulator", parameters=sizes, seed=1)
    first = (kernel for report in reports for kernel in report.runs[0].kernels)
    assert all(kernel.launches or kernel.kernel.endswith("_split") for kernel in first)
    assert all(kernel.launches for report in reports for kernel in report.kernels)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("least", [1, 240, 241, 1000])
def test_both_sides_of_the_bound_are_right(least: int) -> None:
    """14 x 17 cells: the program runs as it is, bound and all."""
    saved = compiled(PLANE, time_tile=2, tile=(5, 32)).saved_schedule
    line = '# time_tile {"shape": "overlapped"'
    marked = saved.replace(line, f'{line}, "least_cells": {least}')
    scop = compiled(PLANE, schedule="auto", load_schedule=BOUND.sub(f'"least_cells": {least}', marked))
    assert plan_of(scop).least_cells == least
    assert blocks(scop, T=5, N=17, M=18) == [least <= 240, True]
    start = np.random.default_rng(3).random((2, 17, 18))
    found, wanted = start.copy(), start.copy()
    scop(T=5, N=17, M=18, A=found, on="emulator")
    compiled(PLANE, schedule="classic")(T=5, N=17, M=18, A=wanted, on="emulator")
    assert np.array_equal(found, wanted) and not np.array_equal(found, start)


@pytest.mark.slow(but="plane-3")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("fewest", [1, 3, 8])
@pytest.mark.parametrize("text", [PLANE, THREE, TWICE], ids=["plane", "three", "twice"])
def test_what_tiles_leave_runs_in_split_tiles_or_one_iteration_a_kernel(text: str, fewest: int) -> None:
    """15 x 38 cells: none, one, two pairs of blocks, then from none to all but one of another pair's iterations."""
    bound = f"# for grids of fewer than 1 cells, and {fewest} or more iterations behind tiles:\n"
    both = bound.join(compiled(text, schedule=s).compilation.schedule_with_plans() for s in ("overlapped", "split"))
    found = typed(text, load_schedule=both)
    plain = compiled(text, schedule="classic")
    even, first = 2 * plan_of(found).iterations, 2 if text is THREE else 0
    (array, *_) = arrays = found.scop.arrays
    shape = (17, 40) if text is TWICE else (3 if text is THREE else 2, 17, 40)
    random = np.random.default_rng(5)
    start = {a.name: random.random(shape).astype(f"f{array.element.size}") for a in arrays}
    for left in (0, 1, fewest - 1, fewest, 5, 9, even - 1):
        for whole in (0, 1, 2):
            sizes = {"T": first + whole * even + left, "N": 17, "M": 40}
            assert blocks(found, **sizes) == [whole > 0, 0 < left < fewest]
            assert splits(found, **sizes) is (left >= fewest)
            own, wanted = ({n: a.copy() for n, a in start.items()} for _ in range(2))
            found(**sizes, **own, on="emulator")
            plain(**sizes, **wanted, on="emulator")
            assert all(np.array_equal(own[name], one) for name, one in wanted.items()), sizes


@pytest.mark.parametrize("least", [-1, 2**63])
def test_a_bound_that_is_none_is_refused(least: int) -> None:
    saved = compiled(PLANE, time_tile=2, tile=(5, 32)).saved_schedule
    line = next(line for line in saved.splitlines() if line.startswith("# time_tile "))
    wrong = json.loads(line.removeprefix("# time_tile ")) | {"least_cells": least}
    with pytest.raises(UserError, match=f"least_cells is a number of cells, not {least}"):
        compiled(PLANE, schedule="auto", load_schedule=saved.replace(line, f"# time_tile {json.dumps(wrong)}"))


def test_programs_for_large_grids_are_as_they_were() -> None:
    program = compiled(PLANE).compilation.program
    assert program is not None and program.bounds == () and each_version(program) == (program,)
    assert each_version(replace(program, bounds=("n",)))[0].body == program.body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "strategy"), [("jacobi-1d", "overlapped"), ("jacobi-2d", "overlapped"), ("fdtd-2d", "overlapped")]
)
def test_split_tiles_stay_unless_overlapped_ones_are_much_faster_for_large_grids(program: str, strategy: str) -> None:
    (scop,) = polytile.compile(PROGRAMS / f"{program}.c", raise_bugs=True).scops
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == strategy


@pytest.mark.slow
def test_grids_whose_tiles_are_few_have_blocks_as_the_host_shares_out_planes() -> None:
    """At 514^3, 200 tiles on 132 places would take two turns of all planes; five of a third take 15% less."""
    (scop,) = polytile.compile(PROGRAMS.parent / "an5d/box3d1r.c", defines=["DATA_TYPE_IS_FLOAT"]).scops
    assert scop.compilation.overlapped is not None and plan_of(scop).tiles_at_once and plan_of(scop).least_cells
