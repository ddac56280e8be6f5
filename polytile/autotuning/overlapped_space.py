"""Overlapped tiles: iterations of a kernel, warps of a block, cells of a thread, planes that a tile owns.

    jacobi-2d, 1300 x 1300:  time_tile: 1, 2, 3, ..    warps: 2, 4, 8    columns: 1, 2, 3, ..    chunk: 0, 9, 34

The parameters are those of Rawat et al.: Domain-specific optimization and generation of high-performance GPU code for
stencil computations (Proc. IEEE 2018), section VI, and of Matsumura et al.: AN5D (CGO 2020), section 6.3, with cells of
a thread in both dimensions across the stream. A `chunk` of 0 leaves the number of planes to the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from math import ceil, inf, prod

from polytile.autotuning.space import Constraint, Parameter, Subspace, Value
from polytile.choices import OVERLAPPED, Choices
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep
from polytile.ir.time_tile import Exchange, TileThreads
from polytile.machine import VECTOR_BYTES, WARP_SIZE
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.analysis.stencil_values import StencilValues
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.machine_model import registers_alone
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.stream_resources import StreamFigures, stream_figures
from polytile.scheduling.cost.stream_time import StreamSizes, stream_sizes
from polytile.scheduling.strategies.overlapped.strategy import values_of
from polytile.scheduling.strategies.overlapped.stream_steps import StreamSteps, stream_steps

ITERATIONS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)
STRIPS = (4, 8)  # of a block, a warp each, which have nothing to do with one another
TILES = (8, 12, 16)  # warps of a block that share a tile
ROWS = (1, 2, 3, 4)
COLUMNS: tuple[tuple[int, ...], ...] = ((2, 4, 8, 16, 32), (1, 2, 3, 4, 6, 8), (1, 2, 4))  # by space's dimensions
SLACK = 1.1  # of the registers that there are: estimates of what ptxas takes are 8% off
REDUNDANCY = 3.0  # cells that a tile computes for each that it owns, at most, or as many as the compiler's own
LEAST_PLANES = 8
TIME_TILE, WARPS, ROW, COLUMN, CHUNK = "time_tile", "warps", "rows", "columns", "chunk"


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of so many iterations, with the threads of a block and their cells along each dimension across."""

    iterations: int
    block: TileThreads


def overlapped_space(compilation: Compilation) -> Subspace:
    """Build the space around the overlapped tiles that the compiler chose by itself."""
    plan = compilation.overlapped
    assert plan is not None
    limits = StreamLimits.of(compilation, plan)
    values = _values(plan, limits)
    parameters = tuple(Parameter(name, several) for name, several in values.items() if len(several) > 1)
    fixed = {name: several[0] for name, several in values.items() if len(several) == 1}
    names = tuple(p.name for p in parameters if p.name != CHUNK)

    def tile(*given: Value) -> Tile:
        return _tile(plan, {**fixed, **dict(zip(names, given, strict=True))})

    def choices(point: Mapping[str, Value]) -> Choices:
        return _choices(plan, {**fixed, **point})

    return Subspace(
        OVERLAPPED,
        parameters,
        choices,
        (
            Constraint(names, lambda *given: limits.is_wide(tile(*given)), "cells of a tile that are no halo"),
            Constraint(names, lambda *given: limits.has_room(tile(*given)), "registers and shared memory of a block"),
        ),
    )


def overlapped_point(plan: OverlappedTiles, chosen: int) -> dict[str, Value]:
    """Return the point with the sizes of a plan; `chosen` is the chunk of those that the cost model chose."""
    found: dict[str, Value] = {TIME_TILE: plan.iterations, WARPS: plan.warps, COLUMN: plan.points[-1]}
    if plan.dims > 2:
        found[ROW] = plan.points[0]
    return {**found, CHUNK: 0 if plan.chunk == chosen else plan.chunk}


def _values(plan: OverlappedTiles, limits: StreamLimits) -> dict[str, tuple[int, ...]]:
    """List the values of each parameter, a single one where there is nothing to choose."""
    warps = _with(plan.warps, TILES if plan.exchange is Exchange.BLOCK else STRIPS)
    rows, columns = _with(plan.points[0], ROWS) if plan.dims > 2 else (1,), COLUMNS[plan.dims - 1]
    if plan.dims > 2:  # what lies side by side is one vector
        columns = tuple(n for n in columns if n * limits.element <= max(VECTOR_BYTES))
    columns = _with(plan.points[-1], columns)
    shapes = [(n, (r, c)[-len(plan.points) :]) for n, r, c in product(warps, rows, columns)]
    return {
        TIME_TILE: tuple(limits.iterations(shapes)),
        WARPS: warps,
        ROW: rows,
        COLUMN: columns,
        CHUNK: tuple(sorted(_chunks(plan, limits.sizes.cells[0]))) if plan.streamed else (0,),
    }


def _with(chosen: int, values: Sequence[int]) -> tuple[int, ...]:
    """Add the value that the compiler chose to the others, in order."""
    return tuple(sorted({*values, chosen}))


