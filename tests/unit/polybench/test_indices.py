"""The SCoPs whose times are measured beside CuPy's and cuSPARSE's: they have kernels, which compute what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest

from polybench.indices import SOURCES, program


@pytest.mark.slow(but=("gather-double", "histogram-float"))
@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("what", sorted(SOURCES))
def test_validates(what: str, type: str) -> None:
    scop = program(what, type).scops[0]
    assert scop.program is not None
    assert scop.validate(on="emulator", sanitize="all")


def test_histogram_counts() -> None:
    v = np.random.default_rng(3).integers(0, 7, 500, dtype=np.int32)
    h = np.zeros(7, np.int32)
    program("histogram", "int").scops[0](h=h, v=v, on="emulator")
    assert h.tolist() == np.bincount(v, minlength=7).tolist()


def test_product_of_rows_without_entries() -> None:
    row = np.array([0, 0, 2, 2, 3], np.int32)
    column, a = np.array([1, 3, 0], np.int32), np.array([2.0, 3.0, 5.0])
    x, y = np.array([1.0, 10.0, 100.0, 1000.0]), np.full(4, -1.0)
    program("csr", "double").scops[0](y=y, x=x, a=a, column=column, row=row, on="emulator")
    assert y.tolist() == [0.0, 3020.0, 0.0, 5.0]
