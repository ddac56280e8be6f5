"""Plans of the stencils of GPU clusters for many numbers of ranks: made at once, halos cover reads, messages pair."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from functools import cache
from itertools import product

import pytest

from polytile.distribution.boxes import Box, are_disjoint, directions, grown, intersection, volume
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.planner import distribute
from polytile.distribution.process_grid import ProcessGrid, choose_grid
from polytile.distribution.transfers import ExchangeMode, received_box, rounds
from tests.reading import BENCHMARKS, read_once

from .test_process_grid import NAMES, RANKS
from .test_transfers import paired

EXTENTS = (24593, 24571, 24611)  # primes: no number of ranks divides them
Offset = tuple[int, ...]
STAR = tuple(d for d in directions(3) if sum(map(abs, d)) == 1)
READS: dict[str, tuple[Offset, ...]] = {
    "stencil-7pt": STAR,
    "stencil-13pt": (*STAR, *(tuple(2 * x for x in d) for d in STAR)),
    "himeno-19pt": tuple(d for d in directions(3) if sum(map(abs, d)) <= 2),
    "stencil-27pt": tuple(directions(3)),
}


@cache
def planned(name: str, steps: int) -> tuple[DistributionPlan, float]:
    """The plan, which is the same for any number of ranks, and the seconds that it took."""
    (scop,) = read_once(str(BENCHMARKS / "cluster" / f"{name}.c")).scops
    began = time.process_time()
    return distribute(scop, steps), time.process_time() - began


def some_of(grid: ProcessGrid) -> Iterable[int]:
    """The first rank, the last one, one in the middle, and another."""
    middle = grid.rank([parts // 2 for parts in grid.shape])
    return sorted({0, grid.ranks - 1, middle, random.Random(grid.ranks).randrange(grid.ranks)})


def shifted(box: Box, offset: Offset) -> Box:
    return tuple((first + d, end + d) for (first, end), d in zip(box, offset, strict=True))


@pytest.mark.slow(but=("stencil-7pt-1", "stencil-7pt-2", "stencil-7pt-3", "himeno-19pt-1"))
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("name", READS)
def test_a_plan_for_any_number_of_ranks_is_made_at_once(name: str, steps: int) -> None:
    plan, took = planned(name, steps)
    for ranks in RANKS:
        began = time.process_time()
        grid = choose_grid(ranks, EXTENTS, plan.halo, NAMES)
        for mode in ExchangeMode:
            rounds(grid, ranks // 2, plan.between, mode)
        assert took + time.process_time() - began < 1


@pytest.mark.slow(but="4093")
@pytest.mark.parametrize("ranks", RANKS)
def test_halos_cover_reads_and_messages_pair(ranks: int) -> None:
    for name, steps in product(READS, (1, 2, 3)):
        plan, _ = planned(name, steps)
        grid = choose_grid(ranks, EXTENTS, plan.halo, NAMES)
        for rank in some_of(grid):
            covered(plan, grid, rank, READS[name])
            for mode in ExchangeMode:
                mine = rounds(grid, rank, plan.between, mode)
                for other in {t.neighbour for each in mine for t in each}:
                    assert paired(mine, rank, rounds(grid, other, plan.between, mode), other)


def covered(plan: DistributionPlan, grid: ProcessGrid, rank: int, offsets: Iterable[Offset]) -> None:
    """Each read of a period finds its element: owned or received before the first step, computed before later ones."""
    (exchange,), (phase,) = plan.between, plan.phases
    owned, domain = grid.owned(rank), tuple((0, extent) for extent in grid.extents)
    got = [received_box(owned, d, exchange.reach) for d in exchange.directions if grid.neighbour(rank, d) is not None]
    there: list[Box] = [owned, *got]
    assert are_disjoint(there) and not any(volume(outside(box, grid.stored(rank, plan.halo))) for box in there)
    for later in reversed(range(plan.steps)):
        computed = grown(owned, phase.growth[later], grid.extents)
        for offset in offsets:
            read = intersection(shifted(computed, offset), domain)
            assert volume(read) == sum(volume(intersection(read, box)) for box in there)
        there = [computed]


def outside(box: Box, whole: Box) -> Box:
    """The box itself where it is not in the whole one, else an empty one."""
    return box if intersection(box, whole) != box else tuple((0, 0) for _ in box)
