"""Sizes of split tiles in registers: the height of bands, the warps of a block, the cells of a thread.

A thread has registers for a few cells of each array; what a tile loses at its sides as it shrinks is work of others.
Higher bands fetch tiles less often, lower ones lose less. For boxes of S cells and periods of P places along each of d
dimensions, a step of a band runs 2^d prod(S) cells for prod(P) places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.split_plan import SplitPlan
from polytile.machine import MAX_BLOCK_THREADS, WARP_SIZE
from polytile.scheduling.analysis.stencil_form import StencilForm
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.split_extents import SplitExtents
from polytile.scheduling.cost.split_time import SplitCost
from polytile.scheduling.strategies.split.cone import Cone, whole_cones
from polytile.scheduling.strategies.split.register_tiles import (
    NoRegisterTilesError,
    points_for,
    stencil_accesses,
    touched,
    with_sizes,
)
from polytile.scheduling.strategies.split.sizes import SplitSizes, asked_cuts, box_cut, spread_sizes
from polytile.scheduling.strategies.split.tile_sets import Cut

HEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 40, 48, 60, 62, 64, 80, 96, 120, 160, 192, 240)


@dataclass(frozen=True, slots=True)
class RegisterTiles:
    """A plan, and how its dimensions are cut."""

    plan: SplitPlan
    sizes: SplitSizes


def register_tiles(
    problem: Problem, form: StencilForm, cones: Sequence[Cone]
) -> tuple[RegisterTiles | None, str]:
    """Tiles in registers, whose sides move by whole places a step, or why there are none. Raises UsageError where sizes
    that are asked for do not fit together."""
    try:
        whole = whole_cones(form, cones)
        return _sized(problem, stencil_accesses(problem, form, whole), whole), ""
    except NoRegisterTilesError as error:
        return None, str(error)


def _sized(problem: Problem, plan: SplitPlan, cones: Sequence[Cone]) -> RegisterTiles:
    choices = problem.choices
    threads = spread_sizes("--block", choices.block, plan.dims)
    tile = spread_sizes("--tile", choices.tile, plan.dims)
    if (threads and threads[-1] % WARP_SIZE) or (plan.dims == 2 and threads and threads[-1] != WARP_SIZE):
        raise NoRegisterTilesError(f"threads of a block are not {WARP_SIZE} lanes across")
    found = list(_Search(problem, plan, cones).candidates(threads, tile))
    if not found:
        raise NoRegisterTilesError("the registers of a block have no room for tiles of this height or width")
    return min(found, key=lambda one: one.cost.step_seconds).tiles


@dataclass(frozen=True, slots=True)
class _Priced:
    tiles: RegisterTiles
    cost: SplitCost


class _Search:
    """Sizes for which the values of tiles fit into the registers of a block."""

    def __init__(self, problem: Problem, plan: SplitPlan, cones: Sequence[Cone]) -> None:
        barriers = plan.dims == 2 and problem.machine.tuning.split.split_barriers
        self.problem, self.cones = problem, cones
        self.plan = replace(plan, split_barrier=True) if barriers else plan
        self.extents = SplitExtents.of(plan, problem.scop, problem.machine, problem.options.parameters)
        self.fitting: dict[tuple[_Block, tuple[int, ...]], bool] = {}

    def candidates(self, threads: Sequence[int], tile: Sequence[int]) -> Iterator[_Priced]:
        plan, cones, period = self.plan, self.cones, self.plan.period
        asked = self.problem.choices.time_tile
        if asked % period:
            raise NoRegisterTilesError(f"bands of {asked} steps begin with different versions of arrays")
        heights = [asked] if asked else [h for h in HEIGHTS if h % period == 0]
        blocks = list(_blocks(plan.dims, threads))
        for height in heights:
            if tile:
                cuts = asked_cuts(cones, height, tile)
                for block in blocks if threads else [_Block(8 if plan.dims == 2 else 1)]:
                    points = points_for(touched(plan, cuts), block.tile_warps(plan.dims))
                    yield from self._if_fits(cuts, block, points)
                continue
            room = touched(plan, tuple(box_cut(cone, 1, height) for cone in cones))
            for block, points in ((b, p) for b in blocks for p in _points(plan.dims)):
                tops = [1 + have - size for size, have in zip(room, block.cells(points), strict=True)]
                if min(tops) > 0 and self.fitting.get((block, points), True):
                    cuts = tuple(box_cut(cone, top, height) for cone, top in zip(cones, tops, strict=True))
                    yield from self._if_fits(cuts, block, points)

    def _if_fits(self, cuts: Sequence[Cut], block: _Block, points: tuple[int, ...]) -> Iterator[_Priced]:
        sized = with_sizes(self.plan, cuts, block.warps, points, together=block.together)
        cost = SplitCost(sized, self.problem.scop, self.problem.machine, self.extents)
        if (block, points) not in self.fitting:
            self.fitting[block, points] = self._fits(block, cost)
        if self.fitting[block, points]:
            threads = (WARP_SIZE * block.warps,) if sized.dims == 1 else (block.warps, WARP_SIZE)
            yield _Priced(RegisterTiles(sized, SplitSizes(tuple(cuts), threads)), cost)

    def _fits(self, block: _Block, cost: SplitCost) -> bool:
        """Whether multiprocessors have such blocks: it takes neither the height of bands nor the widths of tiles."""
        fits = cost.registers <= self.problem.machine.tuning.split.most_registers
        fits = fits and cost.shared_bytes <= self.problem.options.shared_memory
        fits = fits and WARP_SIZE * block.warps <= MAX_BLOCK_THREADS and not cost.spills
        return fits and cost.blocks_at_once > 0


@dataclass(frozen=True, slots=True)
class _Block:
    """Warps, in one dimension `together` in one tile or with a tile each."""

    warps: int
    together: bool = False

    def tile_warps(self, dims: int) -> int:
        return self.warps if dims == 2 or self.together else 1

    def cells(self, points: tuple[int, ...]) -> tuple[int, ...]:
        """The cells of a tile along each dimension, by those of a thread."""
        if len(points) == 2:
            return self.warps * points[0], WARP_SIZE * points[1]
        return (self.tile_warps(1) * WARP_SIZE * points[0],)


def _blocks(dims: int, threads: Sequence[int]) -> Iterator[_Block]:
    """Blocks of the threads that are asked for, for one tile, or those that are tried."""
    if dims == 2:
        yield from map(_Block, threads[:1] or (4, 8, 12, 16))
        return
    if threads:
        yield _Block(threads[0] // WARP_SIZE, together=threads[0] > WARP_SIZE)
        return
    yield from (_Block(warps) for warps in (1, 4))
    yield from (_Block(warps, together=True) for warps in (2, 4, 8, 16))


def _points(dims: int) -> Iterator[tuple[int, ...]]:
    """Cells of a thread along each dimension."""
    if dims == 1:
        yield from ((columns,) for columns in (1, 2, 4, 8, 12, 16))
    else:
        yield from ((rows, columns) for rows in (2, 3, 4, 6, 8, 12, 16) for columns in (1, 2, 3, 4))
