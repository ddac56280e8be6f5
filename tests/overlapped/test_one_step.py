"""Kernels of one step, whose blocks share planes, compute bit by bit what C computes, under all checks of the emulator:
stars and boxes, blocks of any shape, sizes below a tile, no multiples of it, and over several chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polytile.ir.time_tile import Exchange
from tests.bitwise import same_as_c

from .checks import compiled, plan_of

pytestmark = pytest.mark.usefixtures("emulator")

POLYBENCH = Path(__file__).parents[2] / "polybench"
SMALL: dict[str, Any] = {"tile": (4, 3, 16), "block": (3, 8)}  # two points along x
WIDE: dict[str, Any] = {"tile": (8, 32), "block": (2, 32)}  # four points along y; chunks as there is room
ODD: dict[str, Any] = {"tile": (6, 6, 15), "block": (2, 5)}  # no whole warp
FORMS = {
    "cluster/stencil-7pt": {"registers": (SMALL, WIDE, ODD), "shared": (SMALL, WIDE, ODD)},
    "cluster/stencil-13pt": {"registers": (WIDE, ODD), "shared": (SMALL,)},
    "cluster/stencil-27pt": {"shared": (SMALL, WIDE, ODD)},
    "cluster/himeno-19pt": {"shared": (SMALL, WIDE)},
    "an5d/star3d3r": {"registers": (SMALL,), "shared": (ODD,)},
    "an5d/star3d4r": {"registers": (WIDE,), "shared": (SMALL,)},
    "an5d/box3d2r": {"shared": (ODD,)},
    "an5d/star2d2r": {"registers": ({"tile": (5, 64), "block": 32},), "shared": ({"tile": (5, 96), "block": 32},)},
}
CASES = [(name, planes, k) for name, by in FORMS.items() for planes, asked in by.items() for k in range(len(asked))]


def sizes(halo: int, chunk: int, tile: tuple[int, ...]) -> list[dict[str, int]]:
    """A single cell; fewer than a halo; less than a tile; no multiple of it, over several."""
    widths = [(0, 0, 0), (1, 1, 1), (2, 3, 5), (2 * chunk + 1, 2 * tile[0] + 1, tile[-1] + 3)]
    found = [dict(zip(("nx", "ny", "nz"), (2 * halo + n for n in w), strict=True)) for w in widths]
    steps = (1, 2, 3, 4)
    return [{"tsteps": t, **one} for t, one in zip(steps, found, strict=True)]


@pytest.mark.slow(but="double-cluster/stencil-7pt-registers-2")
@pytest.mark.parametrize(("name", "planes", "k"), CASES)
@pytest.mark.parametrize("ctype", ["double", "float"])
def test_stencils(name: str, planes: str, k: int, ctype: str) -> None:
    asked = FORMS[name][planes][k]
    file = POLYBENCH / f"{name}.c"
    barriers = 1 + (k + len(name)) % 2
    text = file.read_text()
    text = f"#define DATA_TYPE_IS_FLOAT\n{text}" if ctype == "float" else text
    scop = compiled(text, str(file), planes=planes, barriers=barriers, read_only=k == 1, **asked)
    plan = plan_of(scop)
    exchange = Exchange.PLANES if planes == "shared" else Exchange.COLUMNS
    assert (plan.exchange, plan.barriers, plan.read_only) == (exchange, barriers, k == 1)
    assert scop.scop.array("A" if name != "cluster/himeno-19pt" else "p").element.name == ctype
    same_as_c(scop, sizes(max(plan.upper), plan.chunk or 6, plan.tile))


WAVE = """
void f(int T, int n, int m, int l, float A[3][n][m][l], float c[n][m][l])
{
#pragma scop
    for (int t = 2; t < T; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 2; j++)
                for (int k = 2; k < l - 1; k++)
                    A[t % 3][i][j][k] = 2 * A[(t + 2) % 3][i][j][k] - A[(t + 1) % 3][i][j][k]
                        + c[i][j][k] * (A[(t + 2) % 3][i + 1][j][k] - A[(t + 2) % 3][i][j + 2][k]
                                        + A[(t + 2) % 3][i][j][k - 2] - A[(t + 2) % 3][i - 1][j][k]);
#pragma endscop
}
"""


@pytest.mark.slow(but="shared")
@pytest.mark.parametrize("planes", ["shared", "registers"])
def test_two_inputs_and_another_array_with_halos_to_some_sides(planes: str) -> None:
    """The version before the last one is read at the cell alone, and is in registers."""
    scop = compiled(WAVE, planes=planes, tile=(4, 4, 8), block=(2, 8))
    plan = plan_of(scop)
    assert len(plan.inputs) == 2 and plan.lower == (1, 0, 2) and plan.upper == (1, 2, 0)
    same_as_c(scop, [{"T": t, "n": n, "m": m, "l": k} for t, n, m, k in [(3, 3, 4, 5), (6, 11, 14, 21), (4, 2, 9, 9)]])


DAG = """
void f(int n, int m, int l, double A[n][m][l], double B[n][m][l], double C[n][m][l], double D[n][m][l])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < l - 1; k++)
                B[i][j][k] = A[i][j][k] * D[i][j][k] + A[i - 1][j][k] + A[i + 1][j][k] - A[i][j - 1][k]
                    + A[i][j][k + 1];
    for (int i = 2; i < n - 2; i++)
        for (int j = 2; j < m - 2; j++)
            for (int k = 2; k < l - 2; k++)
                C[i][j][k] = B[i][j][k] + B[i - 1][j][k] - B[i + 1][j][k] + B[i][j - 1][k] * A[i][j][k - 1];
