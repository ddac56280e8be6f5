"""What split tiles in registers take: registers, shared memory, and the time of a step.

A tile's warps issue the instructions of its steps and of its fill and drain; a colour's tiles share the
multiprocessors, one round of blocks after another. The longest of issuing, waiting and memory counts, and a part of
the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import ceil, prod, sqrt

from polytile.dataclass import dataclass
from polytile.ir.edge_rows import EdgeRows
from polytile.ir.scop import Scop
from polytile.ir.split_plan import SplitPlan, SplitRead, SplitWrite
from polytile.machine import (
    CACHE_LINE_BYTES,
    MAX_THREAD_REGISTERS,
    REGISTER_BYTES,
    REGISTER_FILE_PARTITIONS,
    THREAD_REGISTER_UNIT,
    WARP_SIZE,
    Machine,
)
from polytile.scheduling.cost.array_layout import element_size
from polytile.scheduling.cost.estimate import Estimate, KernelTime
from polytile.scheduling.cost.multiprocessor import value_cycles
from polytile.scheduling.cost.operation_cost import fused_operations, is_double, slow_operations
from polytile.scheduling.cost.split_extents import SplitExtents
from polytile.tuning import SplitTuning


def split_estimate(plan: SplitPlan, scop: Scop, machine: Machine, parameters: Mapping[str, int]) -> Estimate:
    """The time of the whole SCoP: a kernel, launched for each phase of each band."""
    extents = SplitExtents.of(plan, scop, machine, parameters)
    cost = SplitCost(plan, scop, machine, extents)
    values = tuple(sorted(extents.values.items()))
    phases = len(plan.phases)
    each = 1e6 / phases * plan.height
    kernel = KernelTime(
        number=0,
        launches=phases * ceil(extents.steps / plan.height),
        blocks=cost.tiles * 2**plan.dims / phases / plan.tiles,
        threads=WARP_SIZE * plan.warps,
        requests=0.0,
        l2=0.0,
        memory=each * cost.memory,
        arithmetic=each * cost.issuing,
        latency=each * cost.waiting,
        launch=machine.speed.launch_us,
        accesses=(),
        together=each * (cost.step_seconds - cost.launching),
    )
    return Estimate((kernel,), values)


@dataclass(frozen=True)
class SplitCost:
    """The kernel of a plan, for sizes that are known or assumed; times are seconds of a step of the time loop."""

    plan: SplitPlan
    scop: Scop
    machine: Machine
    extents: SplitExtents

    @property
    def _tuning(self) -> SplitTuning:
        return self.machine.tuning.split

    # Resources -----------------------------------------------------------------------------------
    @cached_property
    def _size(self) -> dict[str, int]:
        """The bytes of an element, by array."""
        return {array: int(element_size(self.scop.array(array))) for array, _ in self.plan.versions}

    @property
    def registers(self) -> int:
        """About how many registers a thread needs: its cells, rows of neighbours, and what it computes with."""
        alone, cell, statement = self._tuning.other_registers
        return ceil(self._of_cells + alone + cell * prod(self.plan.points) + statement * len(self.plan.writes))

    @property
    def spills(self) -> bool:
        """Whether ptxas may want more registers than threads of such a block can have."""
        alone, cell, array = self._tuning.wanted_registers
        wanted = self._of_cells + alone + cell * prod(self.plan.points) + array * len(self.plan.versions)
        thread = self.machine.registers_per_sm // (WARP_SIZE * self.plan.warps)
        return wanted > min(thread, MAX_THREAD_REGISTERS)

    @property
    def _of_cells(self) -> int:
        plan = self.plan
        own = sum(self._size[array] for array, _ in plan.fields) * prod(plan.points)
        beside = max(self._rows_beside(w.statement) + self._columns_beside(w.statement) for w in plan.writes)
        return ceil((own + beside) / REGISTER_BYTES)

    def _rows_beside(self, statement: str) -> int:
        """The bytes of rows of other warps that a statement needs at once."""
        return sum(self._size[r.array] for r in self._farthest(statement)) * self.plan.points[-1]

    def _columns_beside(self, statement: str) -> int:
        """The bytes of columns of other lanes that a statement needs at once: those of all rows that it reads, where it
        reads them beside other rows than its own."""
        total, dims = 0, self.plan.dims
        for array, _ in self.plan.versions:
            offsets = [r.offset for r in self.plan.reads_of(statement) if r.array == array and r.offset[-1]]
            if dims == 2 and any(offset[0] for offset in offsets):
                spans = [max(0, *along) - min(0, *along) for along in zip(*offsets, strict=True)]
                total += self._size[array] * (self.plan.points[0] + spans[0]) * spans[1]
        return total

    def _farthest(self, statement: str) -> Iterator[SplitRead]:
        """A read for each row of another warp that a statement needs at once."""
        seen = {}
        for read in self.plan.reads_of(statement) if self.plan.dims == 2 else ():
            for row in range(1, abs(read.offset[0]) + 1):
                seen[read.array, read.offset[0] > 0, row] = read
        yield from seen.values()

    @cached_property
    def shared_bytes(self) -> int:
        """The shared memory of a block: rows that warps show one another, in planes for each level."""
        plan, total = self.plan, 0
        if plan.tile_warps == 1:
            return 0
        for level in plan.levels:
            offsets: dict[str, list[int]] = {}
            for read in plan.reads:
                if plan.writer(read.statement).level == level and read.offset[0]:
                    offsets.setdefault(read.array, []).append(read.offset[0])
            for array, own in offsets.items():
                total += 2 * self._shown(own) * self._size[array]
        return total

    def _shown(self, offsets: list[int]) -> int:
        """The cells that warps show one another of an array that is read so far away."""
        plan = self.plan
        if plan.dims == 1:
            return (plan.warps + 2) * (max(0, *offsets) - min(0, *offsets))
        return EdgeRows.of(plan.warps, plan.points[0], offsets).height * plan.box[1]

    @cached_property
    def blocks_at_once(self) -> int:
        """How many blocks a multiprocessor has at a time."""
        machine, threads = self.machine, WARP_SIZE * self.plan.warps
        needed = -(-self.registers // THREAD_REGISTER_UNIT) * THREAD_REGISTER_UNIT * threads
        found = min(machine.registers_per_sm // needed, machine.threads_per_sm // threads, machine.blocks_per_sm)
        return min(found, machine.shared_per_sm // (self.shared_bytes + machine.shared_reserved))

    # Time ----------------------------------------------------------------------------------------
    @cached_property
    def tiles(self) -> float:
        """How many tiles of a colour there are, where most places are written."""
        periods = [cut.period for cut in self.plan.cuts]
        return max(
            prod((max(1.0, n / period) for n, period in zip(written, periods, strict=True)), start=1.0)
            for written in self.extents.written
        )

    @cached_property
    def step_seconds(self) -> float:
        parts = self.issuing, self.waiting, self.memory
        beside = self._tuning.beside * (sum(parts) - max(parts))
        return float(max(parts) + beside + self.filling + self.launching)

    @property
    def filling(self) -> float:
        """Of the lines of the L1 cache, one a cycle, that the loads of a tile touch: lanes are some columns apart."""
        plan, lines = self.plan, 0
        for array, _ in plan.fields:
            touched = ceil(WARP_SIZE * plan.points[-1] * self._size[array] / CACHE_LINE_BYTES)
            lines += prod(plan.points) * min(touched, WARP_SIZE)
        return self._tiles_a_step / self.machine.sms * plan.tile_warps * lines / self.machine.speed.clock

    @property
    def launching(self) -> float:
        return len(self.plan.phases) * self.machine.speed.launch_us * 1e-6 / self.plan.height

    @property
    def memory(self) -> float:
        return self.moved / self.machine.speed.memory

    @property
    def moved(self) -> float:
        """Bytes of device memory: what tiles fill and drain, but for what a launch finds in the L2 cache of what the
        one before it has written, which is a part of what it fills."""
        touched = self._tiles_a_step * self._bytes
        found = self._tuning.found * self.machine.speed.l2_bytes * len(self.plan.phases) / self.plan.height
        return touched - min(found, touched / 2)

    @property
    def issuing(self) -> float:
        """Of instructions, by the warps that a multiprocessor has."""
        clocks = REGISTER_FILE_PARTITIONS * self.machine.speed.clock
        each = (self._instructions + self._slower) * self.plan.tile_warps / clocks  # of a tile
        resident = min(self.tiles / self._at_once, 1.0) * self.blocks_at_once * self.plan.warps
        share, of_warps, most = self._tuning.issued
        issued = min(most, share * sqrt(resident / of_warps))
        return self._tiles_a_step / self.machine.sms * each / issued

    @property
    def _slower(self) -> float:
        """Cycles for which operations of a warp keep the units of a scheduler busy, beside those of their issue."""
        total = 0.0
        for statement in (self.scop.statement(w.statement) for w in self.plan.writes):
            cycles = value_cycles(self.machine, double=is_double(statement))
            total += prod(self.plan.points) * fused_operations(statement) * (cycles - 1)
        return self.plan.height * total * self._busy_warps

    @property
    def waiting(self) -> float:
        """Rounds of tiles, each as long as its steps take one behind the other."""
        tuning, plan = self._tuning, self.plan
        level = tuning.level_us + (tuning.barrier_us * plan.tile_warps if plan.tile_warps > 1 else 0.0)
        alone = 1e-6 * (tuning.tile_us + plan.height * len(plan.levels) * level)
        alone += tuning.cycles_alone * self._dependent / self.machine.speed.clock
        return float(max(1.0, self.tiles / self._at_once) * 2**plan.dims * alone / plan.height)

    @property
    def _at_once(self) -> int:
        """The tiles that the GPU has at a time."""
        return self.machine.sms * self.blocks_at_once * self.plan.tiles

    @property
    def _tiles_a_step(self) -> float:
        """Tiles of all colours, by the steps of a band."""
        return float(2**self.plan.dims * self.tiles / self.plan.height)

    @cached_property
    def _dependent(self) -> float:
        """Words that a thread computes one after another, for all steps of a tile and for what it fills and drains."""
        cells = prod(self.plan.points)
        of_step = sum(cells * self._of_a_cell(w) * self._words(w) for w in self.plan.writes)
        return self.plan.height * of_step + self._moved

    def _of_a_cell(self, write: SplitWrite) -> float:
        """The instructions that compute a cell, and keep it: sums of what is read, or more; a division has its own, of
        which a unit for double precision counts two as one operation."""
        statement = self.scop.statement(write.statement)
        slow = slow_operations(statement)
        plain = max(float(len(self.plan.reads_of(write.statement))), fused_operations(statement) - slow)
        return plain + slow * (2 if is_double(statement) else 1) + 2

    def _words(self, write: SplitWrite) -> int:
        return max(1, self._size[write.array] // REGISTER_BYTES)

    @property
    def _moved(self) -> float:
        """Instructions to fill and drain a tile."""
        alone, cell = self._tuning.transfer_instructions
        return len(self.plan.fields) * (alone + prod(self.plan.points) * cell)

    @cached_property
    def _instructions(self) -> float:
        """Of a warp, for all steps of a tile and for what it fills and drains."""
        plan, cells, total = self.plan, prod(self.plan.points), 0.0
        for write in plan.writes:
            reads = plan.reads_of(write.statement)
            beside = {(r.array, r.offset) for r in reads if r.offset[-1]}
            total += cells * self._of_a_cell(write) + prod(plan.points[:-1]) * self._words(write) * len(beside)
            total += 12 + 2 * sum(plan.points)
        return float(plan.height * total * self._busy_warps + self._moved)

    @property
    def _busy_warps(self) -> float:
        """The share of a tile's warps that have places to compute, over the steps of shrinking and growing tiles, which
        are one period wide together; the warps at the sides compute all of their places."""
        plan = self.plan
        if plan.tile_warps == 1:
            return 1.0
        of_warp = plan.points[0] * (WARP_SIZE if plan.dims == 1 else 1)
        return min(1.0, (plan.cuts[0].period / 2 + of_warp) / plan.box[0])

    @property
    def _bytes(self) -> float:
        """What a tile reads and writes of device memory."""
        moved = (self._size[a] * (0.8 if a in self.plan.transient else 2.0) for a, _ in self.plan.fields)
        return float(sum(moved) * prod(self.plan.box))
