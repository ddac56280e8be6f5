"""What split tiles in registers take: registers of a thread, shared memory of a block, instructions of a step."""

from __future__ import annotations

from functools import cached_property
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.ir.edge_rows import EdgeRows
from polytile.ir.scop import Scop, Statement
from polytile.ir.split_tiles import Field, SplitRead, SplitTiles, SplitWrite
from polytile.ir.time_tile import TileThreads
from polytile.machine import (
    MAX_THREAD_REGISTERS,
    REGISTER_BYTES,
    WARP_SIZE,
    Machine,
)
from polytile.scheduling.cost.array_layout import element_size
from polytile.scheduling.cost.machine_model import in_portions, value_cycles
from polytile.scheduling.cost.operation_cost import fused_operations, is_double, slow_operations
from polytile.tuning import SplitTuning


@dataclass(frozen=True)
class WriteFigures:
    """A statement of a plan: the words of an element that it writes, what it reads, the `instructions` that compute a
    cell and keep it, its operations, and the cycles for which each keeps the units of a scheduler busy."""

    write: SplitWrite
    words: int
    reads: tuple[SplitRead, ...]
    instructions: float
    operations: float
    cycles: float

    @cached_property
    def beside(self) -> int:
        """Return how many elements of other columns it reads."""
        return len({(r.array, r.offset) for r in self.reads if r.offset[-1]})

    @cached_property
    def farthest(self) -> tuple[SplitRead, ...]:
        """Return a read for each row of another warp that it needs at once."""
        seen = {}
        for read in self.reads if len(self.write.lower) == 2 else ():
            for row in range(1, abs(read.offset[0]) + 1):
                seen[read.array, read.offset[0] > 0, row] = read
        return tuple(seen.values())


