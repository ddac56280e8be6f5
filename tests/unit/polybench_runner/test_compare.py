"""Comparing with older results: every planted regression is caught, noise is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polybench.runner.compare import BOUNDS, compare
from polybench.runner.errors import RunnerError
from polybench.runner.figures import count_launches, figures
from polybench.runner.rows import Row, head
from polytile.ir.expr import Binary, Literal
from polytile.ir.kernel import Barrier

SOURCE = """
void f(int n, double A[n][n], double B[n][n])
{
#pragma scop
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                A[i][j] += B[j][i];
#pragma endscop
}
"""
SIZES = {"n": 20}


def row(**figures_of: Any) -> Row:
    return {**head("tiny/f", "double", "classic", "mini", "cpu"), **figures_of}


@pytest.fixture(scope="module")
def program() -> Any:
    return polytile.compile(SOURCE, schedule="classic")


def changed(program: Any, **changes: Any) -> Any:
    """The program with another host program."""
    scop = program.scops[0]
    compilation = replace(scop.compilation, program=replace(scop.program, **changes))
    return replace(program, scops=(replace(scop, compilation=compilation),))


def test_nothing_changed(program: Any) -> None:
    found = figures(program, SIZES)
    assert found["kernels"] == 1 and found["launches"] >= 1 and found["device_bytes"] == 2 * 400 * 8
    result = compare([row(**found)], [row(**found)])
    assert result.worse == () and result.shared == 1
    assert result.lines == ["compared 1 rows: nothing got worse"]


def test_an_extra_barrier(program: Any) -> None:
    kernel = program.scops[0].program.kernels[0]
    slower = changed(program, kernels=(replace(kernel, body=(*kernel.body, Barrier("planted"))),))
    result = compare([row(**figures(program, SIZES))], [row(**figures(slower, SIZES))])
    assert "barriers" in [w.figure for w in result.worse]
    assert any("barriers" in line and "0 -> 1" in line for line in result.lines)


def test_a_doubled_footprint(program: Any) -> None:
    buffers = tuple(
        replace(b, elements=Binary("*", Literal("2"), b.elements)) for b in program.scops[0].program.buffers
    )
    result = compare([row(**figures(program, SIZES))], [row(**figures(changed(program, buffers=buffers), SIZES))])
    worse = [(w.figure, w.old, w.new) for w in result.worse]
    assert ("device_bytes", "6400", "12800") in worse
    assert {figure for figure, _, _ in worse} <= {"device_bytes", "lines"}  # only a part of it is copied back then


def test_an_extra_launch(program: Any) -> None:
    host = program.scops[0].program
    result = compare([row(**figures(program, SIZES))], [row(**figures(changed(program, body=host.body * 2), SIZES))])
    assert "launches" in [w.figure for w in result.worse]


@pytest.mark.parametrize("figure", sorted(BOUNDS))
def test_every_figure_has_its_bound(figure: str) -> None:
    def worse(old: float, new: float) -> list[str]:
        rows = (row(nvcc_release="13.0", **{figure: value}) for value in (old, new))
        return [w.figure for w in compare([next(rows)], [next(rows)]).worse]

    assert worse(100, 100) == [] and worse(100, 50) == []
    assert worse(100, 250) == [figure]
    assert worse(100, 109) == ([] if BOUNDS[figure].factor > 1 else [figure])


def test_ptxas_of_different_releases_is_not_compared() -> None:
    old, new = row(registers=32, nvcc_release="12.0"), row(registers=99, nvcc_release="13.0")
    assert compare([old], [new]).worse == ()
    assert compare([old], [row(kernels=1)]).worse == ()


def test_times_of_the_gpu_beyond_spread_and_five_percent() -> None:
    def gpu(ms: float, spread: float) -> Row:
        return {**head("tiny/f", "double", "classic", "mini", "gpu"), "median_ms": ms, "spread": spread}

    assert compare([gpu(1.0, 0.02)], [gpu(1.06, 0.01)]).worse == ()
    assert [w.figure for w in compare([gpu(1.0, 0.02)], [gpu(1.08, 0.01)]).worse] == ["median_ms"]
    assert compare([gpu(1.0, 0.02)], [gpu(1.08, 0.2)]).worse == ()
    assert compare([row(median_ms=1.0)], [row(median_ms=9.0)]).worse == ()  # on the CPU times are not compared


def test_a_row_that_fails_now() -> None:
    assert [w.figure for w in compare([row(kernels=1)], [row(error="no")]).worse] == ["result"]
    assert compare([row(error="no")], [row(error="no")]).worse == ()
    assert compare([row(error="no")], [row(kernels=1)]).better == 1


def test_nothing_in_common() -> None:
    with pytest.raises(RunnerError, match="no row of these programs"):
        compare([row()], [{**row(), "program": "tiny/g"}])


def test_counting_launches_stops(program: Any) -> None:
    host = program.scops[0].program
    assert count_launches(host, SIZES, 0) == (0, False)
    count, complete = count_launches(host, SIZES)
    assert complete and count_launches(host, SIZES, count) == (count, True)


def test_the_baseline_is_of_this_format() -> None:
    from polybench.runner.rows import read
    from polybench.runner.tables import ROOT

    found = read(Path(ROOT / "baselines" / "metrics-classic.jsonl"))
    assert found and all("error" not in r and r["kernels"] >= 1 for r in found)
