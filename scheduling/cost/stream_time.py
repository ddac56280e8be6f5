"""An estimate of the time that the blocks of a stream plan take on a GPU, and what is left for one-step kernels.

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
from functools import cached_property
from itertools import pairwise
from math import ceil, prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.ir.stream_plan import Exchange, StreamPlan
from polytile.machine import REGISTER_FILE_PARTITIONS, WARP_SIZE, Machine
from polytile.scheduling.cost.block_tile_time import BlockTiles, beside_memory, share_at_sides
from polytile.scheduling.cost.estimate import Estimate, KernelTime, Residency
from polytile.scheduling.cost.multiprocessor import resident_blocks, value_cycles
from polytile.scheduling.cost.point_count import at, counts, fix_parameters
from polytile.scheduling.cost.stream_resources import StepFigures, StreamFigures, stream_figures
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

    def remaining(self, plan: StreamPlan) -> float:
        """Iterations that are no whole pair of blocks."""
        return self.iterations - plan.iterations * self.launches(plan)

    def launches(self, plan: StreamPlan) -> int:
        """Kernels: pairs of them, if there is a time loop, and blocks that are not in place."""
        return 1 if self.once else plan.blocks * int(self.iterations // (plan.blocks * plan.iterations))


def stream_sizes(scop: Scop, dims: int, values: Mapping[str, int], once: bool = False) -> StreamSizes:
    """Those of the statement with the most instances, which are the same in all iterations; of a triangle the box
    around it, which tiles cover."""
    sets = [_cells(statement, dims, once) for statement in scop.main]
    found = [counts(points, values) for points in sets]
    number = max(range(len(sets)), key=lambda k: found[k][-1])
    along = [b / a if a else 0.0 for a, b in pairwise(found[number])]
    first = len(along) - dims
    cells = _box(sets[number], first, values) or along[first:]
    return StreamSizes(1.0 if once else along[0], tuple(cells), once)


def _box(points: isl.Set, first: int, values: Mapping[str, int]) -> list[float]:
    """How far the dimensions from the first one on reach, halfway through the iterations; nothing without an end."""
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


def _cells(statement: Statement, dims: int, once: bool) -> isl.Set:
    """`{ [t, x] }`: when and where a statement writes; `{ [x] }` where there is no time loop."""
    access = next(a for a in statement.accesses if a.kind is AccessKind.WRITE)
    written = access.relation.intersect_domain(statement.domain).reset_tuple_id(OUT).reset_tuple_id(IN)
    cell = written.project_out(OUT, 0, written.dim(OUT) - dims)
    if once:
        return cell.range()
    inner = cell.dim(IN) - 1
    return cell.project_out(IN, 1, inner).wrap().flatten()


def stream_estimate(plan: StreamPlan, scop: Scop, machine: Machine, parameters: Mapping[str, int]) -> Estimate:
    """The time of the whole SCoP: its pairs of blocks, and the remaining iterations, of which each takes as long as its
    arrays need from memory."""
    values = fix_parameters(scop.context, parameters)
    cost = StreamCost(plan, stream_figures(plan, scop), machine, stream_sizes(scop, plan.dims, values, plan.once))
    return Estimate((cost.kernel(), cost.one_step()), tuple(sorted(values.items())))


@dataclass(frozen=True)
class StreamCost:
    """The kernels of a plan, for sizes."""

    plan: StreamPlan
    figures: StreamFigures
    machine: Machine
    sizes: StreamSizes

    @property
    def microseconds(self) -> float:
        """Of all iterations."""
        return self.kernel().microseconds + self.one_step().microseconds

    def one_step(self) -> KernelTime:
        """The kernels of the remaining iterations, one for each field."""
        speed, fields = self.machine.speed, len(self._fields)
        touched = sum(2 * f.size + sum(f.loads) for f in self._fields) / fields
        return KernelTime(
            number=1,
            launches=fields * self.sizes.remaining(self.plan),
            blocks=ceil(self._cells / ONE_STEP_BLOCK),
            threads=ONE_STEP_BLOCK,
            requests=0.0,
            l2=1e6 * self._cells * touched / speed.l2,
            memory=1e6 * self._cells * touched / self._rate,
            arithmetic=0.0,
            latency=0.0,
            launch=speed.launch_us,
            accesses=(),
        )

    @cached_property
    def _fields(self) -> tuple[StepFigures, ...]:
        """The steps of one iteration."""
        last = self.plan.iterations - 1
        return tuple(f for f in self.figures.made if f.step.iteration == last)

    @property
    def _cells(self) -> float:
        return prod(self.sizes.cells)

    # Tiles --------------------------------------------------------------------------------------------
    @cached_property
    def across(self) -> int:
        """Tiles beside one another."""
        return prod(self._counts)

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return self.plan.counts(self.sizes.cells)

    @cached_property
    def _chunk(self) -> float:
        """Planes that a tile owns."""
        length = self.sizes.cells[0] if self.plan.streamed else 1.0
        return self.plan.planes(length, self.across)

    @cached_property
    def _planes(self) -> float:
        """Planes that pass while a tile makes its own."""
        if not self.plan.streamed:
            return 1.0
        return self._chunk + self.plan.lower[0] + max(s.lag for s in self.plan.steps)

    @cached_property
    def warps(self) -> float:
        """Of all tiles."""
        chunks = ceil(self.sizes.cells[0] / self._chunk) if self.plan.streamed else 1.0
        return self.across * chunks * (1 if self.plan.exchange is Exchange.WARP else self.plan.warps)

    @cached_property
    def resident(self) -> int:
        """Warps that a multiprocessor holds."""
        shared, warps = self.figures.shared_bytes(self.plan), self.plan.warps
        return warps * resident_blocks(self.machine, warps * WARP_SIZE, self.registers, shared)

    @cached_property
    def registers(self) -> int:
        return self.figures.registers(self.plan)

    # Times --------------------------------------------------------------------------------------------
    @cached_property
    def _rate(self) -> float:
        """Bytes a second of what stays in L2 from one kernel to the next, or of device memory."""
        speed = self.machine.speed
        room = min(speed.l2_bytes, self.machine.tuning.resident_bytes)
        return speed.l2 if self._array_bytes <= room else speed.memory

    @property
    def _array_bytes(self) -> float:
        return self._cells * (2 * sum(f.size for f in self.figures.inputs) + self._other_bytes)

    @cached_property
    def _other_bytes(self) -> int:
        return sum(sum(f.loads) for f in self._fields)

    def kernel(self) -> KernelTime:
        """One of the two kernels of a pair."""
        plan, speed = self.plan, self.machine.speed
        loaded, other = sum(f.size for f in self.figures.inputs), sum(sum(f.loads) for f in self.figures.made)
        again = self._along * prod(plan.tile) / prod(self.plan.owned)
        fetched = self._cells * (again * (loaded + other) + self._stored)
        return KernelTime(
            number=0,
            launches=self.sizes.launches(plan),
            blocks=ceil(self.warps / plan.warps),
            threads=plan.warps * WARP_SIZE,
            requests=0.0,
            l2=1e6 * fetched / speed.l2,
            memory=1e6 * self._memory_cycles / speed.clock,
            arithmetic=1e6 * self._cycles / speed.clock,
            latency=1e6 * self._planes * self.rounds * self._latency / speed.clock,
            launch=speed.launch_us,
            accesses=(),
            together=1e6 * self._together / speed.clock,
            residency=Residency(
                self.registers, self.figures.shared_bytes(plan), self.resident // plan.warps, self.rounds
            ),
        )

    @cached_property
    def _stored(self) -> int:
        return sum(stored_bytes(self.plan, self.figures))

    @property
    def _along(self) -> float:
        """How often a plane is loaded: ends of chunks are twice, and by then have left the caches."""
        return self._planes / self._chunk

    @cached_property
    def _memory_cycles(self) -> float:
        """For which device memory is busy."""
        loaded = sum(f.size for f in self.figures.inputs)
        moved = self._cells * (loaded * self._along + self._stored + self._other_bytes)
        return moved / (STREAM_SHARE * self._rate) * self.machine.speed.clock

    @cached_property
    def rounds(self) -> int:
        return max(1, ceil(self.warps / (self.machine.sms * self.resident)))  # without cells there is no tile

    @cached_property
    def _cycles(self) -> float:
        """Of a scheduler, until all its warps have ended."""
        if self.plan.exchange is Exchange.BLOCK:
            return self._of_blocks.cycles
        return self._of_strips.cycles if self.plan.streamed else self._of_lines

    @property
    def _of_lines(self) -> float:
        """The cycles of warps that wait for memory, too. Those at sides of space begin first, and may end last."""
        schedulers = self.machine.sms * REGISTER_FILE_PARTITIONS
        full = self.resident / REGISTER_FILE_PARTITIONS
        last = ceil(self.warps / schedulers - full * (self.rounds - 1))
        rounds = (self.rounds - 1) * self._cycles_of(full) + self._cycles_of(min(full, last))
        inputs = sum(1 for _ in self.figures.inputs)
        side = SIDE_CYCLES * inputs + SIDE_ISSUE * self.figures.instructions(self.plan)
        busy = min(1.0, self._memory_cycles / rounds)
        far = max(0.0, 1 - LARGE_ARRAYS / max(1.0, self._array_bytes))
        side *= 1 + SIDE_QUEUE * far * busy**4
        return _together(rounds, side, self._memory_cycles)

    @cached_property
    def _of_strips(self) -> Strips:
        return Strips(self.plan, self.figures, self.warps, self._planes, self.machine, self.resident)

    @property
    def _of_blocks(self) -> BlockTiles:
        plan, resident = self.plan, self.resident // self.plan.warps
        sides = share_at_sides(self._counts)
        return BlockTiles(plan, self.figures, self.warps / plan.warps, sides, self._planes, self.machine, resident)

    @property
    def _together(self) -> float:
        """The cycles of warps and of what they wait for in device memory."""
        if self.plan.exchange is Exchange.BLOCK:
            return beside_memory(self._cycles, self._memory_cycles)
        return with_memory(self._cycles, self._memory_cycles) if self.plan.streamed else 0.0

    @property
    def _latency(self) -> float:
        """The cycles of a plane, what one warp does after another."""
        is_strip = self.plan.exchange is Exchange.WARP and self.plan.streamed
        return self._of_strips.warp_cycles if is_strip else self._plane_cycles

    def _cycles_of(self, warps: float) -> float:
        """Of a scheduler that has so many warps, for a plane of each."""
        return max(self._plane_cycles, (warps + MISSED_WARPS) * self._issue_cycles)

    @cached_property
    def _issue_cycles(self) -> float:
        """Of a scheduler, for a plane of one warp."""
        points = prod(self.plan.points)
        slow = sum(f.arithmetic * (value_cycles(self.machine, double=f.double) - 1) for f in self.figures.made)
        exchanged = sum(f.words * sum(f.neighbours()) for f in self.figures.steps)
        more = (REGISTER_FILE_PARTITIONS - 1) * exchanged  # a multiprocessor shuffles one warp's words a cycle
        return self.figures.instructions(self.plan) + points * slow + more

    @cached_property
    def _plane_cycles(self) -> float:
        """What one warp waits for in a plane: steps that need the latest plane of those before, one after another."""
        waits = {f.step.index: 0.0 for f in self.figures.inputs}
        for f in self.figures.made:
            before = max((waits[source] for source in f.at_once), default=0.0)
            exchange = EXCHANGE_CYCLES if f.exchanged else 0
            waits[f.step.index] = before + exchange + OPERATION_CYCLES * f.arithmetic
        meets = self.plan.exchange is Exchange.BLOCK and not self.plan.split_barrier
        barrier = BARRIER_CYCLES if meets else 0
        return max(waits.values()) + barrier


def _together(*cycles: float) -> float:
    """Of what runs at the same time, and hinders each other where it takes about as long."""
    return float(sum(one**OVERLAP for one in cycles) ** (1 / OVERLAP))
