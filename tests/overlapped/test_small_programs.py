"""Overlapped tiles of small programs against C, in the emulator, and their certificates."""

from __future__ import annotations

import json

import pytest

import polytile
from polytile.check.checker import problems
from tests.bitwise import same_as_c
from tests.time_tiles import tile_of

SQUARES = "int T, int N, double A[N][N], double B[N][N], double C[N][N]"


def nest(low: int, high: int, assignment: str) -> str:
    return f"for (int i = {low}; i < N - {high}; i++) for (int j = {low}; j < N - {high}; j++) {assignment}"


PROGRAMS = {  # arguments, and the body of the time loop
    "a field from no other one, read late": (
        SQUARES,
        nest(3, 3, "B[i][j] = C[i][j] * 0.5 + t;") + nest(3, 3, "A[i][j] = 0.5 * A[i][j] + B[i - 2][j] + B[i + 2][j];"),
    ),
    "offsets to one side": (
        SQUARES,
        nest(4, 4, "B[i][j] = A[i + 3][j] * 0.3 + 1;")
        + nest(4, 4, "A[i][j] = 0.5 * B[i - 2][j] + 0.25 * B[i][j - 1];"),
    ),
    "other cells of each array": (
        SQUARES,
        nest(1, 1, "B[i][j] = A[i + 1][j] * 0.3 + A[i][j - 1];")
        + nest(2, 3, "A[i][j] = 0.5 * B[i - 2][j] + 0.25 * B[i + 3][j + 2];"),
    ),
    "a row by a statement of its own": (
        SQUARES,
        "for (int j = 0; j < N; j++) A[0][j] = t + 0.5;"
        + nest(1, 0, "A[i][j] = A[i][j] + B[i][j] - B[i - 1][j];")
        + nest(0, 1, "B[i][j] = B[i][j] - 0.3 * (A[i + 1][j] - A[i][j + 1]);"),
    ),
    "three versions": (
        "int T, int N, double A[3][N][N]",
        nest(1, 1, "A[(t + 2) % 3][i][j] = 0.3 * A[(t + 1) % 3][i - 1][j] + 0.2 * A[t % 3][i][j + 1];"),
    ),
    "one dimension": (
        "int T, int N, double A[N], double B[N]",
        "for (int i = 2; i < N - 1; i++) B[i] = A[i - 2] * 0.3 + A[i + 1];"
        "for (int i = 1; i < N - 3; i++) A[i] = B[i + 3] * 0.5 + B[i];",
    ),
}


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("emulator")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_c(name: str) -> None:
    arguments, body = PROGRAMS[name]
    loop = f"for (int t = 0; t < T; t++) {{ {body} }}"
    text = f"void f({arguments})\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    result = polytile.compile(text, schedule="overlapped", time_tile=3, strict=True)
    (scop,) = json.loads(result.certificate)["scops"]
    assert tile_of(scop) and not list(problems(scop))
    same_as_c(result.scops[0], ({"T": count, "N": n} for count, n in ((0, 9), (5, 10), (6, 17), (13, 40))))
