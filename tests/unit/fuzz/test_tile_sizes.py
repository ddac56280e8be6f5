"""Sizes around the tiles of a compiled program."""

from __future__ import annotations

from collections.abc import Mapping

import polytile
from polytile.fuzz.ptx import check_ptx
from polytile.fuzz.trial import sizes_by_tiles
from polytile.ir.host import HostProgram

COPY = """
void copy(int n, int m, double a[n][m], double b[n][m]) {
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = b[i][j];
#pragma endscop
}
"""


def program() -> HostProgram:
    (found,) = polytile.compile(COPY, tile=(24, 40), schedule="classic").programs
    return found


def test_sizes_are_around_tiles() -> None:
    found = [sizes_by_tiles(program(), {"n": 3, "m": 5}, lambda sizes: sizes, seed) for seed in range(40)]
    values = {value for sizes in found if sizes is not None for value in sizes.values()}
    assert {0, 1, 39, 41, 81, 25, 49} <= values


def test_none_fit() -> None:
    def none(_: Mapping[str, int]) -> None: ...

    assert sizes_by_tiles(program(), {"n": 3, "m": 5}, none, 1) is None


def test_parameters_that_are_no_sizes() -> None:
    """Found by `polytile fuzz --seed 412 --only 17`."""
    text = COPY.replace("void", "int").replace("#pragma scop", "int k = 3;\n#pragma scop")
    text = text.replace("j < m", "j < m - k").replace("#pragma endscop", "#pragma endscop\n    return k;")
    (found,) = polytile.compile(text, schedule="classic").programs
    assert "k" in {p.name for p in found.parameters}
    assert sizes_by_tiles(found, {"n": 3, "m": 5}, lambda sizes: sizes, 1) is None


def test_work_is_bounded() -> None:
    found = sizes_by_tiles(program(), {}, lambda sizes: dict.fromkeys(sizes, 10**6), 1)
    assert found is None


def test_ptx_of_sound_kernels_is_taken() -> None:
    check_ptx('extern "C" __global__ void f(double *a) { a[threadIdx.x] = 1; }')
