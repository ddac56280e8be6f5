"""Stencils of many shapes, and what they compute, in C: the same operations in the same order."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polytile.ir.expr import DOUBLE, CType
from polytile.runtime.emulator import compile_shared

from .common import Numbers

Terms = Mapping[tuple[int, int], float]  # coefficients by offset of row and column

SOURCE = """
#include <cmath>
template <class T>
static int stencil(int rows, int columns, int pitch, int radius, int terms, const int *at, const T *c, const T *a, T *b)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            const T *cell = a + (long)i * pitch + j;
            T sum = *cell;
            if (i >= radius && i < rows - radius && j >= radius && j < columns - radius) {
                sum = c[0] * cell[(long)at[0] * pitch + at[1]];
                for (int k = 1; k < terms; ++k)
                    sum = std::fma(c[k], cell[(long)at[2 * k] * pitch + at[2 * k + 1]], sum);
            }
            b[(long)i * pitch + j] = sum;
        }
    return 0;
}
extern "C" int stencil_double(int rows, int columns, int pitch, int radius, int terms, const int *at, const double *c,
                              const double *a, double *b)
{
    return stencil(rows, columns, pitch, radius, terms, at, c, a, b);
}
extern "C" int stencil_float(int rows, int columns, int pitch, int radius, int terms, const int *at, const float *c,
                             const float *a, float *b)
{
    return stencil(rows, columns, pitch, radius, terms, at, c, a, b);
}
"""


def star(radius: int) -> Terms:
    """Terms along the axes, no two alike."""
    line = range(-radius, radius + 1)
    return _coefficients([(i, 0) for i in line if i] + [(0, j) for j in line])


def box(radius: int) -> Terms:
    """Terms for all cells of a square, no two alike."""
    line = range(-radius, radius + 1)
    return _coefficients([(i, j) for i in line for j in line])


def _coefficients(offsets: list[tuple[int, int]]) -> Terms:
    """Of mixed signs, with a sum near 1, so that values stay as they are."""
    spread = np.random.default_rng(len(offsets)).random(len(offsets)) - 0.3
    return {at: round(float(c), 4) for at, c in zip(offsets, spread / spread.sum(), strict=True)}


def reach_of(terms: Terms) -> int:
    """The radius: how far away, in rows or columns, the farthest cell is."""
    return max(abs(offset) for at in terms for offset in at)


class Reference:
    """The C program, compiled once."""

    def __init__(self, folder: Path) -> None:
        self.library = ctypes.CDLL(str(compile_shared(SOURCE, folder / "stencil.so", optimise="-O2")))

    def __call__(self, terms: Terms, element: CType, steps: int, columns: int, start: Numbers) -> Numbers:
        """`steps` steps from `start`, whose rows are as far apart as they are long."""
        radius = reach_of(terms)
        at = np.array(sorted(terms), np.int32)
        factors = np.array([terms[key] for key in sorted(terms)], start.dtype)
        step: Any = self.library["stencil_double" if element == DOUBLE else "stencil_float"]
        now = start.copy()
        for _ in range(steps):
            after = now.copy()
            passed = [x.ctypes.data_as(ctypes.c_void_p) for x in (at, factors, now, after)]
            step(start.shape[0], columns, start.shape[1], radius, len(terms), *passed)
            now = after
        return now
