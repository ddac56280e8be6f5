"""Estimates of time: what they are bound by, and how they compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.scheduling.cost.estimate import Estimate
from polytile.scheduling.cost.schedule_cost import timed
from polytile.stages import select_schedule
from tests.reading import shared

SUITE = Path(__file__).resolve().parents[4] / "polybench" / "polybench"
H200 = machine_of("sm_90")


def estimate(compiled: Any, arch: str = "sm_90", **sizes: int) -> Estimate:
    state = compiled.compilation
    return timed(state.scop, state.schedule, state.kernel_plans, machine_of(arch), sizes)


@shared
def of_suite(name: str, **sizes: int) -> Estimate:
    (scop,) = polytile.compile(SUITE / f"{name}.c", schedule="classic").scops
    return estimate(scop, **sizes)


# Milliseconds on an H200 (polybench/results, EXTRALARGE, double), of programs of several kinds.
MEASURED: dict[str, tuple[float, Mapping[str, int]]] = {
    "gemm": (8.86, {"ni": 2000, "nj": 2300, "nk": 2600}),
    "atax": (0.189, {"m": 1800, "n": 2200}),
    "jacobi-2d": (80.1, {"tsteps": 1000, "n": 2800}),
    "syrk": (28.2, {"n": 2600, "m": 2000}),
    "trisolv": (22.6, {"n": 4000}),
    "trmm": (103.8, {"m": 2000, "n": 2600}),
    "nussinov": (2179.0, {"n": 5500}),
}


@pytest.mark.slow(but="gemm")
@pytest.mark.parametrize("name", MEASURED)
def test_within_twice_what_was_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs were read where they are when that was measured."""
    monkeypatch.setattr(select_schedule, "with_snapshots", lambda problem: None)
    measured, sizes = MEASURED[name]
    found = of_suite(name, **sizes).microseconds / 1000
    assert measured / 2 < found < measured * 2


def test_what_kernels_are_bound_by() -> None:
    (gemm,) = of_suite("gemm", ni=2000, nj=2300, nk=2600).kernels
    assert gemm.bound == "requests"
    assert {k.bound for k in of_suite("atax", m=1800, n=2200).kernels} == {"latency"}
    assert {k.bound for k in of_suite("jacobi-1d", tsteps=1000, n=4000).kernels} == {"launch"}
    assert {k.bound for k in of_suite("jacobi-2d", tsteps=1000, n=2800).kernels} == {"memory"}


ROWS = "int n, double A[n][n], double x[n], double y[n]", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
TREE = """
domain: "[n] -> {{ {name}[i, j] : 0 <= i < n and 0 <= j < n }}"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[n] -> [{{ {name}[i, j] -> [floor((i)/{rows})] }}]"
      child:
        mark: "thread[{threads}]"
        child: {below}
"""
ALONE = """
          schedule: "[n] -> [{{ {name}[i, j] -> [i] }}]"
          child:
            schedule: "[n] -> [{{ {name}[i, j] -> [j] }}]"
"""
TOGETHER = """
          schedule: "[n] -> [{{ {name}[i, j] -> [i] }}, {{ {name}[i, j] -> [j] }}]"
"""


def mapped(scop: Scop, below: str, rows: int, threads: str) -> MappedSchedule:
    name = scop.statements[0].name
    text = TREE.format(name=name, rows=rows, threads=threads, below=below.format(name=name))
    return MappedSchedule(isl.Schedule(text), "by hand")


def test_a_warp_for_each_row_beats_a_thread_for_each_row(scop: Callable[..., Scop]) -> None:
    """Rows of a matrix times a vector: lanes along a row read neighbours, and all multiprocessors have work."""
    program = scop(ROWS[0], ROWS[1] + " y[i] += A[i][j] * x[j];")
    alone = timed(program, mapped(program, ALONE, 32, "32"), (), H200, {"n": 4000})
    together = timed(program, mapped(program, TOGETHER, 8, "8,32"), (), H200, {"n": 4000})
    assert together.microseconds < alone.microseconds / 5
    floor = 8 * 4000**2 / H200.speed.memory * 1e6
    assert floor < together.microseconds < 1.5 * floor + 5
    by_array = {a.array: a for a in together.kernels[0].accesses}
    assert all(a.ideal for a in by_array.values())
    assert {a.array: a.ideal for a in alone.kernels[0].accesses} == {"A": False, "x": True, "y": True}


SUM = "[m, n] -> [{ S0[a, b, i, j] -> "
SUMS = """
domain: "[m, n] -> { S0[a, b, i, j] : 0 <= a < m and 0 <= b < m and 0 <= i < n and 0 <= j < n }"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "SUM[floor(a/8)] }, { S0[a, b, i, j] -> [floor(b/32)] }]"
      child:
        mark: "thread[8,32]"
        child:
          schedule: "SUM[a mod 8] }, { S0[a, b, i, j] -> [b mod 32] }]"
          child:
            schedule: "SUM[OUTER] }]"
            child:
              schedule: "SUM[i] }]"
              child:
                schedule: "SUM[j] }]"
"""


