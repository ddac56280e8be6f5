"""Where lowering decides what the proof of a plan does not see: cells that exist under conditions on parameters, cells
that keep their element while the stream begins, and memory that ends at what is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from tests.bitwise import same_as_c

from .checks import compiled, refusal

UNDER_CONDITION = """
void f(int n, int m, int k, int steps, double A[n][m], double B[n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        if (k > 5)
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < m - 1; j++)
                    B[i][j] = 0.5 * A[i - 1][j] + 0.25 * A[i][j + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[i][j] = 0.5 * A[i][j] + B[i - 1][j];
    }
#pragma endscop
}
"""
ALL_UNDER_CONDITION = """
void f(int n, int m, int k, int steps, double A[n][m], double B[n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        if (k > 5) {
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < m - 1; j++)
                    B[i][j] = 0.5 * A[i - 1][j] + 0.25 * A[i][j + 1];
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < m - 1; j++)
                    A[i][j] = B[i][j];
        }
#pragma endscop
}
"""
FAR_BEHIND = """
void f(int n, int m, int k, int steps, double B[2][n][m], double A[n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 3; i < n - 3; i++)
            for (int j = 1; j < m - 1; j++)
                B[(t + 1) % 2][i][j] = 0.5 * B[t % 2][i + 1][j] + 0.25;
        for (int i = 3; i < n - 3; i++)
            for (int j = 1; j < m - 1; j++)
                A[i][j] = 0.5 * A[i][j] + 0.1 * B[(t + 1) % 2][i - 3][j - 1] + 0.2 * B[(t + 1) % 2][i + 3][j]
                          + 0.3 * B[t % 2][i][j];
    }
#pragma endscop
}
"""
OPEN_EXTENT = """
void f(int n, int m, int k, int steps, double A[][m], double C[][m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++)
                C[i][j] = 0.5 * C[i][j] + 0.25 * A[i + 1][j] + 0.125 * A[i][j - 1];
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++)
                A[i][j] = 0.5 * A[i][j] + C[i][j];
    }
#pragma endscop
}
"""
OPEN_VERSIONS = """
void f(int n, int m, int k, int steps, double A[][n])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 3; i < n - 1; i++)
            A[(t + 1) % 2][i] = 0.1 * t * A[t % 2][i - 3] + 0.25 * A[t % 2][i - 1];
#pragma endscop
}
"""
PLANES = {
    "a condition of one statement": UNDER_CONDITION,
    "a condition of all": ALL_UNDER_CONDITION,
    "reads far behind": FAR_BEHIND,
    "an open extent": OPEN_EXTENT,
}
SIZES = [
    {"n": n, "m": m, "k": k, "steps": steps} for n, m in ((40, 40), (9, 101)) for k, steps in ((2, 4), (7, 9))
]


@pytest.mark.slow(but="a condition of one statement")
@pytest.mark.parametrize("name", PLANES)
def test_planes(name: str) -> None:
    scop = compiled(PLANES[name], time_tile=2, tile=(8, 64))
    assert refusal(scop) is None
    same_as_c(scop, SIZES)


def test_lines_of_open_versions() -> None:
    scop = compiled(OPEN_VERSIONS, time_tile=2, tile=(64,))
    assert refusal(scop) is None
    same_as_c(scop, [*SIZES, {"n": 70, "m": 1, "k": 1, "steps": 9}])


@pytest.mark.slow(but="1-jacobi-2d")
@pytest.mark.parametrize("program", ["jacobi-1d", "jacobi-2d", "fdtd-2d", "heat-3d"])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_sizes_known_to_leave_no_cells_are_compiled(program: str, size: int) -> None:
    source = Path(__file__).resolve().parents[2] / f"polybench/polybench/{program}.c"
    names = [p.name for p in polytile.compile(source, schedule="classic").scops[0].scop.parameters]
    found = polytile.compile(source, schedule="overlapped", parameters=dict.fromkeys(names, size))
    assert not found.refusals
