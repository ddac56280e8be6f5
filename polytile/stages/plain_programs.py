"""The host program of plain kernels that a schedule and its plans stand for, and what each of these asks of passes.

tree           the loops of isl, by codegen/lowering/lower.py
split tiles    the kernel of tiles in registers, by lowering/time_tiles/split
overlapped     kernels for the first iterations, by lowering/time_tiles/overlapped, and the tree's loops for others
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from polytile.codegen.lowering.constant_parameters import with_constant_parameters
from polytile.codegen.lowering.device_buffers import buffers, second_buffer
from polytile.codegen.lowering.kernel_plans import Decisions, plan_kernels
from polytile.codegen.lowering.lower import LoweringInput, index_type, lower
from polytile.codegen.passes.plan import LoweredPlan
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import shadow_arrays
from polytile.ir.placed_storage import is_home
from polytile.ir.schedule import MappedSchedule, Path
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.last_use import last_reads
from polytile.scheduling.proof.atomics import indivisible
from polytile.scheduling.proof.legality import BarrierReason
from polytile.tuning import LoadTuning

if TYPE_CHECKING:
    from polytile.codegen.lowering.time_tiles.overlapped.stream_program import StreamProgram


@dataclass(frozen=True, slots=True)
class PlainProgram:
    """A program before any pass, the plan of each of its kernels, and names that none of them uses. `numbers` says
    which of the schedule's kernels each was; the last ones are of the tree, those before them of time tiles."""

    program: HostProgram
    plans: tuple[LoweredPlan, ...]
    names: Names
    numbers: tuple[int, ...] = ()


def plain_program(state: Compilation, *, promote: bool) -> PlainProgram:
    """Lower what a compilation has chosen and proven; elements stay in memory unless loops may `promote` them."""
    if state.split is not None:
        plain = _split(state, state.split)
    else:
        first = _first_iterations(state)
        plain = _tree(state, first, promote=promote)
        plain = plain if first is None else _behind(plain, first, state)
    return replace(plain, program=with_constant_parameters(plain.program, state.run.scop.context))


def _split(state: Compilation, plan: SplitTiles) -> PlainProgram:
    """Return the program of tiles in registers, which needs no loops of isl's."""
    from polytile.codegen.lowering.time_tiles.split.split_program import split_program

    scop = state.run.scop
    memory = buffers(scop, state.transfers, frozenset())
    program = split_program(scop, plan, memory, index_type(scop), behind=state.behind)
    asked = LoweredPlan(time_tile=True, registers=state.options.registers)
    return PlainProgram(program, (asked,) * len(program.kernels), Names.of(scop))


def _tree(state: Compilation, first: StreamProgram | None, *, promote: bool) -> PlainProgram:
    """Return the program of the schedule's tree, of the iterations that are left after the `first` ones, if there are
    any."""
    assert state.proof is not None
    run = state.run
    scop, schedule = run.scop, run.schedule
    if schedule.relaxed:
        raise InternalError(f"{scop.name}: no kernel combines partial results of {schedule.relaxed}")
    if first is not None:
        scop, schedule = _left_over(state, first)
    memory = cache(partial(_memory, state, first))  # asked for behind the loops, which fail first
    barriers = barrier_reasons(scop, run.dependences, state.proof.barriers)
    plans = state.kernel_plans
    lowered = lower(scop, schedule, LoweringInput(memory, barriers, plans, indivisible(run)))
    tuning, asked = state.machine.tuning.loads, state.options
    decided = Decisions(
        state.given if state.all_given else plans,
        state.all_given,
        last_reads(scop, schedule),
        _sums_of_few(state.scop, tuning),
        "" if asked.order == "source" else asked.order,
        asked.registers,
        not asked.strict,
        first is not None and first.least_cells is not None and state.small_grids is None,
    )
    found = plan_kernels(lowered, scop, decided, tuning, promote=promote)
    return PlainProgram(lowered.program, found, lowered.names, tuple(shape.number for shape in lowered.shapes))


