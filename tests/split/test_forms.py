"""Known forms of iterated stencils under the split schedule compute bit by bit what C computes, without races.

Some of the stars and boxes run by default; all of them, up to radius 4 in 3 dimensions, with `--full-matrix`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from polytile.scheduling.strategies.split.tile_sets import Cut
from tests.bitwise import same_as_c

from .checks import compiled, cuts, refusal, split_into
from .program import box, c_text, star

FAMILIES = Path(__file__).parents[2] / "polybench"
PROGRAMS = {  # file: the height of bands, and how wide tiles are at their narrow side
    "polybench/jacobi-1d": (4, (3,)),
    "polybench/jacobi-2d": (3, (3, 4)),
    "polybench/heat-3d": (1, (2, 3, 4)),  # bands of two steps in three dimensions: ("star", 3, 1)
    "polybench/fdtd-2d": (3, (3, 4)),
    "split/jacobi-1d-3pt": (5, (1,)),
    "split/jacobi-1d-5pt": (3, (2,)),
    "split/jacobi-1d-7pt": (2, (5,)),
    "split/poisson-9pt": (3, (2, 3)),
    "split/copy-back-9pt": (2, (2, 3)),
    "split/red-black-1d": (3, (3,)),
    "split/red-black-2d": (2, (2, 3)),
    "split/triangle-9pt": (3, (2, 2)),
    "split/one-sided-pair": (3, (2,)),
    "split/two-neighbours": (4, (2,)),
    "split/two-steps-back": (5, (1,)),
}
SHAPES = {"star": star, "box": box}
USUAL = [("star", 1, r) for r in (1, 2, 3, 4)] + [("box", 1, 4), ("star", 2, 4), ("box", 2, 2), ("star", 3, 1)]
ALL = [(shape, dims, radius) for dims in (1, 2, 3) for shape in SHAPES for radius in (1, 2, 3, 4)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All stars and boxes with `--full-matrix`, else some."""
    if "shape" in metafunc.fixturenames:
        metafunc.parametrize("shape", ALL if metafunc.config.getoption("--full-matrix") else USUAL, ids=str)


pytestmark = pytest.mark.usefixtures("emulator")


def sizes(found: Sequence[Cut]) -> Iterator[dict[str, int]]:
    """No steps to several bands of them, on extents below a tile's width and over more than two tiles."""
    height = found[0].height
    steps = sorted({0, 1, height - 1, height, height + 1, 3 * height + 2})
    below = [max(1, cut.width - 1) for cut in found]
    several = [2 * cut.period + 3 if k == len(found) - 1 else cut.period + 3 for k, cut in enumerate(found)]
    for count in steps:
        for extents in (below, several):
            first, last = extents[0], extents[-1]
            named = {"n": last, "nx": first, "ny": last} | dict(zip("NML", extents, strict=False))
            yield {"tsteps": count, "tmax": count, "T": count} | named


@pytest.mark.slow(but="split/red-black-1d")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str) -> None:
    height, tops = PROGRAMS[program]
    file = FAMILIES / f"{program}.c"
    found = cuts(file.read_text(), height, tops, str(file))
    same_as_c(split_into(file.read_text(), found, str(file)), sizes(found))


@pytest.mark.slow(but="('star', 1, 2)")
def test_stars_and_boxes(shape: tuple[str, int, int]) -> None:
    name, dims, radius = shape
    text = c_text(SHAPES[name](dims, radius))
    height = 3 if dims < 3 else 2
    found = cuts(text, height, (2, 3, 4)[-dims:])
    same_as_c(split_into(text, found), sizes(found))


ONE_PLACE = """void f(int T, int N, float A[T + 2][N], float B[T + 2][N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; 2 * i < N - 2; i++)
            A[t + 2][2 * i] = 0.45f * B[t + 1][2 * i + 2];
        for (int i = 2; i < N - 1; i++)
            B[t + 2][i] = 0.225f * A[t + 2][i + 1] + 0.25f * B[t + 1][i - 1];
        for (int i = 0; i < N - 2; i++)
            B[t + 2][i] = 0.225f * A[t][i + 1] + 0.25f * B[t + 2][i];
    }
#pragma endscop
}
"""


@pytest.mark.slow
def test_one_thread_runs_the_only_place_of_a_step() -> None:
    found = cuts(ONE_PLACE, 3, (1,))  # a growing tile begins with one place of the first statement, if any
    same_as_c(split_into(ONE_PLACE, found), sizes(found))


GAUSS_SEIDEL = """void f(int T, int N, double A[N])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            A[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
#pragma endscop
}
"""
MIRRORED = """void f(int T, int N, double A[N + 1])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 0; i <= N; i++)
            A[i] = 0.5 * A[N - i];
#pragma endscop
}
"""
MIRRORED_COPY = """void f(int T, int N, double A[N + 1], double B[N + 1])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 0; i <= N; i++)
            B[i] = 0.5 * A[N - i];
        for (int i = 0; i <= N; i++)
            A[i] = B[i];
    }
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            GAUSS_SEIDEL,
            "f.c:6: in one iteration of t, `A[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1])` depends on itself through A: "
            "the loop over i carries that",
        ),
        (
            MIRRORED,
            "f.c:6: in one iteration of t, `A[i] = 0.5 * A[N - i]` depends on itself through A: the loop over i "
            "carries that",
        ),
        (
            MIRRORED_COPY,
            "f.c:8: `A[i] = B[i]` depends on `B[i] = 0.5 * A[N - i]` through B and A over a distance that is not "
            "bounded",
        ),
    ],
    ids=["Gauss-Seidel in place", "mirrored in place", "mirrored"],
)
def test_refused(text: str, reason: str) -> None:
    assert refusal(compiled(text)) == reason


def test_seidel_2d_is_refused() -> None:
    file = FAMILIES / "polybench/seidel-2d.c"
    reason = refusal(compiled(file.read_text(), str(file)))
    assert reason is not None and "depends on itself through A: the loop over i or j carries that" in reason
