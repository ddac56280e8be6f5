"""Split tiles: steps of a band, warps of a block, cells of a thread; slabs of planes, where space has three dimensions.

    jacobi-2d:  time_tile: 3, 5, 7, 10, 14    warps: 4, 8, 12, 16    rows: 2, 3, 4, 6, 8, 12    columns: 1, 2, 3, 4
    heat-3d:    time_tile: 12, 24, 48    slab: 59, 118         block_z: 1, 2    block_y: 4, 8    block_x: 32, 64

Tiles in registers are as wide as the cells of a block allow: with narrower ones threads would be idle. The parameters
are the height and the widths of Grosser et al.: Split tiling for GPUs (GPGPU-6, 2013), section 4, by what holds a tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from math import prod

from polytile.autotuning.space import Constraint, Parameter, Subspace, Value
from polytile.choices import SPLIT, Choices
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.ir.split_tiles import SplitTiles, tile_threads
from polytile.ir.time_tile import TileThreads
from polytile.machine import MAX_BLOCK_THREADS, WARP_SIZE
from polytile.scheduling.analysis.stencil_form import StencilForm, iterated_stencil
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.split_resources import BlockFigures, SplitFigures, split_figures
from polytile.scheduling.cost.stream_time import stream_sizes
from polytile.scheduling.strategies.split.cone import Cone, whole_cones
from polytile.scheduling.strategies.split.register_tile_sizes import HEIGHTS, has_room
from polytile.scheduling.strategies.split.register_tiles import touched
from polytile.scheduling.strategies.split.sizes import SplitSizes, box_cut
from polytile.scheduling.strategies.split.split_candidate import cones_of, memory_sizes
from polytile.scheduling.strategies.split.tile_sets import Cut

BLOCK_WARPS = ((1, 2, 4, 8, 16), (4, 8, 12, 16))  # by the dimensions of space
ROWS = (2, 3, 4, 6, 8, 12)
COLUMNS = ((1, 2, 4, 8, 12, 16), (1, 2, 3, 4))
HEIGHT_FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)  # of the height that the cost model prefers
SLAB_FACTORS = (0.5, 1.0, 2.0)
OWN_SHARE = 0.3  # of the cells of a box, over all steps, which a tile computes at least
TIME_TILE, WARPS, ROW, COLUMN, SLAB = "time_tile", "warps", "rows", "columns", "slab"
AXES = ("block_z", "block_y", "block_x")
SLAB_BLOCKS = ((1, 2), (4, 8), (32, 64))
BLOCK_SIZES = (128, 512)  # of a block, at least and at most, where values are in memory


def split_space(compilation: Compilation) -> Subspace | None:
    """Build the space around the split tiles that the compiler chose by itself; None for tiles in shared memory, which
    are left as they are."""
    if compilation.split is not None:
        return _register_tiles(compilation, compilation.split)
    assert compilation.dependences is not None
    scop, options = compilation.scop, compilation.options
    problem = Problem(scop, compilation.dependences, options, compilation.machine, options)
    form = iterated_stencil(scop, compilation.dependences)
    cones = cones_of(problem, form)
    sizes = memory_sizes(problem, form, cones)
    planes = stream_sizes(scop, form.dims, fix_parameters(scop.context, options.parameters)).cells[0]
    return _slabs(cones[0], sizes, int(planes)) if len(sizes.cuts) < form.dims else None


def around(value: int, values: Iterable[int], factors: Sequence[float] = HEIGHT_FACTORS) -> tuple[int, ...]:
    """Select of these values, in order, those nearest to multiples of one by these factors."""
    known = sorted(values) or [value]
    return tuple(sorted({min(known, key=lambda one: abs(one - value * factor)) for factor in factors}))


def split_point(compilation: Compilation) -> dict[str, Value]:
    """Return the point of the space with the sizes of a plan of tiles in registers."""
    plan = compilation.split
    if plan is None:
        return {}
    found: dict[str, Value] = {TIME_TILE: plan.iterations, WARPS: plan.warps, COLUMN: plan.points[-1]}
    return {**found, ROW: plan.points[0]} if plan.dims == 2 else found


# Tiles in registers ---------------------------------------------------------------------------------------
def _register_tiles(compilation: Compilation, plan: SplitTiles) -> Subspace:
    limits = RegisterLimits.of(compilation, plan)
    values = {
        TIME_TILE: around(min(plan.iterations, limits.steps), limits.heights),
        WARPS: BLOCK_WARPS[plan.dims - 1],
        **({ROW: ROWS} if plan.dims == 2 else {}),
        COLUMN: COLUMNS[plan.dims - 1],
    }
    names = tuple(values)

    def block(point: Mapping[str, Value]) -> TileThreads:
        warps, columns = int(point[WARPS]), int(point[COLUMN])
        points = (int(point[ROW]), columns) if ROW in point else (columns,)
        return tile_threads(warps, points, one_tile=plan.dims == 1 and warps > 1)

    def choices(point: Mapping[str, Value]) -> Choices:
        height, own = int(point[TIME_TILE]), block(point)
        tile = tuple(cut.width for cut in limits.cuts(height, own) or ())
        shared = None if limits.has_room(own, asked=False) else limits.compilation.machine.shared_per_block
        return Choices(SPLIT, tile, height, block=own.block_shape, max_shared_memory=shared)

    def is_wide(*given: Value) -> bool:
        point = dict(zip(names, given, strict=True))
        return limits.is_wide(int(point[TIME_TILE]), block(point))

    def fits(*given: Value) -> bool:
        return limits.has_room(block(dict(zip(names[1:], given, strict=True))))

    room = Constraint(names[1:], fits, "registers and shared memory of a block")
    wide = Constraint(names, is_wide, "cells of a tile in all steps of a band")
    parameters = tuple(Parameter(name, several) for name, several in values.items())
    return Subspace(SPLIT, parameters, choices, (room, wide))


@dataclass(frozen=True)
class RegisterLimits:
    """Which blocks hold tiles of some height, and how wide these are."""

    compilation: Compilation
    plan: SplitTiles
    cones: tuple[Cone, ...]
    figures: SplitFigures
    steps: int  # of the time loop
    known: dict[tuple[int, TileThreads], tuple[Cut, ...] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, compilation: Compilation, plan: SplitTiles) -> RegisterLimits:
        """Return the limits of a plan's statements, which it takes from there, whatever its sizes."""
        assert compilation.dependences is not None
        scop, options, machine = compilation.scop, compilation.options, compilation.machine
        problem = Problem(scop, compilation.dependences, options, machine, options)
        form: StencilForm = iterated_stencil(scop, compilation.dependences)
        cones = whole_cones(form, cones_of(problem, form))
        sizes = stream_sizes(scop, plan.dims, fix_parameters(scop.context, options.parameters))
        steps = max(plan.period, int(sizes.iterations))
        return cls(compilation, plan, cones, split_figures(plan, scop, machine), steps)

    @property
    def heights(self) -> list[int]:
        """List heights of bands, within the time loop, after which values are in the same registers again."""
        return [height for height in HEIGHTS if height % self.plan.period == 0 and height <= self.steps]

    def has_room(self, block: TileThreads, *, asked: bool = True) -> bool:
        """Return whether the strategy takes such blocks; if `asked`, with all shared memory a block can have."""
        if WARP_SIZE * block.warps > MAX_BLOCK_THREADS:
            return False
        machine, options = self.compilation.machine, self.compilation.options
        shared = machine.shared_per_block if asked else options.shared_memory
        return has_room(BlockFigures(self.figures, block), machine, shared)

    def cuts(self, height: int, block: TileThreads) -> tuple[Cut, ...] | None:
        """Return the widest tiles that such a block holds; None where not even the narrowest find room."""
        key = height, block
        if key not in self.known:
            narrowest = tuple(box_cut(cone, 1, height) for cone in self.cones)
            tops = [1 + have - size for size, have in zip(touched(self.plan, narrowest), block.tile, strict=True)]
            pairs = zip(self.cones, tops, strict=True)
            self.known[key] = tuple(box_cut(cone, top, height) for cone, top in pairs) if min(tops) > 0 else None
        return self.known[key]

    def is_wide(self, height: int, block: TileThreads) -> bool:
        """Return whether there are such tiles, which compute enough of the cells that threads compute for them."""
        cuts = self.cuts(height, block)
        if cuts is None:
            return False
        colours = 2 ** sum(cut.base > 0 for cut in cuts)
        own = prod(int(cut.period) for cut in cuts)
        return bool(own >= OWN_SHARE * colours * prod(block.tile))