#pragma endscop
}
"""
SWEEP = """
void f(int n, int m, int l, float A[n][m][l], float B[n][m][l])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < l - 1; k++)
                B[i][j][k] = 0.3f * A[i][j][k] + A[i - 1][j][k] + A[i + 1][j][k] - A[i][j - 1][k] - A[i][j + 1][k]
                    + A[i][j][k - 1] + A[i][j][k + 1];
#pragma endscop
}
"""
WITHOUT_LOOP = [{"n": n, "m": m, "l": k} for n, m, k in [(1, 1, 1), (5, 5, 5), (13, 19, 38)]]


@pytest.mark.slow(but="sweep-registers")
@pytest.mark.parametrize("planes", ["shared", "registers"])
@pytest.mark.parametrize(("text", "kernels"), [(SWEEP, 1), (DAG, 2)], ids=["sweep", "dag"])
def test_without_a_loop_over_time(text: str, kernels: int, planes: str) -> None:
    """Arrays that nothing writes are loaded; a field is loaded by the kernel behind the one that makes it."""
    scop = compiled(text, planes=planes, tile=(5, 6, 16), block=(3, 16))
    plan = plan_of(scop)
    assert plan.once and len(plan.made) == kernels and len(plan.inputs) == kernels
    same_as_c(scop, WITHOUT_LOOP)


@pytest.mark.slow
@pytest.mark.parametrize("planes", ["shared", "registers"])
def test_arrays_in_turns_have_a_kernel_each(planes: str) -> None:
    file = POLYBENCH / "polybench/heat-3d.c"
    scop = compiled(file.read_text(), str(file), planes=planes, tile=(7, 8, 16), block=(4, 16))
    plan = plan_of(scop)
    assert plan.in_place and [s.iteration for s in plan.inputs] == [-1, 0] and not plan.shadows
    same_as_c(scop, [{"tsteps": t, "n": n} for t, n in [(1, 2), (2, 5), (3, 21)]])


UPDATE = """
void f(int T, int n, int m, int l, double A[n][m][l], double B[n][m][l])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    B[i][j][k] = A[i - 1][j][k] + A[i + 1][j][k] + A[i][j - 1][k] - A[i][j][k + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    A[i][j][k] = 0.5 * A[i][j][k] + 0.1 * (B[i][j - 1][k] + B[i][j][k]);
    }
#pragma endscop
}
"""


def test_a_thread_overwrites_the_cell_that_it_has_loaded() -> None:
    """Of which no other thread reads anything; nor does it go through the read-only path."""
    scop = compiled(UPDATE, planes="registers", read_only=True, tile=(5, 6, 16), block=(3, 16))
    plan = plan_of(scop)
    assert len(plan.made) == 2 and not plan.read_only
    same_as_c(scop, [{"T": t, "n": n, "m": m, "l": k} for t, n, m, k in [(1, 3, 3, 3), (3, 13, 14, 21)]])