@dataclass(frozen=True)
class SplitFigures:
    """The statements of a plan, whatever its tiles; the bytes of an element, by array; how many levels a step has, and
    how many launches a band."""

    writes: tuple[WriteFigures, ...]
    size: dict[str, int]
    fields: tuple[Field, ...]
    transient: tuple[str, ...]
    levels: int
    launches: int
    machine: Machine

    @property
    def tuning(self) -> SplitTuning:
        return self.machine.tuning.split

    @cached_property
    def rows_read(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return for each level of a step: the arrays of which rows of other warps are read, and how far away."""
        found: dict[tuple[int, str], list[int]] = {}
        for write in sorted(self.writes, key=lambda w: w.write.level):
            for read in (r for r in write.reads if r.offset[0]):
                found.setdefault((write.write.level, read.array), []).append(read.offset[0])
        return tuple((array, tuple(offsets)) for (_, array), offsets in found.items())


def split_figures(plan: SplitTiles, scop: Scop, machine: Machine) -> SplitFigures:
    size = {array: int(element_size(scop.array(array))) for array, _ in plan.versions}
    writes = tuple(_figures(plan, scop.statement(w.statement), w, size, machine) for w in plan.writes)
    return SplitFigures(writes, size, plan.fields, plan.transient, len(plan.levels), len(plan.phases), machine)


def _figures(
    plan: SplitTiles, statement: Statement, write: SplitWrite, size: dict[str, int], machine: Machine
) -> WriteFigures:
    """Return the registers and operations of a write.

    A cell takes sums of what is read, or more; a division has its own instructions, of which a unit for double
    precision counts two as one operation.
    """
    reads, slow, double = plan.reads_of(write.statement), slow_operations(statement), is_double(statement)
    operations = fused_operations(statement)
    instructions = max(float(len(reads)), operations - slow) + slow * (2 if double else 1) + 2
    words = max(1, size[write.array] // REGISTER_BYTES)
    return WriteFigures(write, words, reads, instructions, operations, value_cycles(machine, double=double))


@dataclass(frozen=True)
class BlockFigures:
    """The same in blocks of some warps and cells, whatever the height of bands and the widths of tiles."""

    of_plan: SplitFigures
    block: TileThreads

    @property
    def _dims(self) -> int:
        return len(self.block.points)

    @cached_property
    def cells(self) -> int:
        """Count the cells of a thread."""
        return prod(self.block.points)

    @cached_property
    def registers(self) -> int:
        """Estimate the registers of a thread: its cells, rows of neighbours, and what it computes with."""
        alone, cell, statement = self.of_plan.tuning.other_registers
        return ceil(self._of_cells + alone + cell * self.cells + statement * len(self.of_plan.writes))

    @property
    def spills(self) -> bool:
        """Return whether ptxas may want more registers than threads of such a block can have."""
        alone, cell, array = self.of_plan.tuning.wanted_registers
        wanted = self._of_cells + alone + cell * self.cells + array * len(self.of_plan.size)
        thread = self.of_plan.machine.registers_per_sm // (WARP_SIZE * self.block.warps)
        return wanted > min(thread, MAX_THREAD_REGISTERS)

    @cached_property
    def _of_cells(self) -> int:
        own = sum(self.of_plan.size[array] for array, _ in self.of_plan.fields) * self.cells
        beside = max(self._rows_beside(w) + self._columns_beside(w) for w in self.of_plan.writes)
        return ceil((own + beside) / REGISTER_BYTES)

    def _rows_beside(self, write: WriteFigures) -> int:
        """Compute the bytes of rows of other warps that a statement needs at once."""
        return sum(self.of_plan.size[r.array] for r in write.farthest) * self.block.points[-1]

    def _columns_beside(self, write: WriteFigures) -> int:
        """Compute the bytes of columns of other threads of the warp that a statement needs at once.

        They are those of all rows that it reads, where it reads them beside other rows than its own.
        """
        total = 0
        for array, size in self.of_plan.size.items() if self._dims == 2 else ():
            offsets = [r.offset for r in write.reads if r.array == array and r.offset[-1]]
            if any(offset[0] for offset in offsets):
                spans = [max(0, *along) - min(0, *along) for along in zip(*offsets, strict=True)]
                total += size * (self.block.points[0] + spans[0]) * spans[1]
        return total

    @cached_property
    def shared_bytes(self) -> int:
        """Compute the shared memory of a block in bytes: rows that warps exchange, in planes for each level."""
        if self.block.tile_warps == 1:
            return 0
        size = self.of_plan.size
        return sum(2 * self._shown(offsets) * size[array] for array, offsets in self.of_plan.rows_read)

    def _shown(self, offsets: tuple[int, ...]) -> int:
        """Count the cells that warps exchange of an array that is read so far away."""
        block = self.block
        if self._dims == 1:
            return (block.warps + 2) * (max(0, *offsets) - min(0, *offsets))
        return EdgeRows.of(block.warps, block.points[0], offsets).height * block.tile[1]

    @cached_property
    def at_once(self) -> int:
        """Return how many blocks a multiprocessor has at a time."""
        machine, threads = self.of_plan.machine, WARP_SIZE * self.block.warps
        needed = in_portions(self.registers) * threads
        found = min(machine.registers_per_sm // needed, machine.threads_per_sm // threads, machine.blocks_per_sm)
        return min(found, machine.shared_per_sm // (self.shared_bytes + machine.shared_reserved))

    # Of a step, or of filling and draining a tile ----------------------------------------------------
    @cached_property
    def instructions(self) -> float:
        """Count the instructions of a warp for a step."""
        points, total = self.block.points, 0.0
        for write in self.of_plan.writes:
            total += self.cells * write.instructions + prod(points[:-1]) * write.words * write.beside
            total += 12 + 2 * sum(points)
        return total

    @cached_property
    def slower(self) -> float:
        """Compute the cycles for which operations of a warp keep the units of a scheduler busy in a step, beside those
        of their issue."""
        total = 0.0
        for write in self.of_plan.writes:
            total += self.cells * write.operations * (write.cycles - 1)
        return total

    @cached_property
    def dependent(self) -> float:
        """Compute the words that a thread computes one after another in a step."""
        return sum(self.cells * write.instructions * write.words for write in self.of_plan.writes)

    @cached_property
    def moving(self) -> float:
        """Compute the instructions to fill and drain a tile."""
        alone, cell = self.of_plan.tuning.transfer_instructions
        return len(self.of_plan.fields) * (alone + self.cells * cell)

    @cached_property
    def moved(self) -> float:
        """Return the bytes that a tile reads and writes of device memory."""
        size, transient = self.of_plan.size, self.of_plan.transient
        each = (size[a] * (0.8 if a in transient else 2.0) for a, _ in self.of_plan.fields)
        return float(sum(each) * prod(self.block.tile))
