"""An estimate of the time that the blocks of overlapped tiles take on a GPU, and what is left for one-step kernels.

A kernel takes as long as the slowest of what it waits for: device memory, which has the inputs, the results and other
arrays once for each block of iterations; L2, from which tiles load their halos; and the instructions of warps, whose
number registers and shared memory bound:

    strips of warps, in two dimensions: strip_time.py
    tiles that blocks share, in three: block_tile_time.py
    lines, in one: the one plane takes what one warp does after another, or what all warps of a scheduler issue, if that
                   takes longer, for each round in which tiles get their place; or what a tile at a side of space takes,
                   with its tests, if that is longer
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.identity_key import IdentityKey
from polytile.ir.overlapped_tiles import MOST_OF_A_SIDE, OverlappedTiles, owned_planes
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.ir.time_tile import Exchange
from polytile.machine import REGISTER_FILE_PARTITIONS, WARP_SIZE, Machine, Speed
from polytile.scheduling.cost.block_tile_time import BlockTiles, beside_memory, share_at_sides
from polytile.scheduling.cost.estimate import Estimate, KernelTime, Residency
from polytile.scheduling.cost.machine_model import memory_rate, resident_blocks, together, value_cycles
from polytile.scheduling.cost.plane_time import PlaneCost, plane_tiles
from polytile.scheduling.cost.point_count import at, counts, fix_parameters
from polytile.scheduling.cost.stream_resources import StepFigures, TileFigures, stream_figures
from polytile.scheduling.cost.strip_time import Strips, stored_bytes, with_memory

MISSED_WARPS = 0.3  # of a scheduler: one warp reaches three quarters of the rate that instructions could be issued at
OPERATION_CYCLES = 8  # until a value that was computed can be used
EXCHANGE_CYCLES = 28  # the same, for one of another lane
BARRIER_CYCLES = 60
STREAM_SHARE = 0.86  # of the rate of a copy at which tiles load and store planes
SIDE_CYCLES = 700  # of a warp at a side of a line, for each input: what it waits for, with its tests
SIDE_ISSUE = 7  # cycles for each of a warp's instructions there, one after another
SIDE_QUEUE = 2.0  # times that again where memory is busy all the time, and rows are far apart in large arrays
LARGE_ARRAYS = 256 << 20  # bytes, beyond which that was seen
OVERLAP = 4  # two that take as long take 1.19 times that
ONE_STEP_BLOCK = 256  # threads of a kernel of one step
OUT, IN = isl.dim_type.out, isl.dim_type.in_


@dataclass(frozen=True, slots=True)
class StreamSizes:
    """How many iterations the time loop has, and how many cells space has along each of its dimensions. `once`: there
    is no such loop, but a single iteration."""

    iterations: float
    cells: tuple[float, ...]
    once: bool = False

    def remaining(self, plan: OverlappedTiles) -> float:
        """Return the iterations that are no whole pair of blocks."""
        return self.iterations - plan.iterations * self.launches(plan)

    def launches(self, plan: OverlappedTiles) -> int:
        """Count the kernels: pairs of them, if there is a time loop, and blocks that are not in place."""
        return 1 if self.once else plan.blocks * int(self.iterations // (plan.blocks * plan.iterations))


def stream_sizes(scop: Scop, dims: int, values: Mapping[str, int], once: bool = False) -> StreamSizes:
    """Return the sizes of the statement with the most instances, which are the same in all iterations.

    Those of a triangle are of the box around it, which tiles cover.
    """
    sets = _all_cells(IdentityKey(scop), dims, once)
    found = [counts(points, values) for points in sets]
    number = max(range(len(sets)), key=lambda k: found[k][-1])
    along = [b / a if a else 0.0 for a, b in pairwise(found[number])]
    first = len(along) - dims
    cells = _box(sets[number], first, values) or along[first:]
    return StreamSizes(1.0 if once else along[0], tuple(cells), once)


def _box(points: isl.Set, first: int, values: Mapping[str, int]) -> list[float]:
    """Return how far the dimensions from the first one on reach, halfway through the iterations.

    Returns nothing where one has no end.
    """
    known = at(points, values)
    if first:
        ends = known.dim_min_val(0), known.dim_max_val(0)
        if not all(end.is_int() for end in ends):
            return []
        middle = isl.Val((int(ends[0].to_python()) + int(ends[1].to_python())) // 2)
        known = known.fix_val(isl.dim_type.set, 0, middle)
    if known.is_empty():
        return []
    spans = [(known.dim_min_val(k), known.dim_max_val(k)) for k in range(first, known.dim(isl.dim_type.set))]
    if not all(end.is_int() for span in spans for end in span):
        return []
    return [float(high.to_python()) - float(low.to_python()) + 1 for low, high in spans]


@lru_cache(maxsize=64)
def _all_cells(scop: IdentityKey[Scop], dims: int, once: bool) -> tuple[isl.Set, ...]:
    """Return when and where each statement writes, once for all sizes."""
    return tuple(_cells(statement, dims, once) for statement in scop.value.main)


def _cells(statement: Statement, dims: int, once: bool) -> isl.Set:
    """Return `{ [t, x] }`: when and where a statement writes; `{ [x] }` where there is no time loop."""
    access = next(a for a in statement.accesses if a.kind is AccessKind.WRITE)
    written = access.relation.intersect_domain(statement.domain).reset_tuple_id(OUT).reset_tuple_id(IN)
    cell = written.project_out(OUT, 0, written.dim(OUT) - dims)
    if once:
        return cell.range()
    inner = cell.dim(IN) - 1
    return cell.project_out(IN, 1, inner).wrap().flatten()


def stream_estimate(plan: OverlappedTiles, scop: Scop, machine: Machine, parameters: Mapping[str, int]) -> Estimate:
    """Estimate the time of the whole SCoP: its pairs of blocks, and the remaining iterations.

    Each remaining iteration takes as long as its arrays need from memory.
    """
    values = fix_parameters(scop.context, parameters)
    sizes, speed = stream_sizes(scop, plan.dims, values, plan.once), machine.speed
    tiles = TileCost(plan, _figures(IdentityKey(plan), IdentityKey(scop)), machine, sizes)
    if plan.exchange.is_one_step:
        own = plane_tiles(plan, scop, machine)
        costs = [PlaneCost(one, sizes.cells, sizes.launches(plan), plan.chunk, plan.tiles_at_once) for one in own]
        kernels = (replace(cost.kernel(speed), number=k) for k, cost in enumerate(costs))
        rest = replace(tiles.one_step(speed), number=len(own))
        return Estimate((*kernels, rest), tuple(sorted(values.items())))
    kernel = StreamCost(tiles, plan.chunk, plan.tiles_at_once).kernel(speed)
    return Estimate((kernel, tiles.one_step(speed)), tuple(sorted(values.items())))


@lru_cache(maxsize=64)
def _figures(plan: IdentityKey[OverlappedTiles], scop: IdentityKey[Scop]) -> TileFigures:
    """Return the figures of a plan, once for all sizes."""
    return stream_figures(plan.value, scop.value).of(plan.value)


def has_few_cells(plan: OverlappedTiles, scop: Scop, parameters: Mapping[str, int]) -> bool:
    """Return whether space has fewer cells than the plan has tiles for (OverlappedTiles.least_cells)."""
    if not plan.least_cells:
        return False
    cells = stream_sizes(scop, plan.dims, fix_parameters(scop.context, parameters)).cells
    return prod(min(side, MOST_OF_A_SIDE) for side in cells) < plan.least_cells


@dataclass(frozen=True)
class TileCost:
    """The tiles of a plan, whatever planes they own, for sizes. Waits for memory are asked for by its speed, in which
    parts of one machine differ."""

    plan: OverlappedTiles
    figures: TileFigures
    machine: Machine
    sizes: StreamSizes

    def one_step(self, speed: Speed) -> KernelTime:
        """Compute the time of the kernels of the remaining iterations, one for each field."""
        fields = len(self._fields)
        touched = sum(2 * f.size + sum(f.loads) for f in self._fields) / fields
        return KernelTime(
            number=1,
            launches=fields * self.sizes.remaining(self.plan),
            blocks=ceil(self.cells / ONE_STEP_BLOCK),
            threads=ONE_STEP_BLOCK,
            l2=1e6 * self.cells * touched / speed.l2,
            memory=1e6 * self.cells * touched / self.rate(speed),
            launch=speed.launch_us,
        )

    @cached_property
    def _fields(self) -> tuple[StepFigures, ...]:
        """Return the steps of one iteration."""
        last = self.plan.iterations - 1
        return tuple(f for f in self.figures.made if f.step.iteration == last)

    @cached_property
    def cells(self) -> float:
        return prod(self.sizes.cells)

    @cached_property
    def across(self) -> int:
        """Count the tiles beside one another."""
        return prod(self._counts)

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return self.plan.counts(self.sizes.cells)

    @cached_property
    def at_sides(self) -> float:
        """Return the share of tiles that are at a side."""
        return share_at_sides(self._counts)

    @cached_property
    def length(self) -> float:
        """Return the number of planes of space."""
        return self.sizes.cells[0] if self.plan.streamed else 1.0

    @cached_property
    def latest(self) -> int:
        """Count planes that pass before the first one that a tile owns is made."""
        return self.plan.latest

    @cached_property
    def resident(self) -> int:
        """Return the warps that a multiprocessor holds."""
        shared, warps = self.figures.shared_bytes, self.plan.warps
        return warps * resident_blocks(self.machine, warps * WARP_SIZE, self.figures.registers, shared)

    @cached_property
    def is_line(self) -> bool:
        return self.plan.exchange is Exchange.WARP and not self.plan.streamed

    @cached_property
    def strips(self) -> Strips:
        return Strips(self.plan, self.figures, self.machine, self.resident)

    @cached_property
    def blocks(self) -> BlockTiles:
        return BlockTiles(self.plan, self.figures, self.machine, self.resident // self.plan.warps)

    # Memory -------------------------------------------------------------------------------------------
    def rate(self, speed: Speed) -> float:
        """Compute the bytes a second of what stays in L2 from one kernel to the next, or of device memory."""
        return memory_rate(self.machine, speed, self.array_bytes)

    @cached_property
    def array_bytes(self) -> float:
        return self.cells * (2 * self.loaded + self.other_bytes)

    @cached_property
    def loaded(self) -> int:
        """Return the bytes of a cell of all inputs."""
        return sum(f.size for f in self.figures.inputs)

    @cached_property
    def other_bytes(self) -> int:
        return sum(sum(f.loads) for f in self._fields)

    @cached_property
    def stored(self) -> int:
        return sum(stored_bytes(self.plan, self.figures))

    def fetched(self, along: float) -> float:
        """Compute the bytes that tiles load, whose planes are loaded so often, and store."""
        other = sum(sum(f.loads) for f in self.figures.made)
        again = along * prod(self.plan.tile) / prod(self.plan.owned)
        return self.cells * (again * (self.loaded + other) + self.stored)

    # Cycles -------------------------------------------------------------------------------------------
    @cached_property
    def latency(self) -> float:
        """Return the cycles of a plane, what one warp does after another."""
        is_strip = self.plan.exchange is Exchange.WARP and not self.is_line
        return self.strips.warp_cycles if is_strip else self._plane_cycles

    def cycles_of(self, warps: float) -> float:
        """Compute the cycles of a scheduler that has so many warps, for a plane of each."""
        return max(self._plane_cycles, (warps + MISSED_WARPS) * self._issue_cycles)

    @cached_property
    def _issue_cycles(self) -> float:
        """Compute the issue cycles of a scheduler, for a plane of one warp."""
        points = prod(self.plan.points)
        slow = sum(f.arithmetic * (value_cycles(self.machine, double=f.double) - 1) for f in self.figures.made)
        exchanged = sum(f.words * sum(f.neighbours) for f in self.figures.steps)
        more = (REGISTER_FILE_PARTITIONS - 1) * exchanged  # a multiprocessor shuffles one warp's words a cycle
        return self.figures.instructions + points * slow + more

    @cached_property
    def _plane_cycles(self) -> float:
        """Compute the cycles that one warp waits for in a plane: steps that need the latest plane, in sequence.

        Each needs the latest plane of those before.
        """
        waits = {f.step.index: 0.0 for f in self.figures.inputs}
        for f in self.figures.made:
            before = max((waits[source] for source in f.at_once), default=0.0)
            exchange = EXCHANGE_CYCLES if f.exchanged else 0
            waits[f.step.index] = before + exchange + OPERATION_CYCLES * f.arithmetic
        meets = self.plan.exchange is Exchange.BLOCK and not self.plan.split_barrier
        barrier = BARRIER_CYCLES if meets else 0
        return max(waits.values()) + barrier


@dataclass(frozen=True)
class StreamCost:
    """The kernels of such tiles, each of which owns so many planes of the stream (`OverlappedTiles.chunk`)."""

    tiles: TileCost
    chunk: int
    tiles_at_once: int

    def microseconds(self, speed: Speed) -> float:
        """Compute the microseconds of all iterations, with memory of a speed."""
        return self.kernel(speed).microseconds + self.tiles.one_step(speed).microseconds

    def kernel(self, speed: Speed) -> KernelTime:
        """Return one of the two kernels of a pair."""
        tiles, plan, figures = self.tiles, self.tiles.plan, self.tiles.figures
        return KernelTime(
            number=0,
            launches=tiles.sizes.launches(plan),
            blocks=ceil(self._warps / plan.warps),
            threads=plan.warps * WARP_SIZE,
            l2=1e6 * tiles.fetched(self._along) / speed.l2,
            memory=1e6 * self._memory_cycles(speed) / speed.clock,
            arithmetic=1e6 * self._cycles(speed) / speed.clock,
            latency=1e6 * self._planes * self._rounds * tiles.latency / speed.clock,
            launch=speed.launch_us,
            together=1e6 * self._together(speed) / speed.clock,
            residency=Residency(figures.registers, figures.shared_bytes, tiles.resident // plan.warps, self._rounds),
        )

    @cached_property
    def _owned(self) -> float:
        """Compute the planes that a tile owns."""
        tiles = self.tiles
        return owned_planes(self.chunk, self.tiles_at_once, tiles.length, tiles.across, tiles.latest)

    @cached_property
    def _planes(self) -> float:
        """Compute the planes that pass while a tile makes its own."""
        return self._owned + self.tiles.latest if self.tiles.plan.streamed else 1.0

    @cached_property
    def _warps(self) -> float:
        """Count the warps of all tiles."""
        plan = self.tiles.plan
        chunks = ceil(self.tiles.sizes.cells[0] / self._owned) if plan.streamed else 1.0
        return self.tiles.across * chunks * (1 if plan.exchange is Exchange.WARP else plan.warps)

    @property
    def _along(self) -> float:
        """Return how often a plane is loaded: ends of chunks are twice, and by then have left the caches."""
        return self._planes / self._owned

    def _memory_cycles(self, speed: Speed) -> float:
        """Compute the cycles for which device memory is busy."""
        tiles = self.tiles
        moved = tiles.cells * (tiles.loaded * self._along + tiles.stored + tiles.other_bytes)
        return moved / (STREAM_SHARE * tiles.rate(speed)) * speed.clock

    @cached_property
    def _rounds(self) -> int:
        places = self.tiles.machine.sms * self.tiles.resident
        return max(1, ceil(self._warps / places))  # without cells there is no tile

    def _cycles(self, speed: Speed) -> float:
        """Compute the cycles of a scheduler, until all its warps have ended."""
        return self._of_lines(speed) if self.tiles.is_line else self._busy_cycles

    @cached_property
    def _busy_cycles(self) -> float:
        """Compute the cycles of a scheduler for planes, if nothing waits for device memory."""
        tiles, plan = self.tiles, self.tiles.plan
        if plan.exchange is Exchange.BLOCK:
            return tiles.blocks.cycles(self._warps / plan.warps, tiles.at_sides, self._planes)
        return tiles.strips.cycles(self._warps, self._planes)

    def _of_lines(self, speed: Speed) -> float:
        """Compute the cycles of warps that wait for memory, too.

        Those at sides of space begin first, and may end last.
        """
        tiles = self.tiles
        schedulers = tiles.machine.sms * REGISTER_FILE_PARTITIONS
        full = tiles.resident / REGISTER_FILE_PARTITIONS
        last = ceil(self._warps / schedulers - full * (self._rounds - 1))
        rounds = (self._rounds - 1) * tiles.cycles_of(full) + tiles.cycles_of(min(full, last))
        side = SIDE_CYCLES * len(tiles.figures.inputs) + SIDE_ISSUE * tiles.figures.instructions
        memory = self._memory_cycles(speed)
        busy = min(1.0, memory / rounds)
        far = max(0.0, 1 - LARGE_ARRAYS / max(1.0, tiles.array_bytes))
        side *= 1 + SIDE_QUEUE * far * busy**4
        return together(OVERLAP, rounds, side, memory)

    def _together(self, speed: Speed) -> float:
        """Compute the cycles of warps and of what they wait for in device memory."""
        if self.tiles.is_line:
            return 0.0
        both = beside_memory if self.tiles.plan.exchange is Exchange.BLOCK else with_memory
        return both(self._busy_cycles, self._memory_cycles(speed))
