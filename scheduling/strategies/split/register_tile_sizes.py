"""Sizes of split tiles in registers: the height of bands, the warps of a block, the cells of a thread.

A thread has registers for a few cells of each array; what a tile loses at its sides as it shrinks is work of others.
Higher bands fetch tiles less often, lower ones lose less. For boxes of S cells and periods of P places along each of d
dimensions, a step of a band runs 2^d prod(S) cells for prod(P) places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.split_tiles import SplitTiles, tile_threads
from polytile.ir.time_tile import TileThreads
from polytile.machine import MAX_BLOCK_THREADS, WARP_SIZE, Machine
from polytile.scheduling.analysis.stencil_form import StencilForm
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.split_extents import SplitExtents
from polytile.scheduling.cost.split_resources import BlockFigures, split_figures
from polytile.scheduling.cost.split_time import SplitCost
from polytile.scheduling.strategies.split.cone import Cone, whole_cones
from polytile.scheduling.strategies.split.register_tiles import (
    NoRegisterTilesError,
    points_for,
    stencil_accesses,
    touched,
    with_sizes,
)
from polytile.scheduling.strategies.split.sizes import SplitSizes, asked_cuts, box_cut, box_period, spread_sizes

HEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 40, 48, 60, 62, 64, 80, 96, 120, 160, 192, 240)


@dataclass(frozen=True, slots=True)
class RegisterTiles:
    """A plan, and how its dimensions are cut."""

    plan: SplitTiles
    sizes: SplitSizes


def register_tiles(
    problem: Problem, form: StencilForm, cones: Sequence[Cone]
) -> tuple[RegisterTiles | None, str]:
    """Choose tiles in registers, whose sides move by whole places a step, or say why there are none.

    Raises UsageError where sizes that are asked for do not fit together.
    """
    try:
        whole = whole_cones(form, cones)
        return _sized(problem, stencil_accesses(problem, form, whole), whole), ""
    except NoRegisterTilesError as error:
        return None, str(error)


def _sized(problem: Problem, plan: SplitTiles, cones: Sequence[Cone]) -> RegisterTiles:
    choices = problem.choices
    threads = spread_sizes("--block", choices.block, plan.dims)
    tile = spread_sizes("--tile", choices.tile, plan.dims)
    if (threads and threads[-1] % WARP_SIZE) or (plan.dims == 2 and threads and threads[-1] != WARP_SIZE):
        raise NoRegisterTilesError(f"threads of a block are not {WARP_SIZE} lanes across")
    best = min(_Search(problem, plan, cones).candidates(threads, tile), key=_Priced.step_seconds, default=None)
    if best is None:
        raise NoRegisterTilesError("the registers of a block have no room for tiles of this height or width")
    barriers = plan.dims == 2 and problem.machine.tuning.split.split_barriers
    return best.tiles(replace(plan, split_barrier=True) if barriers else plan, cones)


@dataclass(frozen=True, slots=True)
class _Priced:
    """Tiles that are so many places wide along each dimension where they are narrowest."""

    cost: SplitCost
    tops: tuple[int, ...]

    def step_seconds(self) -> float:
        return self.cost.step_seconds

    def tiles(self, plan: SplitTiles, cones: Sequence[Cone]) -> RegisterTiles:
        block, height = self.cost.figures.block, self.cost.height
        cuts = tuple(box_cut(cone, top, height) for cone, top in zip(cones, self.tops, strict=True))
        return RegisterTiles(with_sizes(plan, cuts, block), SplitSizes(cuts, block.block_shape))


class _Search:
    """Sizes for which the values of tiles fit into the registers of a block."""

    def __init__(self, problem: Problem, plan: SplitTiles, cones: Sequence[Cone]) -> None:
        self.problem, self.plan, self.cones = problem, plan, cones
        self.extents = SplitExtents.of(plan, problem.scop, problem.machine, problem.options.parameters)
        self.figures = split_figures(plan, problem.scop, problem.machine)

    def candidates(self, threads: Sequence[int], tile: Sequence[int]) -> Iterator[_Priced]:
        plan, cones, period = self.plan, self.cones, self.plan.period
        asked = self.problem.choices.time_tile
        if asked % period:
            raise NoRegisterTilesError(f"bands of {asked} steps begin with different versions of arrays")
        heights = [asked] if asked else [h for h in HEIGHTS if h % period == 0]
        blocks = list(_blocks(plan.dims, threads))
        if tile:
            given = blocks if threads else [_one_cell(plan.dims, 8 if plan.dims == 2 else 1)]
            for height in heights:
                cuts = asked_cuts(cones, height, tile)
                places, tops, periods = touched(plan, cuts), tuple(c.top for c in cuts), tuple(c.period for c in cuts)
                for figures in self._fitting(replace(b, points=points_for(places, b.tile_warps)) for b in given):
                    yield _Priced(SplitCost(figures, height, periods, self.extents), tops)
            return
        fitting = list(self._fitting(replace(b, points=points) for b in blocks for points in _points(plan.dims)))
        for height in heights:
            narrowest = tuple(box_cut(cone, 1, height) for cone in cones)
            room = touched(plan, narrowest)
            for figures in fitting:
                tops = tuple(1 + have - size for size, have in zip(room, figures.block.tile, strict=True))
                if min(tops) > 0:
                    periods = tuple(box_period(cut, top) for cut, top in zip(narrowest, tops, strict=True))
                    yield _Priced(SplitCost(figures, height, periods, self.extents), tops)

    def _fitting(self, blocks: Iterable[TileThreads]) -> Iterator[BlockFigures]:
        """Yield the figures of the blocks that multiprocessors have room for."""
        for figures in (BlockFigures(self.figures, block) for block in blocks):
            if has_room(figures, self.problem.machine, self.problem.options.shared_memory):
                yield figures


def has_room(figures: BlockFigures, machine: Machine, shared_memory: int) -> bool:
    """Return whether multiprocessors have room for such blocks, of any height of bands and widths of tiles."""
    fits = figures.registers <= machine.tuning.split.most_registers and figures.shared_bytes <= shared_memory
    fits = fits and WARP_SIZE * figures.block.warps <= MAX_BLOCK_THREADS and not figures.spills
    return fits and figures.at_once > 0


def _one_cell(dims: int, warps: int, *, one_tile: bool = False) -> TileThreads:
    """Return a block whose threads have a cell each."""
    return tile_threads(warps, (1,) * dims, one_tile=one_tile)


def _blocks(dims: int, threads: Sequence[int]) -> Iterator[TileThreads]:
    """Yield blocks of the threads that are asked for, for one tile, or those to try; each thread has a cell."""
    if dims == 2:
        yield from (_one_cell(2, warps) for warps in threads[:1] or (4, 8, 12, 16))
        return
    if threads:
        yield _one_cell(1, threads[0] // WARP_SIZE, one_tile=threads[0] > WARP_SIZE)
        return
    yield from (_one_cell(1, warps) for warps in (1, 4))
    yield from (_one_cell(1, warps, one_tile=True) for warps in (2, 4, 8, 16))


def _points(dims: int) -> Iterator[tuple[int, ...]]:
    """Yield the cells of a thread along each dimension."""
    if dims == 1:
        yield from ((columns,) for columns in (1, 2, 4, 8, 12, 16))
    else:
        yield from ((rows, columns) for rows in (2, 3, 4, 6, 8, 12, 16) for columns in (1, 2, 3, 4))
