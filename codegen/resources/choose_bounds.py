"""Bounds of registers at which more blocks of a large body are on a multiprocessor at once.

before: derivative, double: as many registers as ptxas likes, statements as in the source
after:  128 registers: two blocks of 256 threads; statements in an order that needs about 120, 32-bit offsets

A thread of a large body waits for memory and for its own results most of the time: twice as many warps take nearly half
of the time, until memory is busy. A bound is tried through all passes, as orders and addresses depend on it, and taken
where the kernel then needs hardly more registers: each one that is missing is stored and loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from polytile.codegen.passes.plan import LoweredPlan
from polytile.codegen.resources.estimate import estimate, needed_registers
from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, If, Stmt
from polytile.ir.expr_trees import statements, walk, with_bodies
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.memory import shared_size
from polytile.machine import MAX_THREAD_REGISTERS, THREAD_REGISTER_UNIT, Machine

FULL_RATE = 0.5  # of the warps that fit: with so many, memory is busy, and more hardly help
NEARLY = 1.15  # of the estimate of registers: what it may be off by
CHEAP_SPILLS = 10  # one register in so many may be missing: what is stored then stays in L1
Plans = Sequence[LoweredPlan]


@dataclass(frozen=True, slots=True)
class RegisterChoice:
    """The registers that a thread of a kernel may have: `needed` by the estimate, or `unbound` without a bound, and how
    many blocks are then on a multiprocessor at once."""

    kernel: str
    registers: int
    needed: int
    unbound: int
    blocks: int

    def __str__(self) -> str:
        return (
            f"{self.kernel}: {self.registers} registers at most (about {self.needed} are needed, {self.unbound} as it "
            f"was), for {self.blocks} blocks on a multiprocessor at once (--registers N takes others)"
        )


def choose_bounds(
    program: HostProgram, plans: Plans, large: Sequence[str], machine: Machine, make: Callable[[Plans], HostProgram]
) -> tuple[tuple[LoweredPlan, ...], tuple[RegisterChoice, ...]]:
    """Choose bounds for the plans of the `large` kernels that run faster with them; `make` runs the passes."""
    found, choices = list(plans), list[RegisterChoice]()
    for position, plan in enumerate(plans):
        kernel = program.kernels[position]
        if kernel.name not in large or not _is_free(kernel, plan):
            continue
        for blocks, registers in _steps(kernel, plan, machine):
            tried = [*found[:position], replace(plan, registers=registers), *found[position + 1 :]]
            needed = needed_registers(_of_full_tiles(make(tried).kernels[position], plan))
            if needed <= registers + registers // CHEAP_SPILLS:
                found = tried
                choices.append(
                    RegisterChoice(kernel.name, registers, needed, estimate(kernel, machine).registers, blocks)
                )
                break
    return tuple(found), tuple(choices)


def bound_small_grids(program: HostProgram, plans: Mapping[str, LoweredPlan], machine: Machine) -> HostProgram:
    """Bound blocks on a multiprocessor where grids are small, so that threads have registers for all that they load;
    `plans` are of kernels by their names.

    before: __launch_bounds__(256)       48 registers: more blocks have a place, of which small grids have none
    after:  __launch_bounds__(256, 4)    64: a thread waits for memory once, where it waited three times

    Iterations of 40^3 cells took 0.70 to 1.01 of the time (H200; "Kernels of one iteration for small grids" in
    polybench/results/rests-and-small-grids-h200-2026-12-01.md). Kernels are left as
    they are that need more, or of which so few blocks have a place in any case.
    """
    wanted = machine.tuning.registers.half_registers

    def bounded(kernel: Kernel) -> Kernel:
        plan = plans.get(kernel.name)
        if plan is None or not (plan.few_blocks and plan.points and _is_free(kernel, plan)):
            return kernel
        threads = prod(kernel.block)
        blocks = machine.registers_per_sm // (wanted * threads)
        unbound = machine.resident_blocks(threads, estimate(kernel, machine).registers, 0)
        if unbound <= blocks or needed_registers(_of_full_tiles(kernel, plan)) > wanted:
            return kernel
        return replace(kernel, min_blocks=blocks)

    return replace(program, kernels=tuple(map(bounded, program.kernels)))


def _of_full_tiles(kernel: Kernel, plan: LoweredPlan) -> Kernel:
    """Drop what runs points singly where a tile is not full: few threads do, and may spill."""
    return replace(kernel, body=_largest(kernel.body)) if plan.points else kernel


def _largest(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Keep the conditional statement that uses most elements, of neighbours that store to the same arrays."""
    found: list[Stmt] = []
    for stmt in body:
        then, otherwise = (_size(stmt.then), _size(stmt.otherwise)) if isinstance(stmt, If) else (0, 0)
        if isinstance(stmt, If) and then and otherwise:
            stmt = replace(stmt, otherwise=()) if then > otherwise else If(stmt.condition, stmt.otherwise)
        found.append(with_bodies(stmt, _largest))
    if not any(isinstance(stmt, If) for stmt in found):
        return tuple(found)
    most: dict[frozenset[str], int] = {}
    sized = [(stmt, _stored(stmt), _size([stmt])) for stmt in found]
    for _, stored, size in sized:
        most[stored] = max(most.get(stored, 0), size)
    return tuple(stmt for stmt, stored, size in sized if not isinstance(stmt, If) or size == most[stored])


def _size(body: Sequence[Stmt]) -> int:
    return sum(isinstance(node, Access) for node in walk(*body))


def _stored(stmt: Stmt) -> frozenset[str]:
    targets = (node.target for node in statements(stmt) if isinstance(node, Assign))
    return frozenset(target.array for target in targets if isinstance(target, Access))


def _is_free(kernel: Kernel, plan: LoweredPlan) -> bool:
    """Return whether nothing else has decided how many registers or blocks there are."""
    bound = kernel.min_blocks or kernel.max_registers or plan.registers
    return not (bound or plan.tiled)


def _steps(kernel: Kernel, plan: LoweredPlan, machine: Machine) -> Iterator[tuple[int, int]]:
    """Yield numbers of blocks on a multiprocessor, most first, with the registers that allow them.

    They go from what is enough for memory to be busy down to what the estimate says of the kernel as it is.
    """
    threads, own = prod(kernel.block), estimate(kernel, machine)
    enough = int(FULL_RATE * machine.threads_per_sm) // threads
    if own.blocks_per_multiprocessor >= enough:
        registers = _most_registers(kernel, machine, enough)
        if plan.points and own.registers * NEARLY > registers:  # ptxas may take more, as it knows no reason not to
            yield enough, registers
        return
    for blocks in range(enough, max(own.blocks_per_multiprocessor, 2) - 1, -1):
        registers = _most_registers(kernel, machine, blocks)
        if registers:
            yield blocks, registers


def _most_registers(kernel: Kernel, machine: Machine, blocks: int) -> int:
    """Return the registers of a thread with which so many blocks fit; 0 where they never do."""
    threads, shared = prod(kernel.block), sum(shared_size(s) for s in kernel.shared)
    counts = range(MAX_THREAD_REGISTERS // THREAD_REGISTER_UNIT * THREAD_REGISTER_UNIT, 0, -THREAD_REGISTER_UNIT)
    return next((n for n in counts if machine.resident_blocks(threads, n, shared) >= blocks), 0)
