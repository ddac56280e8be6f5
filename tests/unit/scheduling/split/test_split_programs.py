"""The split strategy on programs: what it does not apply to and why, sizes that are asked for, and results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.diagnostics import UsageError
from tests.reading import shared

HEADER = "void f(int T, int N, double A[N], double B[N], double C[N][N], double D[2][N], double s[1])"


def program(body: str, header: str = HEADER) -> str:
    return f"{header}\n{{\n#pragma scop\n    for (int t = 0; t < T; t++) {{\n{body}\n    }}\n#pragma endscop\n}}\n"


JACOBI = program(
    """        for (int i = 1; i < N - 1; i++)
            B[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < N - 1; i++)
            A[i] = 0.3 * (B[i - 1] + B[i] + B[i + 1]);"""
)
TWO_PLANES = program(
    "        for (int i = 1; i < N - 1; i++) D[(t + 1) % 2][i] = D[t % 2][i - 1] + D[t % 2][i + 1];"
)
REFUSED: Mapping[str, tuple[str, str]] = {
    "in place": (
        program("        for (int i = 1; i < N - 1; i++)\n            A[i] = A[i - 1] + A[i + 1];"),
        "f.c:6: in one iteration of t, `A[i] = A[i - 1] + A[i + 1]` depends on itself through A: the loop over i "
        "carries that",
    ),
    "mirrored": (
        program(
            "        for (int i = 1; i < N - 1; i++) B[i] = A[N - i];\n"
            "        for (int i = 1; i < N - 1; i++) A[i] = B[i];"
        ),
        "over a distance that is not bounded",
    ),
    "rows of sums": (
        program("        for (int i = 0; i < N; i++)\n            for (int j = 0; j < N; j++) A[i] += C[i][j];"),
        "iterations write the same elements",
    ),
    "no steps": (
        program("        for (int i = 0; i < T; i++) C[t][i] = 2 * C[t][i];"),
        "f.c:5: iterations of the outermost loop, over t, do not depend on one another",
    ),
    "a scalar": (
        program("        for (int i = 1; i < N - 1; i++) A[i] = B[i] * s[0];\n        s[0] = A[1];"),
        "`A[i] = B[i] * s[0]` depends on `s[0] = A[1]` through A and s over a distance that is not bounded",
    ),
}


@shared
def compiled(text: str, **settings: Any) -> CompiledScop:
    (scop,) = polytile.compile(text, name="f.c", schedule="split", **settings).scops
    return scop


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_stencil_is_told_why(case: str) -> None:
    text, reason = REFUSED[case]
    state = compiled(text).compilation
    assert state.schedule is None or state.schedule.strategy != "split"
    notes = [remark.message for remark in state.remarks if "the split strategy found no schedule" in remark.message]
    assert len(notes) == 1 and reason in notes[0]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("steps", [0, 1, 3, 4, 5, 14])
def test_results_are_those_of_c(steps: int) -> None:
    for text in (JACOBI, TWO_PLANES):
        scop = compiled(text, strict=True, time_tile=4, tile=(20,))
        assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == "split"
        for size in (0, 1, 2, 3, 19, 20, 21, 45, 100):
            (report,) = scop.validate(on="emulator", parameters={"T": steps, "N": size}, seed=size)
            assert report.bitwise


def test_sizes_that_are_asked_for() -> None:
    text = compiled(JACOBI, time_tile=8, tile=(64,), block=(128,)).compilation.schedule_text()
    assert "floor((t)/8)" in text and "thread[128]" in text
    assert "floor((i)/98)" in text  # shrinks by 2 * 2 places a step, and by 2 within the last one: 64 - 30 + 64


def test_a_tile_too_narrow_for_its_height() -> None:
    with pytest.raises(UsageError, match="--tile: 30 is too narrow for --time-tile 8: a tile gets 30 narrower"):
        compiled(JACOBI, time_tile=8, tile=(30,))


@pytest.mark.parametrize("option", ["tile", "block"])
def test_fewer_sizes_than_dimensions_are_refused(option: str) -> None:
    program = Path(__file__).resolve().parents[4] / "polybench/polybench/heat-3d.c"
    with pytest.raises(UsageError, match=f"--{option}: 9,14 are 2 sizes for 3 dimensions of space"):
        polytile.compile(program, schedule="split", **{option: (9, 14)})