# Slabs ----------------------------------------------------------------------------------------------------
def _slabs(cone: Cone, chosen: SplitSizes, planes: int) -> Subspace:
    """Build the space of slabs of planes along the outermost dimension, which L2 keeps; blocks go over these."""
    width = min(chosen.cuts[0].width, planes)
    blocks = dict(zip(AXES[-len(chosen.threads) :], SLAB_BLOCKS[-len(chosen.threads) :], strict=True))
    widths = sorted({max(2, width // 2), width, min(2 * width, planes)})
    values = {TIME_TILE: around(chosen.cuts[0].height, HEIGHTS, SLAB_FACTORS), SLAB: tuple(widths), **blocks}

    def choices(point: Mapping[str, Value]) -> Choices:
        block = tuple(int(point[axis]) for axis in blocks)
        return Choices(schedule=SPLIT, time_tile=int(point[TIME_TILE]), tile=(int(point[SLAB]),), block=block)

    def is_wide(steps: int, slab: int) -> bool:
        return slab > Cut(cone, 0, 0, steps).spread

    return Subspace(
        SPLIT,
        tuple(Parameter(name, several) for name, several in values.items()),
        choices,
        (
            Constraint((TIME_TILE, SLAB), is_wide, "planes of a slab in all steps of a band"),
            Constraint(tuple(blocks), is_usual, "threads of a block"),
        ),
    )


def is_usual(*block: int) -> bool:
    """Return whether a block has enough threads that some compute while others wait, and several fit on an SM."""
    return BLOCK_SIZES[0] <= prod(block) <= BLOCK_SIZES[1]
