"""What kernels of one step take whose blocks share planes of their inputs (PLANES, COLUMNS), and their time.

    shared memory: of each input that is read beside the own column, the planes in turns with their halo
    time of a plane: of a warp, the latency of a load, a barrier, and its instructions; of a scheduler, the issue slots
                     of its warps; tiles take their places in rounds
    time of a kernel: planes of a chunk with its halo for each round; L2, from which halos come; device memory, beside

The numbers are those of block_tile_time.py, whose kernels have the same loads and barriers; none is fitted to these.

Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes on GPU clusters (CGO 2012), section 4.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep, owned_planes
from polytile.ir.scop import Scop
from polytile.ir.time_tile import Exchange
from polytile.machine import REGISTER_FILE_PARTITIONS, Machine, Speed
from polytile.scheduling.cost.block_tile_time import BESIDE_MEMORY, INSTRUCTION_CYCLES, ISSUE_CYCLES, PLANE_CYCLES
from polytile.scheduling.cost.estimate import KernelTime, Residency
from polytile.scheduling.cost.machine_model import in_portions, memory_rate, resident_blocks, together, value_cycles
from polytile.scheduling.cost.stream_resources import StepFigures, StreamFigures, stream_figures

BASE_WORDS = 30  # registers for addresses, bounds and masks
LOAD_INSTRUCTIONS = 3  # of a cell that is loaded and put into shared memory, with its test
POINT_INSTRUCTIONS = 4  # of a point beside arithmetic and reads: its test, and the store
ROW_INSTRUCTIONS = 30  # of a plane
STREAM_SHARE = 0.86  # of the rate of a copy at which tiles load and store planes


@dataclass(frozen=True)
class PlaneTiles:
    """The tiles of the kernel that makes step number `made` of a plan, with what they take."""

    plan: OverlappedTiles
    all_figures: StreamFigures
    machine: Machine
    made: int

    @cached_property
    def inputs(self) -> tuple[StepFigures, ...]:
        return tuple(self.all_figures.steps[s.index] for s in self.plan.inputs_of(self.step.step))

    @property
    def step(self) -> StepFigures:
        """Return what is made."""
        return self.all_figures.steps[self.made]

    def _beside(self, step: StreamStep) -> bool:
        return any(r.source == step.index and any(r.offset[1:]) for r in self.plan.reads)

    def _plane(self, step: StreamStep) -> int:
        """Count the cells of a plane of an input with its halo."""
        sides = zip(self.plan.tile, step.lower[1:], step.upper[1:], strict=True)
        return prod(n - a + b for n, a, b in sides)

    @cached_property
    def _loads(self) -> dict[int, int]:
        """Count, by input, the cells that a thread loads of a plane."""
        threads, found = prod(self.plan.threads), {}
        for step in (f.step for f in self.inputs):
            together = self._plane(step) if self._beside(step) else 0
            if self.plan.exchange is Exchange.COLUMNS or not together:
                own = prod(self.plan.points)
                found[step.index] = own + ceil(max(0, together - prod(self.plan.tile)) / threads)
            else:
                found[step.index] = ceil(together / threads)
        return found

    @property
    def most_loads(self) -> int:
        """Return the cells that a thread loads of a plane of one input, at most."""
        return max(self._loads.values(), default=0)

    @cached_property
    def shared_bytes(self) -> int:
        ring = self.plan.exchange is Exchange.PLANES
        shared = [f for f in self.inputs if self._beside(f.step)]
        return sum((f.step.slots if ring else self.plan.shared_planes) * self._plane(f.step) * f.size for f in shared)

    @cached_property
    def registers(self) -> int:
        ring, points = self.plan.exchange is Exchange.PLANES, prod(self.plan.points)
        words: float = BASE_WORDS
        for f in self.inputs:
            kept = 0 if ring and self._beside(f.step) else points * f.step.slots
            words += f.words * (kept + self._loads[f.step.index]) + self._loads[f.step.index]
        words += 4 * self.step.words
        return in_portions(words)

    @cached_property
    def resident(self) -> int:
        """Return the blocks that a multiprocessor holds."""
        return resident_blocks(self.machine, prod(self.plan.threads), self.registers, self.shared_bytes)

    @cached_property
    def loaded(self) -> float:
        """Return the bytes that a tile loads for each of its cells, halo included."""
        own = prod(self.plan.tile)
        return sum(f.size * (self._plane(f.step) if self._beside(f.step) else own) for f in self.inputs) / own

    @cached_property
    def instructions(self) -> float:
        """Count the instructions of a thread for a plane."""
        reads, step = len(self.plan.reads_of(self.made)), self.step
        made = step.arithmetic * value_cycles(self.machine, double=step.double) + len(step.loads)
        loads = LOAD_INSTRUCTIONS * sum(self._loads.values())
        return ROW_INSTRUCTIONS + loads + prod(self.plan.points) * (made + reads + POINT_INSTRUCTIONS)


@dataclass(frozen=True)
class PlaneCost:
    """One kernel with such tiles, each of which owns so many planes (`OverlappedTiles.chunk`), over so many cells along
    each dimension, launched so often."""

    tiles: PlaneTiles
    cells: tuple[float, ...]
    launches: int
    chunk: int
    tiles_at_once: int = 0

    @cached_property
    def across(self) -> int:
        """Count the tiles beside one another."""
        return prod(self.tiles.plan.counts(self.cells))

    @cached_property
    def _owned(self) -> float:
        return owned_planes(self.chunk, self.tiles_at_once, self.cells[0], self.across, self.tiles.plan.latest)

    @cached_property
    def _blocks(self) -> int:
        return self.across * ceil(max(1.0, self.cells[0]) / self._owned)

    @cached_property
    def _planes(self) -> float:
        """Count the planes that pass while a tile makes its own."""
        return self._owned + self.tiles.plan.latest

    def microseconds(self, speed: Speed) -> float:
        """Compute the microseconds of all launches, with memory of a speed."""
        return self.kernel(speed).microseconds

    def kernel(self, speed: Speed) -> KernelTime:
        tiles, plan = self.tiles, self.tiles.plan
        rounds = max(1, ceil(self._blocks / (tiles.machine.sms * tiles.resident)))
        cycles = self._cycles()
        memory = self._memory_cycles(speed)
        fetched = prod(self.cells) * (self._along * tiles.loaded + self._other)
        return KernelTime(
            number=0,
            launches=self.launches,
            blocks=self._blocks,
            threads=prod(plan.threads),
            l2=1e6 * fetched / speed.l2,
            memory=1e6 * memory / speed.clock,
            arithmetic=1e6 * cycles / speed.clock,
            latency=1e6 * self._planes * rounds * PLANE_CYCLES / speed.clock,
            launch=speed.launch_us,
            together=1e6 * together(BESIDE_MEMORY, cycles, memory) / speed.clock,
            residency=Residency(tiles.registers, tiles.shared_bytes, tiles.resident, rounds),
        )

    @property
    def _along(self) -> float:
        """Return how often a plane is loaded."""
        return self._planes / self._owned

    @property
    def _other(self) -> float:
        """Return the bytes of a cell that are stored, or loaded of other arrays."""
        step = self.tiles.step
        return step.size + sum(step.loads)

    def _memory_cycles(self, speed: Speed) -> float:
        inputs = sum(f.size for f in self.tiles.inputs)
        moved = prod(self.cells) * (inputs * self._along + self._other)
        rate = memory_rate(self.tiles.machine, speed, prod(self.cells) * (inputs + self._other))
        return moved / (STREAM_SHARE * rate) * speed.clock

    def _cycles(self) -> float:
        """Compute the cycles until all tiles are done, if nothing waits for device memory."""
        tiles, machine = self.tiles, self.tiles.machine
        places = machine.sms * tiles.resident
        full, rest = divmod(self._blocks, places)
        cycles = full * self._plane(tiles.resident) + (self._plane(ceil(rest / machine.sms)) if rest else 0.0)
        return self._planes * cycles

    def _plane(self, blocks: int) -> float:
        """Compute the cycles of so many blocks of a multiprocessor, for a plane of each."""
        tiles = self.tiles
        alone = PLANE_CYCLES + INSTRUCTION_CYCLES * tiles.instructions
        slots = ISSUE_CYCLES * tiles.instructions * tiles.plan.warps / REGISTER_FILE_PARTITIONS
        return max(alone, blocks * slots)


def plane_tiles(plan: OverlappedTiles, scop: Scop, machine: Machine) -> tuple[PlaneTiles, ...]:
    """Return the tiles of each kernel."""
    figures = stream_figures(plan, scop)
    return tuple(PlaneTiles(plan, figures, machine, step.index) for step in plan.made)
