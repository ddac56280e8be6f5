"""Memory that only kernels see comes from a pool of CUDA's where there is one, and from cudaMalloc elsewhere."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.runtime.emulator import EmulatorLibrary, compile_shared

SOURCE = """
void normal(int n, int m, double a[n][m], double x[m], double y[m])
{
#pragma scop
    double t[n];
    for (int i = 0; i < n; i++) {
        t[i] = 0;
        for (int j = 0; j < m; j++) t[i] += a[i][j] * x[j];
    }
    for (int j = 0; j < m; j++) {
        y[j] = 0;
        for (int i = 0; i < n; i++) y[j] += a[i][j] * t[i];
    }
#pragma endscop
}
"""
# Behind the headers: the program's own calls are counted.
COUNTED = """#include <mutex>

static int pools = 0, taken = 0, given = 0, plain = 0, lacking = LACKING;
extern "C" int count(int k) { return k == 0 ? pools : k == 1 ? taken : k == 2 ? given : plain; }
extern "C" void reset_device() { cudaDeviceReset(); }
#define cudaMemPoolCreate(...) (++pools, lacking == 1 ? cudaErrorNotSupported : cudaMemPoolCreate(__VA_ARGS__))
#define cudaMallocFromPoolAsync(...) \\
    (++taken, lacking == 2 ? cudaErrorMemoryAllocation : cudaMallocFromPoolAsync(__VA_ARGS__))
#define cudaFreeAsync(...) (++given, cudaFreeAsync(__VA_ARGS__))
#define cudaMalloc(...) (++plain, cudaMalloc(__VA_ARGS__))
"""


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("lacking", "counts"),
    [(0, (1, 3, 3, 9)), (1, (1, 0, 0, 12)), (2, (1, 3, 0, 12))],
    ids=["a pool", "no pools", "no memory in it"],
)
def test_temporaries_come_from_a_pool(lacking: int, counts: tuple[int, ...], emulator: None, tmp_path: Path) -> None:
    _, unit, _ = polytile.compile(SOURCE, name="normal.c", schedule="classic").write(tmp_path)
    text = unit.read_text()
    assert text.count("#include <mutex>\n") == 1
    unit.write_text(text.replace("#include <mutex>\n", COUNTED.replace("LACKING", str(lacking))))
    library = EmulatorLibrary.open(compile_shared(unit, tmp_path / "normal.so"))
    random = np.random.default_rng(1)
    a, x, y = random.random((30, 20)), random.random(20), np.zeros(20)
    entry = library.function("polytile_normal_scop0")
    for _ in range(3):
        assert entry(30, 20, *(ctypes.c_void_p(array.ctypes.data) for array in (a, x, y))) == 0
        assert np.allclose(y, a.T @ (a @ x))
    assert tuple(library.function("count")(k) for k in range(4)) == counts
    assert library.allocated_bytes() == 0
    library.function("reset_device")()
    assert entry(30, 20, *(ctypes.c_void_p(array.ctypes.data) for array in (a, x, y))) == 0
    assert library.function("count")(0) == 2, "another context has another pool"


def test_programs_without_temporaries_hold_nothing_of_pools() -> None:
    text = polytile.compile(
        SOURCE.replace("double t[n];", "").replace("x[m],", "x[m], double t[n],"), schedule="classic"
    ).cuda
    assert "Pool" not in text and "<map>" not in text
