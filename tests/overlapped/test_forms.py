"""Known iterated stencils in overlapped tiles compute bit by bit what C computes, without races.

A program runs at some of the pairs of a number of iterations and extents by default, at all of them with
`--full-matrix`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from polytile.ir.overlapped_tiles import OverlappedTiles
from tests.bitwise import same_as_c

from .checks import compiled, counts, extents, plan_of, refusal

FAMILIES = Path(__file__).parents[2] / "polybench"
FLAT = {  # file: iterations of a block, planes that a tile owns and its columns
    "polybench/jacobi-1d": (3, (32,)),
    "polybench/jacobi-2d": (3, (5, 32)),
    "polybench/fdtd-2d": (3, (7, 32)),
    "an5d/star2d1r": (5, (4, 64)),
    "an5d/star2d2r": (3, (6, 32)),
    "an5d/star2d3r": (2, (3, 32)),
    "an5d/star2d4r": (2, (5, 64)),
    "an5d/box2d1r": (4, (5, 32)),
    "an5d/box2d2r": (2, (5, 64)),
    "an5d/box2d3r": (2, (4, 32)),
    "stencilgen/j2d5pt": (4, (5, 32)),
    "stencilgen/j2d9pt": (2, (5, 64)),
    "stencilgen/j2d9pt-gol": (3, (5, 32)),
    "split/jacobi-1d-3pt": (5, (32,)),
    "split/jacobi-1d-5pt": (3, (64,)),
    "split/jacobi-1d-7pt": (2, (32,)),
    "split/poisson-9pt": (3, (5, 32)),
    "split/copy-back-9pt": (2, (3, 32)),
    "split/triangle-9pt": (3, (4, 32)),
    "split/one-sided-pair": (3, (32,)),
}


pytestmark = pytest.mark.usefixtures("emulator")


def sizes(plan: OverlappedTiles, every: bool) -> Iterator[dict[str, int]]:
    """Pairs of iterations and extents: all, or each of both at least once, and the widest with most iterations."""
    steps, widths = counts(plan.iterations), list(extents(plan))
    pairs = [(count, width) for count in steps for width in widths]
    some = [(count, widths[(k + 3) % 4]) for k, count in enumerate(steps)] + [(steps[-1], widths[-1])]
    for count, width in pairs if every else some:
        first, last, rest = width[0], width[-1], width[-1] + 1
        named = {"n": last, "nx": first, "ny": width[min(1, plan.dims - 1)], "nz": last}
        yield {"tsteps": count, "tmax": count, "T": count, "N": first, "M": rest, "L": last} | named


@pytest.mark.slow(but="split/jacobi-1d-7pt")
@pytest.mark.parametrize("program", FLAT)
def test_lines_and_planes(program: str, request: pytest.FixtureRequest) -> None:
    iterations, tile = FLAT[program]
    file = FAMILIES / f"{program}.c"
    scop = compiled(file.read_text(), str(file), time_tile=iterations, tile=tile)
    plan = plan_of(scop)
    assert plan.iterations == iterations and plan.tile == tile[-1:]
    same_as_c(scop, sizes(plan, request.config.getoption("--full-matrix")))


DEEP = {  # file: iterations of a block
    "polybench/heat-3d": 1,
    "cluster/stencil-7pt": 2,
    "stencilgen/j3d7pt": 2,
    "stencilgen/cheby": 3,
    "stencilgen/denoise": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("program", DEEP)
def test_space_of_three_dimensions(program: str) -> None:
    iterations = DEEP[program]
    file = FAMILIES / f"{program}.c"
    scop = compiled(file.read_text(), str(file), time_tile=iterations)
    assert plan_of(scop).iterations == iterations
    for n, steps in ((3, 1), (9, 2 * iterations + 1), (37, 4 * iterations + 1)):
        same_as_c(scop, [{"n": n, "nx": min(n, 11), "ny": n, "nz": n + 1, "tsteps": steps}])


PATCHES = {  # file: iterations of a block, warps, the tile, and whether warps wait late
    "an5d/star3d1r": (3, 4, (5, 16, 64), True),
    "an5d/star3d2r": (2, 4, (7, 24, 128), True),
    "an5d/box3d1r": (2, 4, (5, 8, 64), False),
    "stencilgen/j3d27pt": (2, 5, (4, 15, 64), True),
    "stencilgen/j3d13pt": (2, 11, (6, 11, 64), False),
}


@pytest.mark.slow
@pytest.mark.parametrize("program", PATCHES)
def test_warps_below_one_another(program: str, request: pytest.FixtureRequest) -> None:
    iterations, warps, tile, waits_late = PATCHES[program]
    file = FAMILIES / f"{program}.c"
    scop = compiled(file.read_text(), str(file), time_tile=iterations, tile=tile, block=(warps, 32))
    plan = plan_of(scop)
    assert (plan.iterations, plan.warps, plan.tile, plan.split_barrier) == (iterations, warps, tile[1:], waits_late)
    same_as_c(scop, sizes(plan, request.config.getoption("--full-matrix")))


REFUSED = {  # file: iterations of a block, and why there are none
    "stencilgen/cheby": (2, "cheby.c:46: 3 iterations of t are live at once, more than the 2 of a block"),
    "an5d/box2d3r": (2, "box2d3r.c:24: no tile of several iterations fits into registers and memory"),
    "split/two-neighbours": (4, "two-neighbours.c:20: all iterations leave values in A"),
    "split/two-steps-back": (
        5,
        "two-steps-back.c:21: `A[t][i] = 0.5 * A[t][i] + 0.25 * (A[t - 1][i + 1] + A[t ...` reads elements of A that "
        "no iteration before it writes",
    ),
}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("program", REFUSED)
def test_refused(program: str) -> None:
    iterations, reason = REFUSED[program]
    file = FAMILIES / f"{program}.c"
    scop = compiled(file.read_text(), str(file), time_tile=iterations)
    assert refusal(scop) == reason
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy != "overlapped"


def test_widths_of_refused_tiles_do_not_hinder_other_schedules() -> None:
    file = FAMILIES / "polybench/seidel-2d.c"
    scop = compiled(file.read_text(), str(file), time_tile=2, tile=(4, 32))
    schedule = scop.compilation.schedule
    assert schedule is not None and schedule.strategy not in ("overlapped", "split")


def test_no_kernel_runs_without_cells() -> None:
    """Arrays that nothing touches have no buffers: tiles would load from them."""
    file = FAMILIES / "split/jacobi-1d-7pt.c"
    scop = compiled(file.read_text(), str(file), time_tile=2)
    same_as_c(scop, ({"tsteps": 9, "n": n} for n in (1, 6, 7)))
