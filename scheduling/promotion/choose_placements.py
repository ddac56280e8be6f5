"""Where the data of kernels belong: sums of a thread in registers, what threads share in shared memory.

before: kernel / block [i/64, j/64] / sequence { S0; loop[k0] ... S1 }     all in device memory
after:  C_acc: 4 x 4 of a thread, for the kernel; A_tile: 64 x 16, B_tile: 16 x 64 of a block, at k0

How many blocks of a kernel with tiles shall be on a multiprocessor at once: as many as its registers and shared
memory allow. Without a bound the compiler of the kernel loads far ahead, in registers that other blocks could have.

before: __launch_bounds__(256)           118 registers a thread, two blocks
after:  __launch_bounds__(256, 3)        80 registers a thread: 32 of sums, 16 of operands, 32 of addresses

What is done to the loops of tiles: full ones apart from partial ones, and short loops of threads unrolled.

before: for (k0) for (k < 16) for (p < 4) C_acc[p] += ...
after:  full tiles of k0 without conditions; 16 * 4 sums one after the other, each C_acc[p] a register
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import OverBudgetError, budget, maps, mark_name
from polytile.ir.loop_places import LabelledLoop, labelled_loops
from polytile.ir.memory import Space
from polytile.ir.name_supply import Names
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, LaunchPlan, LoopPlan, Owner, Placement
from polytile.ir.schedule import KERNEL, REGISTER_TILE, SYNC, nodes_below
from polytile.ir.scop import Scop
from polytile.machine import MAX_THREAD_REGISTERS, REGISTER_BYTES, STATIC_SHARED_BYTES, Machine
from polytile.scheduling.analysis.data_transfers import is_copied_in
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.promotion.footprint_boxes import IN, OUT, box_around
from polytile.scheduling.promotion.placements import tile_bytes
from polytile.scheduling.promotion.reference_tiles import (
    ReferenceTile,
    box_of,
    full_tiles,
    has_plain_copies,
    references_in,
)
from polytile.scheduling.promotion.register_tiles import register_placement, register_tiles
from polytile.scheduling.promotion.shared_tiles import shared_placement, shared_tiles
from polytile.scheduling.promotion.updated_tiles import updated_placement, updated_tiles
from polytile.tuning import PromotionTuning

MAX_OPERATIONS = 4_000_000  # of isl, for a kernel: about a second; four times what products and convolutions take


@dataclass(frozen=True, slots=True)
class Promoted:
    """The plans of the kernels that have placements, and why each of these is there, for a reader."""

    plans: tuple[KernelPlan, ...]
    lines: tuple[str, ...]


def promote(
    scop: Scop,
    dependences: Dependences,
    tree: isl.Schedule,
    machine: Machine,
    shared_memory: int = STATIC_SHARED_BYTES,
    kept: Collection[str] = (),
) -> Promoted:
    """Choose placements for a mapped tree with labelled loops; arrays in `kept` are stored elsewhere."""
    loops: dict[int, list[LabelledLoop]] = {}
    for (kernel, _), loop in labelled_loops(tree).items():
        loops.setdefault(kernel, []).append(loop)
    names = Names.of(scop)
    marks = [node for node in nodes_below(tree.get_root()) if mark_name(node) == KERNEL]
    meeting = [any(mark_name(node) == SYNC for node in nodes_below(mark)) for mark in marks]
    plans: list[KernelPlan] = []
    lines: list[str] = []
    for kernel, own in loops.items():
        if len(own) == 1 or any(loop.label == REGISTER_TILE for loop in own):
            continue  # nothing is said of its tiles, or all of them is in the code of its points
        choice = _Choice(scop, dependences, machine, tuple(own), frozenset(kept), names, meeting[kernel])
        try:
            with budget(MAX_OPERATIONS):
                plan, words = choice.plan(shared_memory)
        except OverBudgetError:
            lines.append(f"kernel {kernel}: no placements, as they would take too long to find")
            continue
        plans += [plan] if plan.placements else []
        lines += [f"kernel {kernel}: {word}" for word in words]
    return Promoted(tuple(plans), tuple(lines))


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is chosen for one kernel; its loops are outermost first. The threads of a `meeting` kernel read what others
    wrote, behind barriers."""

    scop: Scop
    dependences: Dependences
    machine: Machine
    loops: tuple[LabelledLoop, ...]
    kept: frozenset[str]
    names: Names
    meeting: bool

    @property
    def tuning(self) -> PromotionTuning:
        return self.machine.tuning.promotion

    @property
    def whole(self) -> LabelledLoop:
        return self.loops[0]

    def plan(self, shared_memory: int) -> tuple[KernelPlan, list[str]]:
        arrays = dict.fromkeys(r.access.array for r in references_in(self.scop, self.whole))
        free = [array for array in arrays if array not in self.kept]
        found = [*self._in_registers(free)]
        taken = {use for placement, _ in found for use in placement.uses}
        found += self._updated(free, taken, shared_memory)
        shared_memory -= sum(tile_bytes(self.scop, p) for p, _ in found)
        taken = {use for placement, _ in found for use in placement.uses}
        found += self._shared(free, taken, shared_memory)
        placements = tuple(placement for placement, _ in found)
        lines = [line for _, line in found]
        left = [array for array in free if array not in {p.array for p in placements}]
        lines += [f"{', '.join(left)} in device memory"] if left else []
        loops = loop_plans(self.loops, self.tuning.unrolled_iterations)
        launch = launch_plan(self.scop, self.loops, placements, self.machine)
        return KernelPlan(self.whole.kernel.number, placements, loops, launch), lines

    def _in_registers(self, arrays: Sequence[str]) -> Iterator[tuple[Placement, str]]:
        for tile in register_tiles(self.scop, self.loops, arrays, self.dependences, self.tuning.tile_registers):
            name = self.names.fresh(f"{tile.array.name}_acc")
            found = register_placement(name, tile, self.scop, self.dependences)
            if not has_plain_copies(found, tile):
                continue
            yield found, _line(found, tile, "one thread has them alone")

    def _updated(
        self, arrays: Sequence[str], taken: Collection[tuple[str, int]], memory: int
    ) -> Iterator[tuple[Placement, str]]:
        if not self.meeting:
            return
        found = updated_tiles(self.scop, self.loops, arrays, taken, self.dependences, memory, self.tuning)
        for tile in found:
            placement = updated_placement(self.names.fresh(f"{tile.tile.array.name}_tile"), tile)
            yield placement, _line(placement, tile.tile, "the block reads what it wrote")

    def _shared(
        self, arrays: Sequence[str], taken: Collection[tuple[str, int]], memory: int
    ) -> Iterator[tuple[Placement, str]]:
        for shared in shared_tiles(self.scop, self.loops, arrays, taken, memory, self.tuning):
            name = self.names.fresh(f"{shared.tile.array.name}_tile")
            initialised = is_copied_in(self.scop, self.dependences, shared.tile.array.name)
            found = shared_placement(name, shared, self.scop, self.tuning.copy_bytes, initialised)
            if not has_plain_copies(found, shared.tile):
                continue
            yield found, _line(found, shared.tile, shared.why(self.tuning))


