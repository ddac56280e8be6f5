"""The space of Zhang and Mueller (CGO 2012), and how much of it a GPU leaves."""

from __future__ import annotations

import pytest

from polytile.autotuning.streaming_space import REGISTERS, SHARED, Template, few_points, paper_space
from polytile.machine import machine_of

H200 = machine_of("sm_90").shared_per_block
ENOUGH = 1 << 30
STAR = {REGISTERS: Template((2, 2), 8)}  # 7 points in double precision: one plane, and its halo of 1
BOX = {SHARED: Template((2, 2), 3 * 8)}  # 27 points: three planes
FAR_STAR = {SHARED: Template((4, 4), 5 * 8)}  # 13 points, all planes shared


def left(templates: dict[str, Template], shared_memory: int) -> int:
    return len(list(paper_space(templates, shared_memory).points()))


@pytest.mark.parametrize("templates", [STAR, BOX, FAR_STAR])
def test_the_paper_counts_544_points_before_limits(templates: dict[str, Template]) -> None:
    points = list(paper_space(templates, ENOUGH).points())
    assert len(points) == len(set(points)) == 544
    of_stars_and_boxes = paper_space({**STAR, **BOX}, ENOUGH)
    assert len(list(of_stars_and_boxes.points())) == 2 * 544


@pytest.mark.parametrize(
    "templates, small, large", [(STAR, 544, 544), (BOX, 348, 544), (FAR_STAR, 118, 502)], ids=["7", "27", "13"]
)
def test_shared_memory_leaves_some_of_them(templates: dict[str, Template], small: int, large: int) -> None:
    """16 and 48 KB are the paper's, of which an H200 has a multiple."""
    assert left(templates, 16 << 10) == small
    assert left(templates, 48 << 10) == large
    assert left(templates, H200) == 544


def test_threads_share_out_the_cells_of_a_block() -> None:
    for point in map(dict, paper_space(BOX, ENOUGH).points()):
        assert int(point["tile_x"]) % int(point["block_x"]) == 0
        assert int(point["tile_y"]) % int(point["block_y"]) == 0


def test_few_points_are_of_whole_warps() -> None:
    points = [dict(point) for point in few_points(STAR, H200).points()]
    assert len(points) == 18
    assert all(int(point["block_x"]) % 32 == 0 for point in points)
