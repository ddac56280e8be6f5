"""What the times and registers of all kernels have in common: how times add up that hide one another in part, what
the resident warps reach, and how long a multiprocessor takes for all of its blocks, a few at a time.

The exponents of `together` are fitted for each kind of kernel, and stand with its other numbers.

A fill of a shared tile and its barriers stall a block, which other blocks hide:

    one block of 64 x 64 sums, 16 terms a tile: 1.2 us of work and 0.75 us of stalls for each tile
    three blocks at a time: 3.6 us of work for three tiles, no stalls

The numbers were fitted to measured kernels of an H200: products, 4 x 4 to 8 x 8 sums in a thread. Those of threads
without loops are by 32 kernels of stencils on an H200 (within 16% in double precision, 14% in single; root mean square)
and 94 on an H100, whose device memory has 0.7 of the bandwidth (23%).
"""

from __future__ import annotations

from math import ceil

from polytile.machine import (
    MAX_THREAD_REGISTERS,
    REGISTER_BYTES,
    REGISTER_FILE_PARTITIONS,
    THREAD_REGISTER_UNIT,
    WARP_SIZE,
    Machine,
    Speed,
)

REACHED = 0.8  # of the rate of arithmetic, by many warps
_MISSED_WARPS = 1.5  # with so many more, as much would be reached by few
_APART = 0.25  # of the shorter of requests and arithmetic: as much is not done at the same time
_HIDDEN = 1.5  # the exponent with which the times of threads without loops add up
_BESIDE_MEMORY = 2.5  # the same for all of these and the time of device memory, which seldom waits for them
_BESIDE_SUMS = 30  # of a thread, beside its sums and what they read


def reached(warps: float) -> float:
    """Return the share of the rate of arithmetic that so many resident warps reach."""
    return REACHED * warps / (warps + _MISSED_WARPS)


def in_turns(requests: float, arithmetic: float) -> float:
    """Compute the time of requests and of the arithmetic that uses them, which overlap only in part."""
    return max(requests, arithmetic) + _APART * min(requests, arithmetic)


def value_cycles(machine: Machine, *, double: bool) -> float:
    """Compute the cycles for which an instruction on values of a warp keeps the units of a scheduler busy."""
    rate = machine.speed.double_rate if double else machine.speed.float_rate
    return max(1.0, 2 * WARP_SIZE * REGISTER_FILE_PARTITIONS * machine.sms * machine.speed.clock / rate)


def together(power: float, *times: float) -> float:
    """Compute the time of work whose latencies hide one another in part: `(a^power + b^power)^(1/power)`.

    With a power of 1 nothing is hidden; with a large one, all but the longest time.
    """
    return float(sum(one**power for one in times) ** (1 / power))


def hidden_in_part(*times: float) -> float:
    """Compute the time of threads without loops: the blocks of a multiprocessor do not all wait for the same at a
    time."""
    return together(_HIDDEN, *times)


def beside_device_memory(here: float, memory: float) -> float:
    """Compute the time of blocks that are busy for so long on multiprocessors, and of device memory.

    The memory serves others while some do not load.
    """
    return together(_BESIDE_MEMORY, here, memory)


def in_rounds(blocks: int, resident: int, each: float, stalls: float) -> float:
    """Compute the time of all blocks of a multiprocessor that has some of them resident at a time.

    `each` keeps it busy for so long, and waits for so long.
    """
    full, rest = divmod(blocks, resident)
    return full * max(resident * each, each + stalls) + (max(rest * each, each + stalls) if rest else 0.0)


def thread_registers(kept: int, read: int) -> int:
    """Estimate the registers of a thread that keeps sums of so many bytes, and reads so many at a time."""
    return min(MAX_THREAD_REGISTERS, in_portions(_BESIDE_SUMS + -(-(kept + read) // REGISTER_BYTES)))


def in_portions(words: float) -> int:
    """Return the registers that a thread gets for so many words."""
    return ceil(words / THREAD_REGISTER_UNIT) * THREAD_REGISTER_UNIT


def registers_alone(machine: Machine, warps: int) -> int:
    """Return the most registers of a thread of a block of so many warps that is alone on a multiprocessor, each part of
    which has its own."""
    full = ceil(warps / REGISTER_FILE_PARTITIONS) * REGISTER_FILE_PARTITIONS
    return min(MAX_THREAD_REGISTERS, machine.registers_per_sm // (full * WARP_SIZE))


def memory_rate(machine: Machine, speed: Speed, touched: float) -> float:
    """Return the bytes a second of arrays of so many bytes: of L2 where they stay there from one kernel to the next,
    else of device memory."""
    return speed.l2 if touched <= min(speed.l2_bytes, machine.tuning.resident_bytes) else speed.memory


def resident_blocks(machine: Machine, threads: int, registers: int, shared_bytes: int) -> int:
    """Return the number of blocks that fit on a multiprocessor.

    It is one at least, which has fewer registers where it must.
    """
    return max(1, machine.resident_blocks(threads, registers, shared_bytes))