def _line(placement: Placement, tile: ReferenceTile, why: str) -> str:
    memory = "registers" if placement.memory is Space.PRIVATE else "shared memory"
    where = f"{memory} of a {placement.owner.value} at {placement.level}"
    often = "any number of times" if tile.reuse is None else f"{float(tile.reuse):g} times"
    return f"{placement.name}: {placement.array}{tile.box} in {where}, each used {often}: {why}"


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


def loop_plans(loops: Sequence[LabelledLoop], most: int) -> tuple[LoopPlan, ...]:
    """Plan labelled loops; at most `most` iterations of nested loops are unrolled, innermost first.

    Of a loop with more iterations some at a time are unrolled.
    """
    outside = (loop for loop in loops if loop.label != WHOLE_KERNEL and not loop.in_threads)
    found = {loop.label: LoopPlan(loop.label, partition=True) for loop in outside if is_over_tiles(loop)}
    inside = sorted((loop for loop in loops if loop.in_threads), key=lambda each: -len(each.path))
    unrolled: dict[str, int] = {}
    for loop in inside:
        copies = max((unrolled[i.label] for i in inside if i.label in unrolled and _is_in(i, loop)), default=1)
        total = iterations(loop) * copies
        below = (i.label in unrolled for i in inside if _is_in(i, loop))
        if not total or not all(below):
            continue
        if total <= most:
            unrolled[loop.label] = total
            found[loop.label] = LoopPlan(loop.label, unroll=0)
        elif copies > 1 and (factor := 1 << (most // copies).bit_length() - 1) > 1:
            found[loop.label] = LoopPlan(loop.label, unroll=factor)
    return tuple(found[loop.label] for loop in loops if loop.label in found)


def _is_in(inner: LabelledLoop, outer: LabelledLoop) -> bool:
    return inner is not outer and inner.path[: len(outer.path)] == outer.path


def is_over_tiles(loop: LabelledLoop) -> bool:
    """Return whether an iteration stands for several values of an iterator: its number is a quotient."""
    own = len(loop.roles) - loop.members
    times = [placed.as_pw_multi_aff() for placed in maps(loop.iterations)]
    found = (time.get_pw_aff(k) for time in times for k in range(own, len(loop.roles)))
    return any(aff.dim(isl.dim_type.div) > 0 for value in found for _, aff in value.get_pieces())


def iterations(loop: LabelledLoop) -> int:
    """Return how many iterations a loop has; 0 where that is not constant."""
    found = [box_around(_by_outer(full_tiles(placed).range(), loop.members)) for placed in maps(loop.iterations)]
    return 0 if None in found else max((box.cells for box in found if box is not None), default=0)


def _by_outer(times: isl.Set, members: int) -> isl.Map:
    """Return `{ [outer] -> [own] }` for the members of a loop itself."""
    outer = times.dim(isl.dim_type.set) - members
    return isl.Map.from_range(times).move_dims(IN, 0, OUT, 0, outer)