def _sums_of_few(scop: Scop, tuning: LoadTuning) -> dict[str, int]:
    """Return the statements that accumulate partial results, or add them up, where results differ by one iterator at
    most, and how many iterations may load at once: threads are few then. More results are more threads, some of which
    run while others wait for memory; threads that share out chunks have few each."""
    few = [p for p in scop.privatised if len(p.group) <= 1]
    many = tuning.max_batch_iterations
    sums = {p.update: many for p in few}
    return sums | {p.finish: tuning.few_iterations if p.gathering else many for p in few if p.finish is not None}


def _memory(state: Compilation, first: StreamProgram | None) -> tuple[Buffer, ...]:
    """Return the buffers of arrays that some kernel has in device memory."""
    used = {home.array for kernel in first.kernels for home in kernel.storage} if first is not None else set()
    inside = {placement.array for plan in state.kernel_plans for placement in plan.placements if is_home(placement)}
    return buffers(state.run.scop, state.transfers, frozenset(inside - used))


# Kernels for the first iterations -------------------------------------------------------------------------------------
def _first_iterations(state: Compilation) -> StreamProgram | None:
    """Return the kernels of a plan of overlapped tiles, and the host's loop around them."""
    if state.overlapped is None:
        return None
    from polytile.codegen.lowering.time_tiles.overlapped.stream_program import stream_kernels

    scop = state.run.scop
    scop = replace(scop, arrays=(*scop.arrays, *shadow_arrays(scop, state.overlapped)))
    return stream_kernels(scop, state.overlapped, Names.of(scop), index_type(scop))


def _left_over(state: Compilation, first: StreamProgram) -> tuple[Scop, MappedSchedule]:
    """Return the iterations after the first ones, and their part of the schedule."""
    from polytile.codegen.lowering.remaining_iterations import from_iteration, unless_done, without_any

    scop, schedule = state.run.scop, state.run.schedule
    if first.leaves_none:
        return without_any(scop, schedule)
    once = state.overlapped is not None and state.overlapped.once
    return (unless_done if once else from_iteration)(scop, schedule, first.rest.name)


def _behind(rest: PlainProgram, first: StreamProgram, state: Compilation) -> PlainProgram:
    """Return the program of the iterations that are left, after the first ones, which it starts from."""
    assert state.overlapped is not None
    scop, program = state.run.scop, rest.program
    homes = {t.array.name: t for t in state.transfers}
    pairs = zip(state.overlapped.shadows, shadow_arrays(scop, state.overlapped), strict=True)
    shadows = (second_buffer(scop, array, homes[state.overlapped.steps[k].array]) for (k, _), array in pairs)
    program = replace(
        program,
        parameters=tuple(p for p in program.parameters if p.name != first.rest.name),
        buffers=(*program.buffers, *shadows),
        kernels=(*first.kernels, *program.kernels),
        body=(*first.prefix, *program.body),
        bounds=() if first.least_cells is None else (first.least_cells.name,),
    )
    asked = LoweredPlan(time_tile=True, early=False, registers=state.options.registers)
    return replace(rest, program=program, plans=(*(asked for _ in first.kernels), *rest.plans))


# Barriers -------------------------------------------------------------------------------------------------------------
def barrier_reasons(scop: Scop, dependences: Dependences, barriers: tuple[BarrierReason, ...]) -> dict[Path, str]:
    """Return the reason for the barrier of each sync mark: `S1 (x.c:12) needs A from S0 (x.c:10)`."""
    reasons: dict[Path, str] = {}
    for barrier in barriers:
        arrays = " and ".join(dependences.arrays_between(barrier.source, barrier.sink)) or "memory"
        first, then = (_named(scop, name) for name in (barrier.source, barrier.sink))
        reasons.setdefault(barrier.path, f"{then} depends on {first} through {arrays}")
    return reasons


def _named(scop: Scop, name: str) -> str:
    location = scop.statement(name).location
    return location.short if location.line else name
