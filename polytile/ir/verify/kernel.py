"""What must hold of a kernel before it is printed, beyond what its nodes show alone."""

from __future__ import annotations

from math import prod

from polytile.ir.kernel import Kernel
from polytile.ir.memory import shared_size
from polytile.ir.verify.accesses import check_alignment, check_registers, check_spaces
from polytile.ir.verify.names import check_names
from polytile.ir.verify.order import check_copies, check_launches, check_split_barriers
from polytile.ir.verify.refuse import ensure
from polytile.ir.verify.uniform import check_uniform
from polytile.machine import (
    MAX_BLOCK,
    MAX_BLOCK_THREADS,
    MAX_THREAD_REGISTERS,
    MIN_THREAD_REGISTERS,
    Machine,
    machine_of,
)

_WIDEST = machine_of("sm_90")


def check_kernel(kernel: Kernel, *, machine: Machine = _WIDEST, registers_only: bool = False) -> None:
    """Raise InternalError, with the kernel's name and the node, for a kernel that was built wrongly.

    With `registers_only` all private arrays have to be addressed by constants.
    """
    check = machine, registers_only
    if check in kernel.passed:
        return
    check_names(kernel)
    _check_shape(kernel, machine)
    check_spaces(kernel)
    check_alignment(kernel)
    check_copies(kernel)
    check_split_barriers(kernel)
    check_launches(kernel)
    check_uniform(kernel)
    if registers_only:
        check_registers(kernel)
    kernel.passed.add(check)


def _check_shape(kernel: Kernel, machine: Machine) -> None:
    threads, cap = prod(kernel.block), kernel.max_registers
    fits = all(size <= most for size, most in zip(kernel.block, MAX_BLOCK, strict=True))
    ensure(fits and threads <= MAX_BLOCK_THREADS, kernel, None, f"a block of {kernel.block} threads")
    resident = kernel.min_blocks * threads <= machine.threads_per_sm
    ensure(kernel.min_blocks >= 0 and resident, kernel, None, f"{kernel.min_blocks} blocks of {threads} threads")
    ensure(not cap or MIN_THREAD_REGISTERS <= cap <= MAX_THREAD_REGISTERS, kernel, None, f"a cap of {cap} registers")
    ensure(cap <= machine.most_registers(threads), kernel, None, f"{threads} threads of {cap} registers")
    ensure(
        not cap or not kernel.min_blocks,
        kernel,
        None,
        "both a cap on registers and a number of blocks",
    )
    size = sum(shared_size(s) for s in kernel.shared)
    ensure(size <= machine.shared_per_block, kernel, None, f"{size} bytes of shared memory")
