"""The compiler's story, stage after stage: what happens to one SCoP between the frontend and the text.

Each stage takes the state so far and returns a new one; an observer, when there is one, sees the result of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polytile.codegen.lowering.lower import LoweringInput, lower, lower_sequential
from polytile.codegen.lowering.verify_ast import UnfaithfulLoopsError
from polytile.codegen.passes.block_order import alternate
from polytile.codegen.passes.dependent_launch import start_early
from polytile.codegen.passes.kernel_cache_hints import leaving
from polytile.codegen.targets.c.reference_c import print_sequential
from polytile.codegen.targets.cuda.device_functions import require_machine
from polytile.compilation import Compilation
from polytile.diagnostics import InternalError, UserError
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import Path
from polytile.ir.scop import Scop
from polytile.ir.verify.uniform import check_segments, check_uniform
from polytile.machine import machine_of
from polytile.options import CODE_OPERATIONS, Options
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.last_use import last_reads
from polytile.scheduling.proof.legality import BarrierReason
from polytile.stages.analysis import expand_storage, find_dependences, join_locals, separate_purposes
from polytile.stages.place_data import choose_storage, combine_lanes, proven
from polytile.stages.select_schedule import find_schedule
from polytile.tuning import LoadTuning

Observer = Callable[[str, object], None]


def prove_legality(state: Compilation) -> Compilation:
    """The proof of legality, for a simpler strategy's schedule if there is none for the one that was chosen.

    Raises IllegalSchedule, and UserError when the budget does not suffice for a proof.
    """
    try:
        return proven(state)
    except (InternalError, UserError) as error:
        if state.otherwise is None:
            raise
        return proven(_simpler(state, f"its proof fails: {error.message}"))


def _sums_of_few(scop: Scop, tuning: LoadTuning) -> dict[str, int]:
    """The statements that accumulate partial results, or add them up, where one iterator at most tells results apart,
    and how many iterations may load at once: threads are few then. More results are more threads, some of which run
    while others wait for memory; lanes that share out chunks have few each."""
    few = [p for p in scop.privatised if len(p.group) <= 1]
    many = tuning.max_batch_iterations
    sums = {p.update: many for p in few}
    return sums | {p.finish: tuning.few_iterations if p.gathering else many for p in few if p.finish is not None}


def generate_program(state: Compilation) -> Compilation:
    """Kernels and the host program. Where the loops of a schedule take too long to find, or do not run all of it, those
    of a simpler strategy's, or the SCoP stays on the host; raises UserError for a schedule that was given."""
    if state.schedule is None or state.proof is None:
        return state
    try:
        with budget(CODE_OPERATIONS):
            return _generated(state)
    except OverBudgetError:
        reason = f"finding the loops of the {state.schedule.strategy} schedule takes too long"
    except UnfaithfulLoopsError as error:
        reason = f"the loops that isl makes of the {state.schedule.strategy} schedule are wrong: {error.message}"
    except InternalError as error:  # loops that isl joins below conditions under which threads cannot meet
        if state.otherwise is None:
            raise
        reason = f"its kernels are not well formed: {error.message}"
    if state.options.load_schedule is not None:
        raise UserError(f"{state.scop.name}: {reason}", location=state.scop.location, hint="use a simpler schedule")
    if state.otherwise is None:
        return replace(state, schedule=None).with_remark(f"{state.scop.name} stays on the host: {reason}")
    return generate_program(proven(_simpler(state, reason)))


def _simpler(state: Compilation, reason: str) -> Compilation:
    """The same up to the proof, with a schedule of a simpler strategy."""
    assert state.otherwise is not None
    plain = choose_storage(combine_lanes(find_schedule(state.otherwise)))
    plain = replace(plain, options=state.options)
    return plain.with_remark(f"the superposed schedule is not used, as {reason}")


def _generated(state: Compilation) -> Compilation:
    assert state.schedule is not None
    assert state.proof is not None
    run = state.run
    scop, schedule = run.scop, run.schedule
    if schedule.relaxed:
        raise InternalError(f"{scop.name}: no kernel combines partial results of {schedule.relaxed}")
    given = LoweringInput(
        machine=state.machine,
        transfers=state.transfers,
        barriers=barrier_reasons(scop, run.dependences, state.proof.barriers),
        storage=state.homes,
        handovers=state.handovers,
        sums=_sums_of_few(state.scop, state.machine.tuning.loads),
        last_reads=last_reads(scop, schedule),
    )
    program = replace(lower(scop, schedule, given), graphs=state.options.graphs)
    program = start_early(leaving(alternate(program), state.machine.tuning.resident_bytes))
    for kernel in program.kernels:
        require_machine(kernel, state.machine)
        if state.otherwise is not None:
            check_uniform(kernel)
            check_segments(kernel)
    kernels = len(program.kernels)
    return replace(state, program=program).with_remark(
        f"{state.scop.name}: {state.schedule.strategy} schedule, {kernels} kernel{'s' * (kernels != 1)}; {state.proof}"
    )


def barrier_reasons(scop: Scop, dependences: Dependences, barriers: tuple[BarrierReason, ...]) -> dict[Path, str]:
    """`S1 (x.c:12) needs A from S0 (x.c:10)`, for the barrier of each sync mark."""
    reasons: dict[Path, str] = {}
    for barrier in barriers:
        arrays = " and ".join(dependences.arrays_between(barrier.source, barrier.sink)) or "memory"
        first, then = (_named(scop, name) for name in (barrier.source, barrier.sink))
        reasons.setdefault(barrier.path, f"{then} depends on {first} through {arrays}")
    return reasons


def _named(scop: Scop, name: str) -> str:
    location = scop.statement(name).location
    return location.short if location.line else name


STAGES: tuple[tuple[str, Callable[[Compilation], Compilation]], ...] = (
    ("locals", join_locals),
    ("dependences", find_dependences),
    ("live ranges", separate_purposes),
    ("expansion", expand_storage),
    ("schedule", find_schedule),
    ("lanes", combine_lanes),
    ("storage", choose_storage),
    ("legality", prove_legality),
    ("ast", generate_program),
)


def compile_scop(scop: Scop, options: Options, *, observe: Observer | None = None) -> Compilation:
    """Take one Scop through all stages.

    Raises UserError (the SCoP cannot be compiled), IllegalSchedule (a given schedule breaks a dependence), UsageError
    (sizes that the GPU does not allow).
    """
    state = Compilation(scop, options, machine_of(options.arch), scop)
    for name, stage in STAGES:
        state = stage(state)
        if observe is not None:
            observe(name, state)
    return state


def sequential_text(scop: Scop) -> str:
    """The SCoP in its original order as a C function, for Scops that did not come from C."""
    body = lower_sequential(scop)
    by_value = frozenset(a.name for a in scop.external_arrays if scop.by_value(a))
    return print_sequential(
        f"{scop.name}_reference", scop.parameters, scop.arrays, by_value, body, scop.definitions
    )
