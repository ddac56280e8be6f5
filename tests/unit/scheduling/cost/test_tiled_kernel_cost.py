"""Estimates of kernels with tiles: how they compare with what was measured, and their pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import polytile
from polytile.frontend.program import read_program
from polytile.ir.cell_layout import Layout
from polytile.ir.memory import Space
from polytile.ir.plan import Owner, Placement
from polytile.machine import machine_of
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.cost.addresses import Along
from polytile.scheduling.cost.machine_model import in_rounds, in_turns, reached, resident_blocks
from polytile.scheduling.cost.shared_requests import WIDE_TURNS, turns, vector_elements, wavefronts
from polytile.scheduling.cost.thread_reuse import shares_reads
from polytile.scheduling.cost.tile_shape_cost import TileShape, least_step, serial_step
from tests.benchmarks import compiled

SUITE = Path(__file__).resolve().parents[4] / "polybench" / "polybench"
H200 = machine_of("sm_90")
GEMM = {"ni": 2000, "nj": 2300, "nk": 2600}
SYMM = {"m": 2000, "n": 2600}

# Milliseconds on an H200, EXTRALARGE, double: tiles, threads, and the time of all kernels.
MEASURED: tuple[tuple[str, tuple[int, ...], tuple[int, ...], Mapping[str, int], float], ...] = (
    ("syrk", (64, 96, 16), (8, 16), {"n": 2600, "m": 2000}, 0.921),
    ("gemm", (64, 96, 16), (8, 16), GEMM, 1.387),
    ("gemm", (64, 64, 16), (16, 16), GEMM, 1.713),
    ("syr2k", (64, 96, 16), (8, 16), {"n": 2600, "m": 2000}, 2.098),
    ("symm", (64, 96, 16), (8, 16), SYMM, 9.84),  # half of the sums have no place in registers
)


def estimated(name: str, tile: tuple[int, ...], block: tuple[int, ...], sizes: Mapping[str, int]) -> float:
    settings = {"tile": tile, "block": block, "parameters": dict(sizes)}
    (scop,) = polytile.compile(SUITE / f"{name}.c", schedule="tiled", **settings).scops
    (line,) = (r for r in scop.compilation.considered if "estimated" in r and "chosen" in r)
    return float(line.split("estimated ")[1].split()[0]) / 1000


@pytest.mark.slow
def test_the_order_of_what_was_measured() -> None:
    found = [estimated(*row[:4]) for row in MEASURED]
    assert found == sorted(found)
    assert all(row[-1] / 1.6 < time < row[-1] * 1.6 for time, row in zip(found, MEASURED, strict=True))


def test_a_kernel_says_what_it_has_and_waits_for() -> None:
    (scop,) = polytile.compile(SUITE / "gemm.c", parameters=GEMM).scops
    assert scop.compilation.schedule is not None
    assert scop.compilation.schedule.strategy == "tiled (loop tree)"
    text = scop.explain()
    assert "kernel 0: C_acc" in text and "bound by arithmetic" in text
    assert "blocks on a multiprocessor (" in text and "turns/request of shared memory" in text


@pytest.mark.parametrize(("resident", "time"), [(1, 9 * 1.5), (2, 4 * 2 + 1.5), (3, 9), (9, 9)])
def test_blocks_hide_the_stalls_of_others(resident: int, time: float) -> None:
    assert in_rounds(9, resident, 1.0, 0.5) == time


def test_what_is_not_done_at_the_same_time() -> None:
    assert in_turns(4, 8) == in_turns(8, 4) == 9
    assert reached(8) < reached(24) < 1


def test_the_blocks_that_there_is_room_for() -> None:
    assert resident_blocks(H200, 256, 80, 16384) == 3
    assert resident_blocks(H200, 256, 255, 16384) == 1
    assert resident_blocks(H200, 64, 32, 100_000) == 2
    assert resident_blocks(H200, 1024, 255, 0) == 1


def test_turns_of_banks() -> None:
    assert turns(set(range(32)), 4) == 1 and turns(set(range(32)), 8) == 2
    assert turns({0}, 8) == 1  # a broadcast
    assert turns({16 * i for i in range(32)}, 8) == 32 and turns({17 * i for i in range(32)}, 8) == 2


PRODUCT = """
void f(int n, double C[n][n], double A[n][n], double B[n][n], double x[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""


def test_requests_to_a_shared_tile() -> None:
    (scop,) = read_program("f.c", PRODUCT).scops
    found = {r.array.name: r for r in references(scop, scop.statements[0]) if not r.access.writes}
    along = (Along((0, 1, 0), 16, 16), Along((1, 0, 0), 16, 2))  # j along x, then i
    cell = "{ [[b0, l0] -> A[i, k]] -> [i - 64 b0, k - 16 l0] }"
    rows = Placement("A_tile", "A", (("S0", 1),), "k0", Space.SHARED, Owner.BLOCK, cell, (64, 16))
    assert wavefronts(rows, found["A"], along, 3) == 2  # two rows, in the same banks
    # of 64 bits for each lane
    assert wavefronts(replace(rows, layout=Layout(pad=1)), found["A"], along, 3) == WIDE_TURNS
    columns = Placement("B_tile", "B", (("S0", 2),), "k0", Space.SHARED, Owner.BLOCK, cell.replace("A", "B"), (16, 64))
    assert wavefronts(columns, found["B"], along, 3) == WIDE_TURNS
    steps = [(0, 0, 1)]  # along k
    assert vector_elements(found["A"], rows, steps) == 2 and wavefronts(rows, found["A"], along, 3, 2) == 1
    assert vector_elements(found["A"], replace(rows, layout=Layout(pad=1)), steps) == 1  # rows are not aligned
    assert vector_elements(found["B"], columns, steps) == 1


def shape(tile: tuple[int, int], points: tuple[int, int], n: int, exact: bool = True) -> TileShape:
    blocks = -(-n // tile[0]) * -(-n // tile[1]) if exact else n * n / tile[0] / tile[1]
    return TileShape(points, (8, 16), 16, (1, 1), 1, 1, blocks, exact, 8)


def test_small_problems_have_smaller_tiles() -> None:
    large, small = ((64, 96), (8, 6)), ((32, 32), (4, 2))
    assert serial_step(shape(*large, 2300), H200) < serial_step(shape(*small, 2300), H200)
    assert serial_step(shape(*large, 2000, exact=False), H200) < serial_step(shape(*small, 2000, exact=False), H200)
    assert serial_step(shape(*small, 500), H200) < serial_step(shape(*large, 500), H200)


def test_the_arithmetic_is_a_lower_bound() -> None:
    shapes = [shape(*large, n) for large in (((64, 96), (8, 6)), ((32, 32), (4, 2))) for n in (500, 2300)]
    assert all(0 < least_step(one, H200) < serial_step(one, H200) for one in shapes)


def test_no_blocks_take_no_time() -> None:
    assert serial_step(shape((64, 96), (8, 6), 0), H200) == 0


def test_where_threads_share_what_they_read() -> None:
    texts = {
        "product": PRODUCT,
        "matrix and vector": PRODUCT.replace("for (int k = 0; k < n; k++)", "").replace(
            "C[i][j] += A[i][k] * B[k][j]", "x[i] += A[i][j] * B[0][j]"
        ),
        "points": PRODUCT.replace("for (int k = 0; k < n; k++)", "").replace(
            "C[i][j] += A[i][k] * B[k][j]", "C[i][j] = A[i][j] + x[j]"
        ),
    }
    found = {}
    for name, text in texts.items():
        (scop,) = polytile.compile(text, schedule="classic").scops
        assert scop.compilation.schedule is not None
        found[name] = shares_reads(scop.compilation.scop, scop.compilation.schedule.tree)
    assert found == {"product": True, "matrix and vector": False, "points": False}


KINDS = {
    "gemm": "tiled (loop tree)",
    "2mm": "tiled (loop tree)",
    "3mm": "tiled (loop tree)",
    "symm": "tiled (loop tree)",
    "syrk": "tiled (loop tree)",
    "syr2k": "tiled (loop tree)",
    "doitgen": "tiled (loop tree)",
    "covariance": "superposed and tiled (loop tree)",
    "correlation": "superposed and tiled (loop tree)",
    "atax": "superposed",
    "gesummv": "superposed",
    "mvt": "superposed",
    "jacobi-2d": "overlapped",
    "fdtd-2d": "overlapped",
    "heat-3d": "overlapped",
    "cholesky": "classic (fused)",
}


@pytest.mark.slow(but="gemm")
@pytest.mark.parametrize("name", KINDS)
def test_what_auto_takes(name: str) -> None:
    (scop,) = compiled(name).scops
    assert scop.compilation.schedule is not None
    assert scop.compilation.schedule.strategy == KINDS[name]
