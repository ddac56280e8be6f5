"""Stacks of emulated threads do not outlive runs: a process has so many mappings only."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile

SUM = """void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_runs_with_barriers_leave_few_mappings() -> None:
    (scop,) = polytile.compile(SUM, name="test.c", schedule="tiled").scops
    before = mappings()
    for seed in range(3):
        scop.validate(on="emulator", parameters={"n": 40}, seed=seed)
    assert mappings() - before < 60
