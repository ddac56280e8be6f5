"""What a kernel takes, estimated without a compiler.

ptxas loads early, so that memory has time to answer, but only as far as all warps still fit on a multiprocessor: the
registers are what values need at once when every load comes as late as it can, more where that keeps the occupancy. Up
to a bound of registers it loads as early as it can. Of the addresses that straight code uses several times it keeps
about half, and computes the others again; those of one place in all arrays are in the making at once.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from polytile.codegen.resources.linear_code import Code, code_of
from polytile.codegen.resources.occupancy import KernelResources, resources
from polytile.codegen.resources.register_pressure import pressure, staying
from polytile.codegen.resources.unroll import unroll
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.ir.identity_key import IdentityKey
from polytile.ir.kernel import Kernel, ceil_div
from polytile.ir.memory import Space
from polytile.machine import (
    ADDRESS_BYTES,
    INSTRUCTION_BYTES,
    MAX_THREAD_REGISTERS,
    REGISTER_BYTES,
    REGISTER_FILE_PARTITIONS,
    THREAD_REGISTER_UNIT,
    WARP_SIZE,
    Machine,
)
from polytile.recursion_limit import deep_recursion

RESERVED = 8  # registers for the stack, addresses in the making, and what the order of instructions costs
FRAME = 22  # instructions around a kernel's own: coordinates, bounds, padding


def estimate(kernel: Kernel, machine: Machine) -> KernelResources:
    """Estimate the resources of `kernel` on `machine`; spills are what an eighth more registers would not hold."""
    code = _code(kernel)
    arrays = sum(storage.space is Space.GLOBAL for storage in kernel.storage)
    own = max(RESERVED, code.helpers, arrays * ADDRESS_BYTES // REGISTER_BYTES)
    late = pressure(code.values, code.loops, eager=False)
    least = own + (late + pressure(staying(code.values, code.loops), code.loops, eager=False) + 1) // 2
    most = pressure(code.values, code.loops, eager=True) + own
    limit = _limit(kernel, machine)
    registers = max(least, min(most, limit if kernel.max_registers else _free_registers(kernel, machine)))
    spilled = REGISTER_BYTES * max(0, least - limit - limit // 8)
    size = INSTRUCTION_BYTES * (code.instructions + FRAME)
    return resources(kernel, machine, "estimate", min(registers, limit), size, spilled)


def needed_registers(kernel: Kernel) -> int:
    """Return the registers of a thread that hold all values and addresses, whatever the bound.

    Loads come as late as they can.
    """
    code = _code(kernel)
    return pressure(code.values, code.loops, eager=False) + max(RESERVED, code.helpers)


def _code(kernel: Kernel) -> Code:
    return _known_code(IdentityKey(kernel))


@lru_cache(maxsize=8)
def _known_code(kernel: IdentityKey[Kernel]) -> Code:
    """Return the code of a kernel, which several questions in turn are about."""
    with deep_recursion():
        return code_of(unroll(kernel.value))


def _free_registers(kernel: Kernel, machine: Machine) -> int:
    """Return the registers of a thread with which as many warps fit as could at all."""
    threads = prod(kernel.block)
    warps = machine.resident_blocks(threads, 1, shared_bytes(kernel)) * ceil_div(threads, WARP_SIZE)
    return machine.registers_per_sm // (max(1, warps) * WARP_SIZE) // THREAD_REGISTER_UNIT * THREAD_REGISTER_UNIT


def _limit(kernel: Kernel, machine: Machine) -> int:
    """Return the most registers that a thread may use."""
    warps = max(1, kernel.min_blocks) * ceil_div(prod(kernel.block), WARP_SIZE)
    most = ceil_div(warps, REGISTER_FILE_PARTITIONS)  # of a part of the registers
    share = machine.registers_per_sm // (REGISTER_FILE_PARTITIONS * most * WARP_SIZE)
    asked = share // THREAD_REGISTER_UNIT * THREAD_REGISTER_UNIT
    return min(MAX_THREAD_REGISTERS, kernel.max_registers or MAX_THREAD_REGISTERS, asked)
