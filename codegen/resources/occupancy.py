"""What a kernel takes, and how many of its blocks a multiprocessor holds with that."""

from __future__ import annotations

from math import prod

from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes, shared_bytes
from polytile.dataclass import dataclass
from polytile.ir.kernel import Kernel, ceil_div
from polytile.machine import WARP_SIZE, Machine


@dataclass(frozen=True, slots=True)
class KernelResources:
    """Registers of a thread, bytes of a block's memory and of code, and the part of all warps that run at once.

    `occupancy` is between 0 and 1; `source` is "estimate" or "ptxas", the latter with the bytes that were spilled.
    """

    kernel: str
    source: str
    registers: int
    spill_bytes: int
    static_shared: int
    dynamic_shared: int
    threads: int
    blocks_per_multiprocessor: int
    occupancy: float
    instruction_bytes: int

    def __str__(self) -> str:
        spilled = f" ({self.spill_bytes} bytes spilled)" if self.spill_bytes else ""
        shared = self.static_shared + self.dynamic_shared
        return (
            f"{self.kernel}: {self.threads} threads, {self.registers} registers{spilled}, {shared} bytes shared, "
            f"{self.blocks_per_multiprocessor} blocks on a multiprocessor ({self.occupancy:.0%} of its warps), "
            f"{self.instruction_bytes} bytes of code ({self.source})"
        )


def resources(
    kernel: Kernel, machine: Machine, source: str, registers: int, instruction_bytes: int, spill_bytes: int = 0
) -> KernelResources:
    """Compute all figures of a kernel from those that a compiler decides."""
    threads, shared, dynamic = prod(kernel.block), shared_bytes(kernel), dynamic_shared_bytes(kernel)
    blocks = machine.resident_blocks(threads, registers, shared)
    warps = blocks * ceil_div(threads, WARP_SIZE)
    occupancy = warps * WARP_SIZE / machine.threads_per_sm
    return KernelResources(
        kernel=kernel.name,
        source=source,
        registers=registers,
        spill_bytes=spill_bytes,
        static_shared=shared - dynamic,
        dynamic_shared=dynamic,
        threads=threads,
        blocks_per_multiprocessor=blocks,
        occupancy=occupancy,
        instruction_bytes=instruction_bytes,
    )