def _chunks(plan: OverlappedTiles, planes: float) -> Iterator[int]:
    """Yield 0, for the cost model's own, then planes for half and twice as many tiles, which all have as many."""
    yield 0
    tiles = max(1, round(planes / plan.chunk)) if plan.chunk else 1
    for count in (max(1, tiles // 2), 2 * tiles):
        if count != tiles and planes / count >= LEAST_PLANES:
            yield ceil(planes / count)


def _tile(plan: OverlappedTiles, point: Mapping[str, Value]) -> Tile:
    points = (int(point[ROW]), int(point[COLUMN]))[-len(plan.points) :]
    return Tile(int(point[TIME_TILE]), _block(plan.exchange, int(point[WARPS]), points))


def _block(exchange: Exchange, warps: int, points: tuple[int, ...]) -> TileThreads:
    return TileThreads(exchange, (warps,) if exchange is Exchange.WARP else (warps, WARP_SIZE), points)


def _choices(plan: OverlappedTiles, point: Mapping[str, Value]) -> Choices:
    tile, chunk = _tile(plan, point), int(point[CHUNK])
    sizes = (chunk, *tile.block.tile) if chunk else tile.block.tile
    return Choices(schedule=OVERLAPPED, time_tile=tile.iterations, tile=sizes, block=tile.block.block_shape)


@dataclass(frozen=True)
class StreamLimits:
    """Which tiles have cells of their own, and room for what they keep."""

    problem: Problem
    values: StencilValues
    exchange: Exchange
    sizes: StreamSizes
    redundancy: float = REDUNDANCY  # or that of the compiler's own tiles
    known: dict[int, tuple[StreamSteps, StreamFigures] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, compilation: Compilation, plan: OverlappedTiles) -> StreamLimits:
        """Return the limits of the stencils that a plan is for."""
        scop, options, machine = compilation.scop, compilation.options, compilation.machine
        assert compilation.dependences is not None
        problem = Problem(scop, compilation.dependences, options, machine, options)
        sizes = stream_sizes(scop, plan.dims, fix_parameters(scop.context, options.parameters), plan.once)
        found = cls(problem, values_of(problem), plan.exchange, sizes)
        chosen = found.computed(Tile(plan.iterations, _block(plan.exchange, plan.warps, plan.points)))
        return replace(found, redundancy=max(REDUNDANCY, chosen if chosen < inf else 0.0))

    @property
    def element(self) -> int:
        """Return the bytes of the largest element that is kept."""
        return max(self.problem.scop.array(f.array).element.size for f in self.values.fields)

    def iterations(self, shapes: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[int]:
        """Yield the iterations of a kernel, as long as some tile of these warps and points has room, and there is a
        pair of blocks of the time loop."""
        if self.values.once:
            yield 1
            return
        for count in sorted({*ITERATIONS, *self._without_rest()}):
            if 2 * count > max(2.0, self.sizes.iterations):
                return
            tiles = [Tile(count, _block(self.exchange, *shape)) for shape in shapes]
            if any(self.is_wide(tile) and self.has_room(tile) for tile in tiles):
                yield count
            elif count > 2:
                return

    def _without_rest(self) -> Iterator[int]:
        """Yield iterations of which an even number of blocks is the time loop: others leave some to slower kernels."""
        length = round(self.sizes.iterations)
        yield from (n for n in range(1, max(ITERATIONS) + 1) if length % (2 * n) == 0)

    def is_wide(self, tile: Tile) -> bool:
        """Return whether a tile owns cells, and most that it computes are not its neighbours' too."""
        return self.computed(tile) <= self.redundancy

    def computed(self, tile: Tile) -> float:
        """Return how many cells are computed for each that a tile owns; infinite where it owns none."""
        found = self._steps(tile.iterations)
        if found is None:
            return inf
        cells, halo = tile.block.tile, found[0].overlap(tile.block.points)
        own = [width - narrower for width, narrower in zip(cells, halo, strict=True)]
        return prod(cells) / prod(own) if min(own) > 0 else inf

    def has_room(self, tile: Tile) -> bool:
        """Return whether registers, shared memory and a kernel's instructions suffice, by the compiler's estimates."""
        found = self._steps(tile.iterations)
        if found is None:
            return False
        steps, figures = found
        own = figures.of(steps.plan(tile.block))
        machine, options = self.problem.machine, self.problem.options
        shared = machine.shared_per_block if options.max_shared_memory is None else options.max_shared_memory
        room = own.registers <= SLACK * registers_alone(machine, tile.block.warps) and own.shared_bytes <= shared
        return room and own.instructions <= machine.tuning.stream.instructions

    def _steps(self, iterations: int) -> tuple[StreamSteps, StreamFigures] | None:
        """Return the steps of blocks of so many iterations, and their figures, where there are such."""
        if iterations not in self.known:
            self.known[iterations] = self._found(iterations)
        return self.known[iterations]

    def _found(self, iterations: int) -> tuple[StreamSteps, StreamFigures] | None:
        scop, retimed = self.problem.scop, not self.problem.options.strict
        try:
            steps = stream_steps(scop, self.values, iterations, self.exchange, retimed)
        except NotAStencilError:
            return None
        return steps, stream_figures(_Planned(steps, self.exchange), scop)


@dataclass(frozen=True, slots=True)
class _Planned:
    """Steps whose figures are asked for before there are tiles."""

    of: StreamSteps
    exchange: Exchange

    @property
    def steps(self) -> tuple[StreamStep, ...]:
        return self.of.steps

    @property
    def reads(self) -> tuple[StreamRead, ...]:
        return self.of.reads

    @property
    def streamed(self) -> int:
        return int(self.of.dims > 1)
