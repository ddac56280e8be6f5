"""Messages of an exchange pair up, send what a rank has, and bring each halo element once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product, zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.distribution.boxes import (
    Box,
    Direction,
    Reach,
    boundary_and_interior,
    directions,
    grown,
    intersection,
    volume,
)
from polytile.distribution.plan import HaloExchange
from polytile.distribution.process_grid import ProcessGrid, choose_grid, exchanged_elements
from polytile.distribution.transfers import ExchangeMode, Transfer, received_box, rounds

from .test_process_grid import EXTENTS, NAMES, RANKS

Position = tuple[int, ...]
MODES = pytest.mark.parametrize("mode", ExchangeMode)


@st.composite
def exchanges_on_grids(draw: st.DrawFn) -> tuple[ProcessGrid, tuple[HaloExchange, ...]]:
    """Parts of different sizes with halos that differ by side, and one or two arrays that need some directions."""
    axes = draw(st.integers(1, 3))
    shape = draw(st.tuples(*[st.integers(1, 3 if axes == 3 else 4)] * axes))
    exchanges = tuple(draw(halo_exchanges(name, axes)) for name in "AB"[: draw(st.integers(1, 2))])
    need = [max(1, *(max(e.reach[axis]) for e in exchanges)) for axis in range(axes)]
    more = draw(st.tuples(*[st.integers(0, 3)] * axes))
    return ProcessGrid(shape, tuple(p * n + m for p, n, m in zip(shape, need, more, strict=True))), exchanges


@st.composite
def halo_exchanges(draw: st.DrawFn, name: str, axes: int) -> HaloExchange:
    every = sorted(directions(axes))
    wanted = draw(st.one_of(st.just(every), st.lists(st.sampled_from(every), unique=True)))
    return HaloExchange(name, tuple(wanted), draw(st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * axes)))


def positions(box: Box) -> set[Position]:
    return set(product(*(range(first, end) for first, end in box)))


def paired(mine: Sequence[Sequence[Transfer]], rank: int, theirs: Sequence[Sequence[Transfer]], other: int) -> bool:
    """Whether what each of two ranks sends to the other in each round is what that one receives, box by box."""
    for own, back in zip_longest(mine, theirs, fillvalue=()):
        here = [t for t in own if t.neighbour == other]
        there = [t for t in back if t.neighbour == rank]
        if len(here) != len(there) or len(here) > 1:
            return False
        if here and (here[0].sends, here[0].receives) != (there[0].receives, there[0].sends):
            return False
    return True


def wanted(grid: ProcessGrid, rank: int, exchange: HaloExchange) -> set[Position]:
    """The halo elements inside the domain in the directions that are asked for."""
    domain = tuple((0, extent) for extent in grid.extents)
    boxes = (received_box(grid.owned(rank), d, exchange.reach) for d in exchange.directions)
    return {at for box in boxes for at in positions(intersection(box, domain))}


@pytest.mark.slow(but=2)
@MODES
@settings(max_examples=60, deadline=None)
@given(exchanges_on_grids())
def test_ranks_send_what_they_have_and_receive_each_halo_element_once(
    mode: ExchangeMode, found: tuple[ProcessGrid, tuple[HaloExchange, ...]]
) -> None:
    grid, exchanges = found
    plans = [rounds(grid, rank, exchanges, mode) for rank in range(grid.ranks)]
    held = [{e.array: positions(grid.owned(rank)) for e in exchanges} for rank in range(grid.ranks)]
    for number in range(max(map(len, plans))):
        before = [{name: set(own) for name, own in arrays.items()} for arrays in held]
        for rank, plan in enumerate(plans):
            for transfer in plan[number] if number < len(plan) else ():
                assert paired(plan, rank, plans[transfer.neighbour], transfer.neighbour)
                assert transfer.neighbour == grid.neighbour(rank, transfer.direction)
                assert all(positions(sent.box) <= before[rank][sent.array] for sent in transfer.sends)
                for got in transfer.receives:
                    assert volume(got.box) and not positions(got.box) & held[rank][got.array]
                    held[rank][got.array] |= positions(got.box)
    for rank, exchange in product(range(grid.ranks), exchanges):
        needed = wanted(grid, rank, exchange) | positions(grid.owned(rank))
        assert needed <= held[rank][exchange.array]
        assert held[rank][exchange.array] <= positions(grown(grid.owned(rank), exchange.reach, grid.extents))
        if mode is not ExchangeMode.BASIC:
            assert needed == held[rank][exchange.array]


@pytest.mark.slow(but=20)
@MODES
@pytest.mark.parametrize("extents", EXTENTS, ids=lambda e: f"{len(e)}d")
@pytest.mark.parametrize("ranks", RANKS)
def test_messages_pair_on_the_grids_of_many_ranks(ranks: int, extents: tuple[int, ...], mode: ExchangeMode) -> None:
    """At a corner of the grid and at some ranks inside."""
    axes = len(extents)
    reach: tuple[Reach, ...] = ((2, 1), (0, 3), (1, 1))[:axes]
    star = tuple(d for d in directions(axes) if sum(map(abs, d)) == 1)
    exchanges = (HaloExchange("A", tuple(directions(axes)), reach), HaloExchange("B", star, reach[::-1]))
    grid = choose_grid(ranks, extents, ((3, 3),) * axes, NAMES[:axes])
    for rank in {0, ranks - 1, *random.Random(ranks).sample(range(ranks), min(ranks, 6))}:
        mine = rounds(grid, rank, exchanges, mode)
        others = {t.neighbour for each in mine for t in each}
        assert len(others) <= grid.neighbours(rank)
        for other in others:
            assert paired(mine, rank, rounds(grid, other, exchanges, mode), other)


@settings(max_examples=60, deadline=None)
@given(exchanges_on_grids())
def test_what_is_sent_behind_the_interior_lies_in_the_boundary(
    found: tuple[ProcessGrid, tuple[HaloExchange, ...]],
) -> None:
    """A boundary as thick as the halos of neighbours is all that has to be computed before messages start."""
    grid, exchanges = found
    for rank, exchange in product(range(grid.ranks), exchanges):
        thick = [(above, below) for below, above in exchange.reach]
        slabs, interior = boundary_and_interior(grid.owned(rank), thick)
        for each in rounds(grid, rank, (exchange,), ExchangeMode.OVERLAP):
            for sent in (sent for transfer in each for sent in transfer.sends):
                assert not volume(intersection(sent.box, interior))
                assert volume(sent.box) == sum(volume(intersection(sent.box, slab)) for slab in slabs)


@MODES
def test_all_that_is_counted_as_exchanged_is_received(mode: ExchangeMode) -> None:
    grid = choose_grid(24, (31, 29, 37), ((1, 2), (2, 2), (1, 1)), NAMES)
    exchange = HaloExchange("A", tuple(directions(3)), ((1, 2), (2, 2), (1, 1)))
    got = [b.box for r in range(24) for each in rounds(grid, r, (exchange,), mode) for t in each for b in t.receives]
    assert sum(map(volume, got)) == exchanged_elements(grid, exchange.reach)


def test_basic_has_one_box_a_side_where_all_directions_are_read() -> None:
    grid = ProcessGrid((3, 3, 3), (12, 12, 12))
    exchange = HaloExchange("A", tuple(directions(3)), ((1, 1),) * 3)
    each = rounds(grid, 13, (exchange,), ExchangeMode.BASIC)
    assert [[t.direction for t in one] for one in each] == [
        [(-1, 0, 0), (1, 0, 0)], [(0, -1, 0), (0, 1, 0)], [(0, 0, -1), (0, 0, 1)],
    ]  # fmt: skip
    assert [[b.box for b in one[0].receives] for one in each] == [
        [((3, 4), (4, 8), (4, 8))], [((3, 9), (3, 4), (4, 8))], [((3, 9), (3, 9), (3, 4))],
    ]  # fmt: skip


def test_basic_sends_a_corner_on_that_came_in_an_earlier_round() -> None:
    """One corner alone: it comes along axis 0 to the neighbour, which owns no such elements, and from there."""
    grid, corner = ProcessGrid((2, 2), (4, 4)), HaloExchange("A", ((1, 1),), ((1, 1), (1, 1)))
    first, second = rounds(grid, grid.rank((0, 1)), (corner,), ExchangeMode.BASIC)
    assert [b.box for t in first for b in t.receives] == [((2, 3), (2, 4))]
    assert [b.box for t in second for b in t.sends] == [((2, 3), (2, 3))]
    assert [b.box for t in rounds(grid, 0, (corner,), ExchangeMode.BASIC)[1] for b in t.receives] == [((2, 3), (2, 3))]


def test_diagonal_has_a_message_for_each_neighbour() -> None:
    grid = ProcessGrid((3, 3, 3), (12, 12, 12))
    everywhere: tuple[Direction, ...] = tuple(directions(3))
    (each,) = rounds(grid, 13, (HaloExchange("A", everywhere, ((1, 1),) * 3),), ExchangeMode.DIAGONAL)
    assert [t.direction for t in each] == sorted(everywhere) and len({t.neighbour for t in each}) == 26


@MODES
def test_one_rank_exchanges_nothing(mode: ExchangeMode) -> None:
    exchange = HaloExchange("A", tuple(directions(2)), ((1, 1),) * 2)
    assert rounds(ProcessGrid((1, 1), (4, 4)), 0, (exchange,), mode) == ()
