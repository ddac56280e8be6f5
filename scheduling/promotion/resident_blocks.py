"""How many blocks of a kernel with tiles shall be on a multiprocessor at once: as many as its registers and shared
memory allow. Without a bound the compiler of the kernel loads far ahead, in registers that other blocks could have.

before: __launch_bounds__(256)           118 registers a thread, two blocks
after:  __launch_bounds__(256, 3)        80 registers a thread: 32 of sums, 16 of operands, 32 of addresses
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polytile.ir.loop_places import LabelledLoop
from polytile.ir.memory import Space
from polytile.ir.plan import LaunchPlan, Owner, Placement
from polytile.ir.scop import Scop
from polytile.machine import MAX_THREAD_REGISTERS, REGISTER_BYTES, Machine
from polytile.scheduling.promotion.reference_tiles import box_of, references_in


def launch_plan(
    scop: Scop, loops: Sequence[LabelledLoop], placements: Sequence[Placement], machine: Machine
) -> LaunchPlan:
    """Plan the launch of a kernel with these loops, outermost first."""
    threads = prod(loops[0].kernel.sizes)
    registers = _registers(scop, loops, placements) + machine.tuning.promotion.spare_registers
    if not placements or registers > MAX_THREAD_REGISTERS:
        return LaunchPlan()
    fitting = machine.registers_per_sm // (registers * threads)
    shared = [p for p in placements if p.memory is Space.SHARED]
    size = sum(p.layout.size(p.extents) * scop.array(p.array).element.size for p in shared)
    if size:
        fitting = min(fitting, machine.shared_per_sm // size)
    return LaunchPlan(min_blocks=min(fitting, machine.blocks_per_sm, machine.threads_per_sm // threads))


def _registers(scop: Scop, loops: Sequence[LabelledLoop], placements: Sequence[Placement]) -> int:
    """Count a thread's registers: its tiles, and the most that its outermost loop reads of shared ones at a time."""
    own = [p for p in placements if p.memory is Space.PRIVATE]
    held = sum(prod(p.extents) * scop.array(p.array).element.size for p in own)
    uses = {use for p in placements if p.memory is Space.SHARED for use in p.uses}
    inside = [loop for loop in loops if loop.in_threads]
    outermost = [loop for loop in inside if not any(_is_around(other, loop) for other in inside)]
    read = max((_read(scop, loop, uses) for loop in outermost), default=0)
    return (held + read) // REGISTER_BYTES


def _is_around(outer: LabelledLoop, inner: LabelledLoop) -> bool:
    return outer is not inner and inner.path[: len(outer.path)] == outer.path


def _read(scop: Scop, loop: LabelledLoop, uses: set[tuple[str, int]]) -> int:
    """Compute the bytes of what these uses read, in one iteration of a thread's loop."""
    total = 0
    for reference in references_in(scop, loop):
        box = box_of(reference, loop, Owner.THREAD) if reference.use in uses else None
        total += 0 if box is None else box.cells * scop.array(reference.access.array).element.size
    return total
