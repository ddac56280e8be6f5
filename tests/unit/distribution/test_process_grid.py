"""Grids of ranks: all positions are owned once, and the fewest elements are exchanged, as Zhang and Mueller count."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import pairwise, product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.diagnostics import UsageError
from polytile.distribution.boxes import Reach, cuts, volume
from polytile.distribution.process_grid import (
    ProcessGrid,
    choose_grid,
    exchanged_elements,
    factorisations,
    most_parts,
)

RANKS = (1, 2, 3, 4, 6, 7, 8, 13, 16, 24, 27, 60, 64, 97, 210, 512, 1000, 1021, 2048, 4093, 4096)
NAMES = ("i", "j", "k")
EXTENTS = ((12301,), (12289, 12301), (12289, 12301, 12281))


def reach_of(axes: int, below: int = 1, above: int = 1) -> tuple[Reach, ...]:
    return ((below, above),) * axes


@pytest.mark.parametrize("extents", EXTENTS, ids=lambda e: f"{len(e)}d")
@pytest.mark.parametrize("ranks", RANKS)
def test_a_grid_is_chosen_at_once_and_its_parts_are_disjoint_and_complete(ranks: int, extents: tuple[int, ...]) -> None:
    began = time.process_time()
    grid = choose_grid(ranks, extents, reach_of(len(extents)), NAMES[: len(extents)])
    assert time.process_time() - began < 1
    assert grid.ranks == ranks and grid.extents == extents
    owned = [grid.owned(rank) for rank in range(ranks)]
    assert len(set(owned)) == ranks and sum(map(volume, owned)) == prod(extents)
    for axis, (extent, parts) in enumerate(zip(extents, grid.shape, strict=True)):
        # boxes are products of ranges that follow each other along each axis, so that different ones are disjoint
        bounds = sorted({box[axis] for box in owned})
        assert bounds == list(pairwise(cuts(extent, parts)))


def test_24_ranks_are_2_x_3_x_4_with_fewer_neighbours_than_27() -> None:
    few = choose_grid(24, (480, 480, 480), reach_of(3), NAMES)
    many = choose_grid(27, (480, 480, 480), reach_of(3), NAMES)
    assert sorted(few.shape) == [2, 3, 4] and many.shape == (3, 3, 3)
    assert few.shape[-1] == min(few.shape)  # the fewest cuts through contiguous rows
    assert max(map(few.neighbours, range(24))) == 17
    assert max(map(many.neighbours, range(27))) == 26


@settings(deadline=None)
@given(st.tuples(*[st.integers(1, 3)] * 3), st.tuples(*[st.integers(3, 9)] * 3))
def test_an_inner_rank_receives_what_the_formula_of_zhang_and_mueller_says(
    reach: tuple[int, int, int], own: tuple[int, int, int]
) -> None:
    """Of 3 x 3 x 3 ranks that own nx x ny x nz each the middle one has all neighbours."""
    (hi, hj, hk), (nx, ny, nz) = reach, own
    grid = ProcessGrid((3, 3, 3), (3 * nx, 3 * ny, 3 * nz))
    halo = tuple((h, h) for h in reach)
    faces = 2 * (hi * ny * nz + hj * nx * nz + hk * nx * ny)
    edges = 4 * (hi * hj * nz + hi * hk * ny + hj * hk * nx)
    assert volume(grid.stored(13, halo)) - volume(grid.owned(13)) == faces + edges + 8 * hi * hj * hk


@st.composite
def cut_axes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Reach, ...]]:
    """The extents of some axes, into how many parts they are cut, and halos that fit these or not."""
    axes = draw(st.integers(1, 3))
    shape = draw(st.tuples(*[st.integers(1, 5)] * axes))
    extents = draw(st.tuples(*[st.integers(1, 23)] * axes))
    return extents, shape, draw(st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 4))] * axes))


@settings(deadline=None)
@given(cut_axes())
def test_exchanged_elements_are_the_halos_of_all_ranks(
    found: tuple[tuple[int, ...], tuple[int, ...], tuple[Reach, ...]],
) -> None:
    extents, shape, reach = found
    grid = ProcessGrid(shape, extents)
    if fits(grid, reach):
        halos = (volume(grid.stored(r, reach)) - volume(grid.owned(r)) for r in range(grid.ranks))
        assert exchanged_elements(grid, reach) == sum(halos)


def fits(grid: ProcessGrid, reach: Sequence[Reach]) -> bool:
    """Whether each part of an axis that is cut is as thick as the halos along it."""
    owned = [grid.owned(rank) for rank in range(grid.ranks)]
    widest = [max(1, *halo) if parts > 1 else 0 for halo, parts in zip(reach, grid.shape, strict=True)]
    return all(end - first >= most for box in owned for (first, end), most in zip(box, widest, strict=True))


@settings(deadline=None)
@given(cut_axes())
def test_thin_parts_are_refused_and_the_error_says_how_many_ranks_fit(
    found: tuple[tuple[int, ...], tuple[int, ...], tuple[Reach, ...]],
) -> None:
    extents, shape, reach = found
    grid, names = ProcessGrid(shape, extents), NAMES[: len(extents)]
    if fits(grid, reach):
        grid.check(reach, names)
        return
    with pytest.raises(UsageError) as raised:
        grid.check(reach, names)
    said = re.match(r"(\d+) ranks cut the (\d+) positions of (\w) into parts of (\d+)", raised.value.message)
    hint = re.match(r"at most (\d+) ranks? along (\w), or fewer steps per exchange", raised.value.hint or "")
    assert said and hint and hint[2] == said[3]
    axis, most = names.index(said[3]), int(hint[1])
    assert (shape[axis], extents[axis], extents[axis] // shape[axis]) == (int(said[1]), int(said[2]), int(said[4]))
    ProcessGrid((most,), extents[axis:][:1]).check(reach[axis:][:1], names[axis:][:1])
    with pytest.raises(UsageError):
        ProcessGrid((most + 1,), extents[axis:][:1]).check(reach[axis:][:1], names[axis:][:1])


@settings(deadline=None)
@given(cut_axes(), st.integers(1, 60))
def test_the_grid_with_the_fewest_elements_then_neighbours_is_chosen(
    found: tuple[tuple[int, ...], tuple[int, ...], tuple[Reach, ...]], ranks: int
) -> None:
    extents, _, reach = found
    names = NAMES[: len(extents)]
    possible = [ProcessGrid(s, extents) for s in factorisations(ranks, len(extents))]
    possible = [g for g in possible if fits(g, reach)]
    if possible:
        chosen = choose_grid(ranks, extents, reach, names)
        least = min(exchanged_elements(g, reach) for g in possible)
        assert exchanged_elements(chosen, reach) == least
        neighbours = [max(map(g.neighbours, range(ranks))) for g in possible if exchanged_elements(g, reach) == least]
        assert max(map(chosen.neighbours, range(ranks))) == min(neighbours)
        return
    with pytest.raises(UsageError, match=f"no grid of {ranks} ranks fits") as raised:
        choose_grid(ranks, extents, reach, names)
    hint = raised.value.hint or ""
    limits = [int(n) for n in re.findall(r"(\d+)(?: ranks?)? along", hint)]
    assert limits == [most_parts(e, r) for e, r in zip(extents, reach, strict=True)]
    if len(extents) > 1:
        example = re.search(r"such as ([\dx ]+) = (\d+) ranks", hint)
        assert example and prod(map(int, example[1].split(" x "))) == int(example[2]) < ranks
        choose_grid(int(example[2]), extents, reach, names)


def test_the_words_of_the_errors() -> None:
    with pytest.raises(UsageError) as raised:
        choose_grid(6, (10,), ((3, 2),), NAMES[:1])
    assert raised.value.message == (
        "no grid of 6 ranks fits 10 positions: 6 ranks cut the 10 positions of i into parts of 1 or 2, but halos "
        "are 3 wide"
    )
    assert raised.value.hint == "at most 3 ranks along i, or fewer steps per exchange"
    with pytest.raises(UsageError) as raised:
        choose_grid(7, (5, 5), reach_of(2), NAMES[:2])
    expected = "at most 5 ranks along i and 5 along j, such as 2 x 3 = 6 ranks, or fewer steps per exchange"
    assert raised.value.hint == expected
    with pytest.raises(UsageError, match="parts of 0 or 1, but each rank must own some"):
        ProcessGrid((4,), (3,)).check(((0, 0),), NAMES[:1])


@settings(deadline=None)
@given(cut_axes())
def test_ranks_and_their_places_in_the_grid(
    found: tuple[tuple[int, ...], tuple[int, ...], tuple[Reach, ...]],
) -> None:
    _, shape, _ = found
    grid = ProcessGrid(shape, (100,) * len(shape))
    assert [grid.coordinates(r) for r in range(grid.ranks)] == list(product(*map(range, shape)))
    assert [grid.rank(grid.coordinates(r)) for r in range(grid.ranks)] == list(range(grid.ranks))