def test_tiles_that_stay_in_the_first_cache(scop: Callable[..., Scop]) -> None:
    """Of a sum over i and j, rows of x are fetched once in a tile of j, and not once for each i; then they are near."""
    arguments = "int n, int m, double C[m][m], double x[n][m], double y[n][m]"
    body = "for (int a = 0; a < m; a++) for (int b = 0; b < m; b++) for (int i = 0; i < n; i++) "
    program = scop(arguments, body + "for (int j = 0; j < n; j++) C[a][b] += x[j][b] - y[i][b];")
    trees = (SUMS.replace("SUM", SUM).replace("OUTER", outer) for outer in ("0", "floor(j/32)"))
    schedules = (MappedSchedule(isl.Schedule(tree), "by hand") for tree in trees)
    before, after = (timed(program, s, (), H200, {"n": 1000, "m": 2000}).kernels[0] for s in schedules)
    assert after.l2 < before.l2 / 10 and after.latency < before.latency / 2
    assert (after.requests, after.memory) == pytest.approx((before.requests, before.memory), rel=0.1)


def test_values_in_registers_make_no_requests(compiled: Callable[..., Any]) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) "
    arguments = "int n, double A[n][n], double B[n][n], double C[n][n]"
    found = estimate(compiled(arguments, body + "C[i][j] += A[i][k] * B[k][j];", schedule="classic"), n=1024)
    requests = {(a.array, a.kind.value): a.requests for a in found.kernels[0].accesses}
    assert requests["C", "read"] == requests["C", "write"] == pytest.approx(1024**2 / 32)
    assert requests["A", "read"] == requests["B", "read"] == pytest.approx(1024**3 / 32)


def test_an_element_that_the_loop_also_reads_elsewhere_is_stored(compiled: Callable[..., Any]) -> None:
    """Row i of the triangle reads elements that the same loop has written."""
    body = "for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) A[i][j] = A[i][j] + A[i][j - 1];"
    found = estimate(compiled("int n, double A[n][n]", body, schedule="classic"), n=1024)
    requests = {a.kind.value: a.requests for a in found.kernels[0].accesses}
    assert requests["write"] == pytest.approx(1024 * 1023 / 32)


def test_triangular_launches_are_sampled() -> None:
    """The first launches of a factorisation are the largest; together they are n of each kernel."""
    found = of_suite("lu", n=4000)
    assert sum(k.launches for k in found.kernels) == pytest.approx(3 * 4000, rel=0.01)
    assert max(k.blocks for k in found.kernels) > 10 * min(k.blocks for k in found.kernels if k.blocks > 1)


def test_a_slower_machine_takes_longer(compiled: Callable[..., Any]) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 2.0 * A[i][j];"
    program = compiled("int n, double A[n][n]", body, schedule="classic")
    assert estimate(program, "sm_70", n=8000).microseconds > 3 * estimate(program, "sm_90", n=8000).microseconds


def test_graphs_make_launches_cheap_where_there_are_many() -> None:
    many = of_suite("jacobi-2d", tsteps=4, n=100)
    few = of_suite("jacobi-2d", tsteps=3, n=100)
    replayed = H200.speed.replayed_us
    assert many.microseconds - many.in_graphs(replayed).microseconds == pytest.approx(8 * (2.5 - replayed))
    assert few.in_graphs(replayed) == few


def test_kernels_that_are_not_launched_have_no_line() -> None:
    plain = of_suite("jacobi-2d", tsteps=4, n=100)
    first, *others = plain.kernels
    lines = str(replace(plain, kernels=(replace(first, launches=0), *others))).splitlines()
    assert not any("0 x" in line or line.startswith("kernel 0") for line in lines) and "kernel 1" in lines[1]


# Cells of a second in units of 1e9, on an H200 (polybench/results/as-typed-h200-2026-11-30.md and
# stencils-without-sizes-h200-2026-11-30.md): kernels of one iteration, replayed as graphs, 120 iterations.
ONE_STEP = [
    ("stencilgen/j2d5pt", "double", 512, 128),
    ("stencilgen/j2d5pt", "float", 1024, 316),
    ("an5d/box2d1r", "double", 250, 36),
    ("an5d/box2d1r", "double", 8192, 246),
    ("an5d/box2d1r", "float", 512, 117),
    ("an5d/box3d1r", "double", 514, 162),
    ("an5d/star3d2r", "double", 514, 148),
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("program", "kind", "side", "measured"), ONE_STEP)
def test_kernels_of_one_iteration_are_within_a_fifth(program: str, kind: str, side: int, measured: float) -> None:
    defines = ["EXTRALARGE_DATASET", f"DATA_TYPE={kind}"]
    (scop,) = polytile.compile(SUITE.parent / f"{program}.c", defines=defines, schedule="classic").scops
    sizes = {p.name: side for p in scop.scop.parameters} | {"tsteps": 120}
    found = estimate(scop, **sizes).in_graphs(H200.speed.replayed_us)
    cells = (side - 2) ** (len(sizes) - 1) * 120
    assert 0.8 < cells / found.microseconds / 1e3 / measured < 1.25


def test_text() -> None:
    text = str(of_suite("atax", m=1792, n=2208))
    assert text.startswith("estimated ") and "m=1792, n=2208" in text
    assert "A read atax.c:24: 32 sectors/request, not coalesced" in text
    assert "bound by latency" in text
