"""Where overlapped tiles run all iterations for any sizes there is no kernel for what is left, which could never run:
validation in full asks for launches of each kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polytile.facts.loop_mapping import mapped_kernels, mappings_of
from tests.bitwise import same_as_c

from .checks import compiled, plan_of

pytestmark = pytest.mark.usefixtures("emulator")

POLYBENCH = Path(__file__).parents[2] / "polybench"


def planes(bound: str) -> str:
    """A stencil of a plane, with so many iterations."""
    return f"""
void f(int T, int n, double A[2][n][n])
{{
#pragma scop
    for (int t = 0; t < {bound}; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[(t + 1) % 2][i][j] = A[t % 2][i][j] + A[t % 2][i - 1][j] - A[t % 2][i][j + 1];
#pragma endscop
}}
"""


LARGER_FIRST = """
void f(int n, int m, int l, double A[n][m][l], double B[n][m][l], double C[n][m][l])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < l - 1; k++)
                B[i][j][k] = A[i][j][k] + A[i][j - 1][k] + A[i][j][k + 1];
    for (int i = 2; i < n - 2; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < l - 1; k++)
                C[i][j][k] = A[i][j][k] - A[i - 1][j + 1][k];
#pragma endscop
}
"""


def kernels(text: str, name: str = "f.c", **settings: Any) -> list[str]:
    """What kernels are called behind the name of the SCoP; all launch something when they are validated."""
    scop = compiled(text, name, **settings)
    plan_of(scop)
    assert all("not validated in full" not in result.line for result in scop.validate(on="emulator"))
    assert scop.program is not None
    return [kernel.name.removeprefix(f"{scop.name}_") for kernel in scop.program.kernels]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("where", ["shared", "registers"])
def test_kernels_of_one_step(where: str) -> None:
    """Each iteration is a turn of the host's loop."""
    file = POLYBENCH / "cluster" / "stencil-7pt.c"
    assert kernels(file.read_text(), str(file), planes=where) == ["in"]


@pytest.mark.slow(but="26-left1")
@pytest.mark.parametrize(("bound", "left"), [("24", []), ("26", ["k0"]), ("T", ["k0"])])
def test_pairs_of_blocks(bound: str, left: list[str]) -> None:
    """24 iterations are four pairs of blocks of three, 26 leave two."""
    assert kernels(planes(bound), time_tile=3) == ["in", "out", *left]


def test_loops_run_in_the_kernels_that_there_are() -> None:
    """No sizes of the schedule of single iterations are named, which nothing runs."""
    scop = compiled(planes("24"), time_tile=3)
    mapped = {mapping.kernel for loop in scop.loops for mapping in mappings_of(scop.compilation, loop)}
    assert mapped == {"f_scop0_in", "f_scop0_out"} and mapped_kernels(scop.compilation) == ()
    left = compiled(planes("26"), time_tile=3)
    assert [kernel.names for kernel in mapped_kernels(left.compilation)] == [("f_scop0_k0",)]


def test_sizes_that_are_all_known() -> None:
    assert kernels(planes("T"), time_tile=3, specialize=True, parameters={"T": 12, "n": 40}) == ["in", "out"]


def test_arrays_without_memory_leave_all_to_other_kernels() -> None:
    """With four planes the second sweep has no cell, and its array no memory: the kernels of all arrays do not run."""
    scop = compiled(LARGER_FIRST, planes="shared")
    assert plan_of(scop).once and scop.program is not None
    assert len(scop.program.kernels) > len(plan_of(scop).made)
    same_as_c(scop, [{"n": n, "m": 7, "l": 9} for n in (2, 3, 4, 5, 9)])
