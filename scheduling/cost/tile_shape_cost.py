"""What a shape of tiles costs before there is a tree: the time of products whose operands come from shared tiles.

Large tiles read less and leave few blocks; small ones the other way round. Of a product of 2000 x 2300 sums of doubles,
64 x 96 with 8 x 6 sums in a thread is best on 132 multiprocessors; of 500 x 500 sums, 32 x 32 with 4 x 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.machine import L1_BYTES_PER_CYCLE, WARP_SIZE, Machine
from polytile.scheduling.cost.multiprocessor import in_rounds, in_turns, reached, resident_blocks, thread_registers

_BANK_BYTES = 128  # of shared memory in a cycle
_DOUBLE_TURNS = 1.5  # of banks, on average, for a warp that reads two rows of one tile, and part of a row of another
_FLOATS = 4  # bytes of an element with the rate of floats


@dataclass(frozen=True, slots=True)
class TileShape:
    """What a block takes of each tiled loop and of the serial one, what a thread takes, and how many blocks there are:
    about, where that is not `exact`. A thread runs `other_points` iterations of other loops, too; elements have
    `element` bytes."""

    tile: Sequence[int]
    points: Sequence[int]
    threads: int
    serial: int
    other_points: int
    blocks: float
    exact: bool
    element: int

    @property
    def copied(self) -> int:
        """Return the bytes of the shared tiles."""
        return sum(self.tile) * self.serial * self.element

    @property
    def operands(self) -> int:
        """Return what a thread loads for its points in an iteration of the serial loop."""
        return sum(self.points) + (len(self.points) == 1)


def serial_step(shape: TileShape, machine: Machine) -> float:
    """Compute the microseconds in which all blocks run one iteration of the serial loop."""
    speed, element = machine.speed, shape.element
    if not shape.blocks:
        return 0.0
    points = prod(shape.points) * shape.other_points
    most = shape.blocks / machine.sms
    registers = thread_registers(points * element, max(shape.operands * element, shape.copied // shape.threads))
    resident = min(ceil(most), resident_blocks(machine, shape.threads, registers, shape.copied))
    warps = ceil(shape.threads / WARP_SIZE)
    rate = speed.float_rate if element <= _FLOATS else speed.double_rate
    arithmetic = 2 * points * shape.threads * machine.sms / rate / reached(resident * warps)
    copying = shape.copied / shape.serial * (1 / L1_BYTES_PER_CYCLE + 1 / _BANK_BYTES)
    turns = 1.0 if element <= _FLOATS else _DOUBLE_TURNS
    requests = (turns * warps * shape.operands * shape.other_points + copying) / speed.clock
    waiting = (2 * speed.l2_us + 2 * speed.barrier_us) / shape.serial
    each = 1e6 * in_turns(requests, arithmetic)
    if shape.exact:
        return in_rounds(ceil(most), resident, each, waiting)
    return most / resident * in_rounds(resident, resident, each, waiting)
