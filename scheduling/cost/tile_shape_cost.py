"""What a shape of tiles costs before there is a tree: the time of products whose operands come from shared tiles.

Large tiles read less and leave few blocks; small ones the other way round. On 132 multiprocessors, 64 x 96 with 8 x 6
sums of doubles in a thread are best for a product of 2000 x 2300 sums; of 1000 x 1100, these are 192 blocks, two of
which wait for each other on 60 multiprocessors, and 48 x 96 with 6 x 6 take three quarters of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isqrt, prod

from polytile.dataclass import dataclass
from polytile.machine import L1_BYTES_PER_CYCLE, REGISTER_BYTES, VECTOR_BYTES, WARP_SIZE, Machine
from polytile.scheduling.cost.machine_model import (
    REACHED,
    in_rounds,
    in_turns,
    reached,
    resident_blocks,
    thread_registers,
)
from polytile.scheduling.cost.shared_requests import BANK_BYTES, BANKS, of_request

_FLOATS = 4  # bytes of an element with the rate of floats
_TOGETHER = 8  # loads of a thread for a tile that are on their way together


@dataclass(frozen=True, slots=True)
class TileShape:
    """What a thread takes of each tiled loop, and a tile of the serial one; the threads of a block, and how many blocks
    there are: about, where that is not `exact`. A product reads so many `operands` that move along each loop, and adds
    to `sums` at each point. A thread runs `other_points` iterations of other loops, too; elements have `element`
    bytes."""

    points: Sequence[int]
    threads: Sequence[int]
    serial: int
    operands: Sequence[int]
    sums: int
    other_points: int
    blocks: float
    exact: bool
    element: int

    @property
    def copied(self) -> Sequence[int]:
        """Return the elements of each shared tile."""
        own = zip(self.points, self.threads, self.operands, strict=True)
        return [p * t * self.serial for p, t, n in own for _ in range(n)]

    @property
    def loaded(self) -> int:
        """Return what a thread loads for its points in an iteration of the serial loop."""
        along = sum(n * p for n, p in zip(self.operands, self.points, strict=True))
        return along + (len(self.points) == 1)

    @property
    def requests(self) -> float:
        """Compute the cycles of shared memory for what a warp loads in an iteration of the serial loop.

        Rows of a tile have no padding where those that banks serve at once read one row: then they load vectors.
        """
        lanes = min(WARP_SIZE, self.threads[-1])
        rows, size = WARP_SIZE // lanes, self.element
        vector = max(1, VECTOR_BYTES[-1] // size) if lanes * size >= BANKS * BANK_BYTES else 1  # 1 of a struct
        pitch = self.serial + (vector == 1)
        across = of_request({row * pitch + k for row in range(rows) for k in range(vector)}, vector, size)
        *outer, last = (n * p for n, p in zip(self.operands, self.points, strict=True))
        return of_request(set(range(lanes)), 1, size) * last + across * (sum(outer) if outer else 1)


def least_step(shape: TileShape, machine: Machine) -> float:
    """Bound `serial_step` from below, by the arithmetic of a multiprocessor at the most that is reached of its rate."""
    rate = machine.speed.float_rate if shape.element <= _FLOATS else machine.speed.double_rate
    blocks = ceil(shape.blocks / machine.sms) * machine.sms if shape.exact else shape.blocks
    products = max(1, *shape.operands) * prod(shape.points) * shape.other_points
    return 1e6 * 2 * products * prod(shape.threads) * blocks / rate / REACHED


def serial_step(shape: TileShape, machine: Machine) -> float:
    """Compute the microseconds in which all blocks run one iteration of the serial loop."""
    speed, element = machine.speed, shape.element
    if not shape.blocks:
        return 0.0
    threads, copied = prod(shape.threads), shape.copied
    points = prod(shape.points) * shape.other_points
    most = shape.blocks / machine.sms
    shared = sum(copied) * element
    resident = min(ceil(most), _resident(shape, machine, shared))
    warps = ceil(threads / WARP_SIZE)
    rate = speed.float_rate if element <= _FLOATS else speed.double_rate
    products = max(1, *shape.operands)
    arithmetic = 2 * products * points * threads * machine.sms / rate / reached(resident * warps)
    copying = shared / shape.serial * (1 / L1_BYTES_PER_CYCLE + 1 / (BANKS * BANK_BYTES))
    requests = (warps * shape.requests * shape.other_points + copying) / speed.clock
    waits = sum(max(1.0, n / threads / _TOGETHER) if n % threads == 0 else ceil(n / threads) for n in copied)
    waiting = (waits * speed.l2_us + 2 * speed.barrier_us) / shape.serial
    each = 1e6 * in_turns(requests, arithmetic)
    if shape.exact:
        return in_rounds(ceil(most), resident, each, waiting)
    return most / resident * in_rounds(resident, resident, each, waiting)


def _resident(shape: TileShape, machine: Machine, shared: int) -> int:
    """Estimate the blocks of a multiprocessor at a time: between those that there is room for, and those that launch
    bounds ask for, whose compiler loads ahead (TiledKernelCost.resident)."""
    threads = prod(shape.threads)
    kept, read = prod(shape.points) * shape.other_points * shape.sums, shape.loaded
    registers = thread_registers(kept * shape.element, max(read * shape.element, shared // threads))
    room = resident_blocks(machine, threads, registers, shared)
    wanted = machine.tuning.promotion.spare_registers + (kept + read) * shape.element // REGISTER_BYTES
    return max(1, isqrt(room * min(room, machine.registers_per_sm // (wanted * threads))))
