"""What layers of blocks read again: the planes that neighbouring layers share, as far as L2 does not keep them."""

from __future__ import annotations

import pytest

import polytile
from polytile.scheduling.cost.block_layers import KEPT, fetched_again
from polytile.scheduling.cost.mapped_loops import kernels, statements
from polytile.scheduling.cost.statement_cost import Work
from tests.every_schedule import source

SIZES = {"n": 132, "m": 136, "l": 160}
PLANE = SIZES["m"] * SIZES["l"] * 8
ARGUMENTS = "int n, int m, int l, double A[n][m][l], double B[n][m][l], double C[n][m][l]"
LOOPS = "for (int i = 2; i < n - 2; i++) for (int j = 0; j < m; j++) for (int k = 0; k < l; k++)"


def again(body: str, l2_bytes: int, block: tuple[int, ...] = (2, 4, 32)) -> float:
    text = source(ARGUMENTS, f"{LOOPS} {body}")
    (scop,) = polytile.compile(text, schedule="classic", block=block, parameters=SIZES, points=(1, 1, 1)).scops
    state = scop.compilation
    assert state.schedule is not None
    (kernel,) = kernels(state.schedule.tree)
    return fetched_again([Work(state.scop, one, SIZES) for one in statements(kernel)], (), l2_bytes)


@pytest.mark.parametrize("block", [(2, 4, 32), (4, 2, 32), (8, 1, 32), (16, 1, 32)])
def test_layers_read_the_planes_of_their_neighbours(block: tuple[int, ...]) -> None:
    """128 planes in layers of `first`, each of which reads 4 more."""
    first = block[0]
    layers = 128 // first
    assert again("B[i][j][k] = A[i - 2][j][k] + A[i][j][k] + A[i + 2][j][k];", 0, block) == pytest.approx(
        (layers * (first + 4) - 132) * PLANE, rel=0.01
    )


def test_l2_keeps_layers_that_fit() -> None:
    body = "B[i][j][k] = A[i - 2][j][k] + A[i][j][k] + A[i + 2][j][k];"
    touched = (6 + 2) * PLANE
    assert again(body, round(touched / KEPT) + 4096) == 0
    assert again(body, round(touched / KEPT / 2)) == pytest.approx(again(body, 0) / 2, rel=0.05)


@pytest.mark.parametrize("body", ["B[i][j][k] = A[i][j][k];", "B[i][j][k] = A[i][j][k] + C[i][j][k] * B[i][j][k];"])
def test_nothing_is_shared_where_points_read_their_own_elements(body: str) -> None:
    assert again(body, 0) == pytest.approx(0, abs=PLANE // 100)


def test_arrays_add_up() -> None:
    one = again("B[i][j][k] = A[i - 2][j][k] + A[i + 2][j][k];", 0)
    assert again("B[i][j][k] = A[i - 2][j][k] + A[i + 2][j][k] + C[i + 1][j][k] + C[i - 1][j][k];", 0) > 1.4 * one
