"""Sums in scalars of their own iteration, under conditions on many loops: convolutions with a stride and padding."""

from __future__ import annotations

import pytest

from tests.every_schedule import same_in_every_schedule, source
from tests.parallel_loops import runs_in_many_threads

pytestmark = pytest.mark.usefixtures("emulator")

IMAGES = "int n, int c, int h, int w, int f, float X[n][c][h][w], float K[f][c][3][3], float b[f], float Y[n][f][h][w]"
LOOPS = (
    "for (int i = 0; i < n; i++) for (int k = 0; k < f; k++) for (int p = 0; p < (h + 1) / 2; p++)"
    " for (int q = 0; q < (w + 1) / 2; q++)"
)
BODIES = {
    "a condition": "float acc = 0; for (int l = 0; l < c; l++) for (int r = 0; r < 3; r++) for (int s = 0; s < 3; s++)"
    " { int y = 2 * p + r - 1, x = 2 * q + s - 1;"
    " if (y >= 0 && y < h && x >= 0 && x < w) acc += X[i][l][y][x] * K[k][l][r][s]; } Y[i][k][p][q] = acc;",
    "continue": "float acc = b[k]; for (int l = 0; l < c; l++) for (int r = 0; r < 3; r++)"
    " { int y = 2 * p + r - 1; if (y < 0 || y >= h) continue; for (int s = 0; s < 3; s++)"
    " { int x = 2 * q + s - 1; if (x < 0 || x >= w) continue; acc += X[i][l][y][x] * K[k][l][r][s]; } }"
    " Y[i][k][p][q] = acc > 0 ? acc : 0;",
    "a scalar of the function": "acc = 0; for (int l = 0; l < c; l++) for (int r = 0; r < 3; r++)"
    " for (int s = 0; s < 3; s++) if (2 * p + r >= 1 && 2 * p + r <= h && 2 * q + s >= 1 && 2 * q + s <= w)"
    " acc += X[i][l][2 * p + r - 1][2 * q + s - 1] * K[k][l][r][s]; Y[i][k][p][q] = acc;",
}
SIZES = (
    {"n": 0, "c": 1, "h": 3, "w": 2, "f": 1},
    {"n": 1, "c": 1, "h": 1, "w": 1, "f": 2},
    {"n": 2, "c": 2, "h": 7, "w": 6, "f": 3},
)


def text(name: str) -> str:
    return f"void f({IMAGES})\n{{\nfloat acc;\n#pragma scop\n{LOOPS} {{ {BODIES[name]} }}\n#pragma endscop\n}}\n"


ROWS = (
    "for (int i = 0; i < n; i++) for (int p = 0; p < (m + 1) / 2; p++) { double acc = 0; for (int r = 0; r < 3; r++)"
    " { int y = 2 * p + r - 1; if (y >= 0 && y < m) acc += X[i][y] * K[r]; } Y[i][p] = acc; }"
)


@pytest.mark.quick
def test_rows_run_in_many_threads() -> None:
    runs_in_many_threads(source("double X[n][m], double K[3], double Y[n][m]", ROWS), ({"n": 2, "m": 7},))


@pytest.mark.parametrize("name", BODIES)
def test_images_and_channels_run_in_many_threads(name: str) -> None:
    runs_in_many_threads(text(name), SIZES[1:])


@pytest.mark.parametrize("name", BODIES)
def test_every_schedule_computes_what_c_does(name: str) -> None:
    assert not same_in_every_schedule(text(name), SIZES, alone=False)
