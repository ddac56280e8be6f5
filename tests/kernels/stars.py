"""3-D stars of any radius, and what they compute, in C: the same operations in the same order."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polytile.runtime.emulator import compile_shared

from .common import Numbers

Terms = Mapping[tuple[int, int, int], float]

SOURCE = """
#include <cmath>
template <class T>
static void star(int nz, int ny, int nx, int rows, int pitch, int radius, int terms, const int *at, const T *c,
                 const T *a, T *b)
{
    auto inner = [=](int i, int n) { return i >= radius && i < n - radius; };
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x) {
                auto cell = [=](const int *d) { return a[((z + d[0]) * (long)rows + y + d[1]) * pitch + x + d[2]]; };
                if (!inner(z, nz) || !inner(y, ny) || !inner(x, nx)) continue;
                T sum = c[0] * cell(at);
                for (int k = 1; k < terms; ++k) sum = std::fma(c[k], cell(at + 3 * k), sum);
                b[(z * (long)rows + y) * pitch + x] = sum;
            }
}
#define STAR(T) extern "C" void star_##T(int nz, int ny, int nx, int rows, int pitch, int radius, int terms, \\
        const int *at, const T *c, const T *a, T *b) { star(nz, ny, nx, rows, pitch, radius, terms, at, c, a, b); }
STAR(float)
STAR(double)
"""


def star(radius: int) -> Terms:
    """No two terms alike, of mixed signs, with a sum near 1; the middle one first, which is not their order."""
    line = [i for i in range(-radius, radius + 1) if i]
    offsets = [(0, 0, 0), *((0, 0, i) for i in line), *((0, i, 0) for i in line), *((i, 0, 0) for i in line)]
    spread = np.random.default_rng(radius).random(len(offsets)) - 0.3
    return {at: round(float(c), 4) for at, c in zip(offsets, spread / spread.sum(), strict=True)}


def in_order(terms: Terms) -> list[tuple[int, int, int]]:
    """By planes; those of the middle plane along the row, then along the column."""
    return sorted(terms, key=lambda at: (at[0], at[1] != 0, at[1], at[2]))


class Reference:
    """The C program, compiled once."""

    def __init__(self, folder: Path) -> None:
        self.library = ctypes.CDLL(str(compile_shared(SOURCE, folder / "star.so", optimise="-O2")))

    def __call__(self, terms: Terms, steps: int, size: tuple[int, int, int], start: Numbers) -> Numbers:
        """`steps` steps of the first cells of `start`, along each axis; the others keep their values."""
        at = np.array(in_order(terms), np.int32)
        factors = np.array([terms[key] for key in in_order(terms)], start.dtype)
        step: Any = self.library["star_double" if start.dtype == np.float64 else "star_float"]
        now = start.copy()
        for _ in range(steps):
            after = now.copy()
            passed = [x.ctypes.data_as(ctypes.c_void_p) for x in (at, factors, now, after)]
            step(*size, *start.shape[1:], int(at.max()), len(terms), *passed)
            now = after
        return now
