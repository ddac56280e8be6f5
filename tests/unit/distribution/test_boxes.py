"""Parts of an axis, and boxes that are taken apart."""

from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.distribution.boxes import (
    Box,
    are_disjoint,
    boundary_and_interior,
    cuts,
    directions,
    grown,
    intersection,
    opposite,
    part_bounds,
    thinnest_part,
    volume,
)

reaches = st.tuples(st.integers(0, 4), st.integers(0, 4))


@st.composite
def boxes_with_sides(draw: st.DrawFn) -> tuple[Box, tuple[tuple[int, int], ...]]:
    axes = draw(st.integers(1, 3))
    firsts = draw(st.lists(st.integers(-3, 9), min_size=axes, max_size=axes))
    sizes = draw(st.lists(st.integers(0, 9), min_size=axes, max_size=axes))
    box = tuple((first, first + size) for first, size in zip(firsts, sizes, strict=True))
    return box, tuple(draw(st.lists(reaches, min_size=axes, max_size=axes)))


def positions(box: Box) -> set[tuple[int, ...]]:
    return set(product(*(range(first, end) for first, end in box)))


@settings(deadline=None)
@given(st.integers(1, 10_000), st.integers(1, 4096))
def test_parts_follow_each_other_and_differ_by_one_position_at_most(extent: int, parts: int) -> None:
    bounds = [part_bounds(extent, parts, number) for number in range(parts)]
    assert bounds == list(pairwise(cuts(extent, parts)))
    assert bounds[0][0] == 0 and bounds[-1][1] == extent
    assert {end - first for first, end in bounds} <= {extent // parts, -(-extent // parts)}
    assert thinnest_part(extent, parts) == extent // parts


@settings(deadline=None)
@given(boxes_with_sides())
def test_slabs_and_interior_part_a_box(found: tuple[Box, tuple[tuple[int, int], ...]]) -> None:
    box, sides = found
    slabs, interior = boundary_and_interior(box, sides)
    assert are_disjoint([*slabs, interior]) and all(volume(slab) for slab in slabs)
    covered = [at for part in (*slabs, interior) for at in positions(part)]
    assert sorted(covered) == sorted(positions(box))
    for at in positions(box):
        near = any(
            at[k] < first + below or at[k] >= end - above
            for k, ((first, end), (below, above)) in enumerate(zip(box, sides, strict=True))
        )
        assert near == (at not in positions(interior))


def test_slabs_that_would_meet_are_one() -> None:
    slabs, interior = boundary_and_interior(((0, 3), (0, 5)), ((2, 2), (1, 1)))
    assert slabs == (((0, 3), (0, 5)),) and not volume(interior)
    slabs, interior = boundary_and_interior(((0, 8), (0, 8)), ((1, 1), (1, 1)))
    assert slabs == (((0, 1), (0, 8)), ((7, 8), (0, 8)), ((1, 7), (0, 1)), ((1, 7), (7, 8)))
    assert interior == ((1, 7), (1, 7))


@settings(deadline=None)
@given(boxes_with_sides(), boxes_with_sides())
def test_volume_and_intersection_count_positions(a: tuple[Box, object], b: tuple[Box, object]) -> None:
    assert volume(a[0]) == len(positions(a[0]))
    if len(a[0]) == len(b[0]):
        both = positions(a[0]) & positions(b[0])
        assert positions(intersection(a[0], b[0])) == both
        assert are_disjoint([a[0], b[0]]) == (not both)


def test_a_grown_box_stays_within_the_extents() -> None:
    assert grown(((0, 4), (4, 8)), ((2, 2), (1, 3)), (9, 9)) == ((0, 6), (3, 9))


def test_directions_are_those_to_all_neighbours_and_back() -> None:
    assert [len(list(directions(axes))) for axes in (1, 2, 3)] == [2, 8, 26]
    for axes in (1, 2, 3):
        found = set(directions(axes))
        assert {opposite(d) for d in found} == found and (0,) * axes not in found
