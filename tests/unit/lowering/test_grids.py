"""Grids: more tiles than a grid dimension may have, offsets, and barriers between the tiles of one block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytile.ir.expr import For
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex
from polytile.ir.kernel import Barrier

LIMIT = 65535


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("rows", [LIMIT - 1, LIMIT, LIMIT + 1, 70000, 2 * LIMIT + 3])
def test_more_rows_than_blocks_along_y(compiled: Callable[..., Any], rows: int) -> None:
    found = compiled(
        "int n, int m, double A[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] += i + j;",
        tile=(1,),
    )
    A = np.zeros((rows, 2))
    found(n=rows, m=2, A=A)
    assert np.array_equal(A, np.arange(rows)[:, None] + np.arange(2.0))


@pytest.mark.usefixtures("emulator")
def test_more_planes_than_blocks_along_z(compiled: Callable[..., Any]) -> None:
    body = (
        "for (int i = 0; i < n; i++) for (int j = 0; j < 2; j++) for (int k = 0; k < 2; k++) A[i][j][k] += i + j + k;"
    )
    found = compiled("int n, double A[n][2][2]", body, tile=(1,))
    rows = 66000
    A = np.zeros((rows, 2, 2))
    found(n=rows, A=A)
    i, j, k = np.ogrid[:rows, :2, :2]
    assert np.array_equal(A, i + j + k)


@pytest.mark.usefixtures("emulator")
def test_rows_from_a_negative_index(compiled: Callable[..., Any]) -> None:
    body = "for (int i = -n; i < n; i++) for (int j = -2; j < m; j++) A[i + n][j + 2] = 100 * i + j;"
    found = compiled("int n, int m, double A[2 * n][m + 2]", body, tile=(3, 2))
    A = np.zeros((22, 7))
    found(n=11, m=5, A=A)
    assert np.array_equal(A, 100 * np.arange(-11.0, 11)[:, None] + np.arange(-2.0, 5))


def test_strides_over_y_and_z_but_not_over_x(compiled: Callable[..., Any]) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) A[i][j][k] = 1;"
    (kernel,) = compiled("int n, double A[n][n][n]", body).program.kernels
    strided = [n.iterator for n in loops(kernel.body)]
    assert sorted(strided) == ["bi", "bj"]
    assert [c.name for c in kernel.coordinates if isinstance(c.source, BlockIndex)] == ["bk"]


def loops(body: tuple[Any, ...]) -> list[For]:
    found: list[For] = []
    for stmt in body:
        if isinstance(stmt, For):
            found += [stmt, *loops(stmt.body)]
        elif hasattr(stmt, "body"):
            found += loops(stmt.body)
    return found


ROWS = """for (int i = 0; i < n; i++)
    for (int t = 0; t < T; t++) {
        for (int j = 0; j < n; j++) B[i][j] = A[i][n - 1 - j] + A[i][j];
        for (int j = 0; j < n; j++) A[i][j] = 0.5 * B[i][j] + 0.25 * B[i][n - 1 - j];
    }"""


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("block", [(1,), (3,), (32,), (128,)])
def test_one_block_for_each_row_with_barriers(compiled: Callable[..., Any], block: tuple[int, ...]) -> None:
    found = compiled("int n, int T, double A[n][n], double B[n][n]", ROWS, block=block, strict=True)
    (kernel,) = found.program.kernels
    assert kernel.barriers == (2 if block[0] > 1 else 0)
    for n in (0, 1, 2, 9, 40):
        for steps in (0, 1, 4):
            found.validate(on="emulator", parameters={"n": n, "T": steps}, seed=n)


def test_barriers_are_reached_by_all_threads(compiled: Callable[..., Any]) -> None:
    """No barrier stands under a condition on, or in a loop over, thread coordinates."""
    (kernel,) = compiled("int n, int T, double A[n][n], double B[n][n]", ROWS).program.kernels
    names = {c.name for c in kernel.coordinates if isinstance(c.source, ThreadIndex)}
    assert names
    assert not [path for path in barrier_paths(kernel.body) for n in path if any(t in repr(n) for t in names)]


def barrier_paths(body: tuple[Any, ...], above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The conditions and loop bounds around each barrier."""
    found: list[tuple[Any, ...]] = []
    for stmt in body:
        if isinstance(stmt, Barrier):
            found.append(above)
        for part in ("body", "then", "otherwise"):
            heads = tuple(getattr(stmt, h) for h in ("condition", "lower", "step") if hasattr(stmt, h))
            found += barrier_paths(getattr(stmt, part, ()), (*above, *heads))
    return found
