"""Slabs: time loops over three dimensions of space, of which the host cuts the outermost one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import polytile
from polytile.api import CompiledScop
from tests.every_schedule import source

INSIDE = "for (int i = 1; i < N - 1; i++) for (int j = 1; j < M - 1; j++) for (int k = 1; k < L - 1; k++)"
STAR = f"""
void f(int T, int N, int M, int L, double A[N][M][L], double B[N][M][L])
{{
#pragma scop
    for (int t = 0; t < T; t++) {{
        {INSIDE}
            B[i][j][k] = 0.2 * (A[i - 1][j][k] + A[i + 1][j][k]) + 0.3 * (A[i][j - 1][k + 1] + A[i][j + 1][k - 1]);
        {INSIDE}
            A[i][j][k] = 0.2 * (B[i - 1][j][k] + B[i + 1][j][k]) + 0.3 * (B[i][j - 1][k + 1] + B[i][j + 1][k - 1]);
    }}
#pragma endscop
}}
"""


@cache
def compiled(tile: tuple[int, ...] = (), time_tile: int = 0, sizes: tuple[tuple[str, int], ...] = ()) -> CompiledScop:
    options = {"schedule": "split", "strict": True, "tile": tile, "time_tile": time_tile, "parameters": dict(sizes)}
    return polytile.compile(STAR, name="f.c", **options).scops[0]


def explained(scop: CompiledScop) -> str:
    return "\n".join(scop.compilation.considered)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7])
def test_results_are_those_of_c(steps: int) -> None:
    scop = compiled((11,), 2)
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == "split"
    for size in (1, 2, 3, 10, 11, 12, 33):
        (report,) = scop.validate(on="emulator", parameters={"T": steps, "N": size, "M": 5, "L": 34}, seed=size)
        assert report.bitwise


@pytest.mark.slow
@pytest.mark.parametrize("points", [(1, 4, 1, 1), (1, 2, 2, 1), (1, 1, 8, 1)])
def test_threads_with_several_points_compute_what_c_does(points: tuple[int, ...]) -> None:
    settings = {"schedule": "split", "strict": True, "tile": 11, "time_tile": 2, "points": points, "block": (2, 2, 8)}
    (scop,) = polytile.compile(STAR, name="f.c", verify_passes=True, raise_bugs=True, **settings).scops
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == "split"
    assert all(text.count("loop[register_tile]") == 4 for text in [scop.compilation.schedule_text()])
    for steps, size in ((0, 12), (1, 1), (3, 11), (5, 33)):
        (report,) = scop.validate(on="emulator", parameters={"T": steps, "N": size, "M": 9, "L": 21}, seed=size)
        assert report.bitwise


def test_one_kernel_for_each_level_and_colour() -> None:
    text = compiled((11,), 2).compilation.schedule_text()
    assert text.count('mark: "kernel"') == 4
    assert "floor((i)/16)" in text  # 11 wide, narrower by 6: 11 + 5 to the next


@pytest.mark.slow
def test_planes_fill_the_cache_where_sizes_are_known() -> None:
    small = explained(compiled(sizes=(("N", 100), ("M", 100), ("L", 100))))
    large = explained(compiled(sizes=(("N", 1000), ("M", 1000), ("L", 1000))))
    assert "slabs 235 wide" in small  # 60% of 60 MB, planes of 2 * 80 000 bytes
    assert "bands of 1 steps, slabs 3 wide" in large


@pytest.mark.slow(but="60")
@pytest.mark.parametrize("size", [60, 120, 200, 400])
def test_slabs_are_not_chosen_where_one_step_is_faster(size: int) -> None:
    """Measured at 200: slabs 113 ms, one step a launch 107 (H100, double, one point a thread)."""
    heat = Path(__file__).parents[4] / "polybench" / "polybench" / "heat-3d.c"
    (scop,) = polytile.compile(heat, parameters={"n": size, "tsteps": 1000}).scops
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy != "split"
    assert any("split: estimated" in line for line in scop.compilation.considered)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_points_leave_blocks_in_a_mean_launch(dtype: str) -> None:
    """Measured (H100, graphs): double 88.3 ms with 4 points along the planes, 91.9 with 8, 100.5 with 2; float 54.2,
    56.8 and 80.1, and 58.7 with 4 x 2. A launch has a third or half of the planes, and half of that on average."""
    heat = Path(__file__).parents[4] / "polybench" / "polybench" / "heat-3d.c"
    defines = {"DATA_TYPE_IS_FLOAT": 1} if dtype == "float" else {}
    (scop,) = polytile.compile(heat, schedule="split", defines=defines, parameters={"n": 200, "tsteps": 1000}).scops
    chosen = [line for line in scop.compilation.considered if "(split): " in line and " points: " in line]
    assert len(chosen) == 4 and all("(split): 4 x 1 x 1 points" in line for line in chosen)


@pytest.mark.slow(but="0")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_sizes_that_are_known_and_leave_slabs_without_planes(size: int) -> None:
    """A mean launch of a slab has none, then."""
    star = "{0}[i - 1][j][k] + {0}[i + 1][j][k] + {0}[i][j - 1][k] + {0}[i][j + 1][k] + {0}[i][j][k]"
    inside = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) for (int k = 1; k < n - 1; k++)"
    text = source(
        "int t, int n, float A[n][n][n], float B[n][n][n]",
        f"for (int s = 0; s < t; s++) {{ {inside} B[i][j][k] = {star.format('A')};"
        f" {inside} A[i][j][k] = B[i][j][k]; }}",
    )
    program = polytile.compile(text, schedule="split", parameters={"n": size}, raise_bugs=True)
    for scop in program.scops:
        assert scop.validate(on="emulator", parameters={"n": size, "t": 3}, seed=size)
