"""The compiler's story, stage after stage: what happens to one SCoP between the frontend and the text.

Each stage takes the state so far and returns a new one; an observer, when there is one, sees the result of each. A
schedule that a later stage refuses gives way to the next candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from polytile.codegen.lowering.given_plans import with_loops
from polytile.codegen.lowering.lower import lower_sequential
from polytile.codegen.lowering.verify_ast import UnfaithfulLoopsError
from polytile.codegen.passes import REGISTER_LIMIT, SCALAR_REPLACEMENT
from polytile.codegen.passes.basic_blocks import LEAST_LIVE, is_short_of_registers
from polytile.codegen.passes.driver import Versions, asked_by, check_disabled, improvements
from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.codegen.size_limits import can_hold, size_limits
from polytile.codegen.targets.cuda.device_functions import require_machine
from polytile.compilation import Compilation
from polytile.diagnostics import BUGS, InternalError, UserError, described, is_bug
from polytile.ir.atomic_updates import with_updates
from polytile.ir.isl_memoization import memoizing
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Scop
from polytile.ir.specialization import specialized
from polytile.ir.statement_names import in_source_words
from polytile.ir.verify.kernel import check_kernel
from polytile.machine import machine_of
from polytile.options import CODE_OPERATIONS, Options, TunedVersion
from polytile.scheduling.candidate import Candidate
from polytile.scheduling.cost.strides import has_serial_part
from polytile.stage_times import each_in_stage, stage
from polytile.stages.analysis import (
    expand_storage,
    find_dependences,
    join_locals,
    replace_divisions,
    separate_purposes,
)
from polytile.stages.place_data import choose_storage, combine_lanes, prove_legality, without_kernel_tiles
from polytile.stages.plain_programs import plain_program
from polytile.stages.select_schedule import candidates, find_schedule

Observer = Callable[[str, object], None]


def generate_program(state: Compilation) -> Compilation:
    """Generate kernels and the host program. Raises OverBudgetError where finding the loops takes too long, and
    InternalError where these do not run all of the schedule, or kernels are not well formed."""
    if state.schedule is None or state.proof is None:
        return state
    return _with_limits(_improved(state))


def _with_limits(state: Compilation) -> Compilation:
    """Complete the program with what it asks of sizes, and with graphs or without; with 64-bit indices in kernels where
    32 bits do for no sizes."""
    if state.program is None:
        return state
    limits = size_limits(state.program, state.run.scop.context)
    runs = [statement.domain for statement in state.run.scop.statements]
    if not state.run.scop.wide and not can_hold(limits, runs):
        run = replace(state.run, scop=replace(state.run.scop, wide=True))
        return generate_program(replace(state, executions=run))
    asked, often = state.options.graphs, state.program.launches_often
    graphs = often if asked is None else asked
    scop = state.run.scop
    checked = "" if scop.tables else scop.checked  # of tables of rows it also says what is worth copying
    return replace(state, program=replace(state.program, limits=limits, graphs=graphs, checked=checked))


def _improved(state: Compilation) -> Compilation:
    """Generate kernels with everything that improves them, or without what fails: they are right as they are."""
    try:
        return _generated(state)
    except (OverBudgetError, UnfaithfulLoopsError):
        raise
    except Exception as error:
        plain = _attempt(state, improvements()) if is_bug(error) else None
        if plain is None:
            raise
        if state.options.raise_bugs:
            raise _ImprovementError(described(error)).with_traceback(error.__traceback__) from error
        return _without(state, plain, described(error))


class _ImprovementError(InternalError):
    """What only improves kernels fails; another schedule would hide it."""


def _without(state: Compilation, plain: Compilation, message: str) -> Compilation:
    """Return the program without the one improvement that fails, or else the plain one."""
    for name in sorted(improvements()):
        found = _attempt(state, frozenset({name}))
        if found is not None:
            break
    else:
        name, found = "what improves kernels", plain
    text = f"{state.scop.name}: compiled without {name}: internal error: {message}"
    return found.with_remark(text, severity="warning", hint=BUGS)


def _attempt(state: Compilation, without: frozenset[str]) -> Compilation | None:
    try:
        return _generated(state, without)
    except OverBudgetError:
        return None
    except Exception as error:
        if not is_bug(error):
            raise
        return None


def _generated(state: Compilation, without: frozenset[str] = frozenset()) -> Compilation:
    """Generate kernels and the host program, without some of the passes that improve them; without the tiles that
    blocks keep for whole kernels, where finding their loops takes too long."""
    try:
        with budget(CODE_OPERATIONS):
            state = _with_program(state, without)
    except OverBudgetError:
        plain = without_kernel_tiles(state)
        if plain is state:
            raise
        with budget(CODE_OPERATIONS):
            state = _with_program(plain, without)
    kernels = len(state.program.kernels) if state.program else 0
    strategy = state.schedule.strategy if state.schedule else ""
    if state.scop.external and not state.scop.device_source:
        called = f"{state.scop.name}: kernels call `{state.scop.external[0].name}`, whose definition is not known"
        hint = "--device-source F.cu names the file that defines it; else link device code that does"
        state = state.with_remark(called, severity="warning", hint=hint)
    for array in state.scop.allocated:
        text = f"{state.scop.name}: kernels run where `{array.source}` is in device or managed memory, the C elsewhere"
        hint = f"its size is not known, and what is used of it is computed: `{array.source}[n]`, or --managed"
        state = state.with_remark(text, severity="warning", hint=hint)
    return state.with_remark(
        f"{state.scop.name}: {strategy} schedule, {kernels} kernel{'s' * (kernels != 1)}; {state.proof}"
    )


def _with_program(state: Compilation, without: frozenset[str]) -> Compilation:
    assert state.plans is not None
    without = without.union(state.options.disable_pass)
    plain = plain_program(state, promote=SCALAR_REPLACEMENT not in without)
    versions = Versions(plain.program, Context(state.machine, plain.names), without, state.options.verify_passes)
    plans, bounds = _with_bounds(state, versions, plain.plans)
    program, steps = versions.of(plans)
    if any(plan.few_blocks for plan in plans):
        from polytile.codegen.resources.choose_bounds import bound_small_grids

        named = {kernel.name: plan for kernel, plan in zip(plain.program.kernels, plans, strict=True)}
        program = bound_small_grids(program, named, state.machine)
    for kernel in program.kernels:
        require_machine(kernel, state.machine)
        check_kernel(kernel)
    kernels = with_loops(state.plans.kernels, plain.numbers, [plan for plan in plans if not plan.time_tile])
    found = replace(state.plans, kernels=kernels)
    state = _with_passes_in_vain(state, plain.plans)
    return replace(state, program=program, steps=steps, plans=found, bounds=bounds)


def _with_passes_in_vain(state: Compilation, plans: Sequence[LoweredPlan]) -> Compilation:
    """Say which passes are left out although no kernel asks for them; of loops, promotion to registers and bounds of
    these are not planned where their passes are left out."""
    unknown = {SCALAR_REPLACEMENT, REGISTER_LIMIT} if any(not plan.time_tile for plan in plans) else set()
    for name in state.options.disable_pass:
        if name not in unknown and not asked_by(name, plans):
            said = f"--disable-pass {name} changes nothing, as no kernel asks for this pass"
            state = state.with_remark(f"{state.scop.name}: {said}")
    return state


def _with_bounds(
    state: Compilation, versions: Versions, plans: tuple[LoweredPlan, ...]
) -> tuple[tuple[LoweredPlan, ...], tuple[str, ...]]:
    """Return the plans with bounds on registers for large bodies, and what is said of them; only those pay for the
    import."""
    program, _ = versions.of(plans)
    kernels = program.kernels[: len(plans)]
    pairs = [(k, plan) for k, plan in zip(kernels, plans, strict=True) if not plan.time_tile]
    large = [k.name for k, plan in pairs if plan.points or is_short_of_registers(k, LEAST_LIVE)]
    if state.options.registers or not large or REGISTER_LIMIT in versions.without:
        return plans, ()
    from polytile.codegen.resources.choose_bounds import choose_bounds

    found, choices = choose_bounds(program, plans, large, state.machine, lambda tried: versions.of(tried)[0])
    return found, tuple(map(str, choices))


Stages = tuple[tuple[str, Callable[[Compilation], Compilation]], ...]

ANALYSIS: Stages = (
    ("divisions", replace_divisions),
    ("locals", join_locals),
    ("dependences", find_dependences),
    ("live ranges", separate_purposes),
    ("expansion", expand_storage),
)
REALISATION: Stages = (
    ("lanes", combine_lanes),
    ("storage", choose_storage),
    ("legality", prove_legality),
    ("ast", generate_program),
)
STAGES: Stages = (*ANALYSIS, ("schedule", find_schedule), *REALISATION)  # where the first candidate is not refused


@memoizing()
def compile_scop(scop: Scop, options: Options, *, observe: Observer | None = None) -> Compilation:
    """Take one Scop through all stages, with the first candidate for its schedule that none of them refuses, and with
    another version for some sizes where options have one.

    Raises UserError (the SCoP cannot be compiled), IllegalSchedule (a given schedule breaks a dependence), UsageError
    (sizes that the GPU does not allow, passes that cannot be left out).
    """
    options, tuned = _with_saved_version(options)
    made = _compiled(scop, options, observe)
    if tuned is None:
        return made
    from polytile.stages.versions import for_tuned_sizes  # for few programs

    return _shown(for_tuned_sizes(scop, options, tuned, made, _compiled), observe or _nobody)


def _with_saved_version(options: Options) -> tuple[Options, TunedVersion | None]:
    """Return the options without the version for some sizes, and that version, which the options or the text of a
    schedule have."""
    given = options.load_schedule
    if given is None or "# for sizes" not in given:
        return options, options.tuned
    from polytile.ir.version_conditions import split_tuned  # for few programs

    text, tuned = split_tuned(given)
    return replace(options, load_schedule=text, tuned=tuned), tuned


@memoizing()
def scheduled_scop(scop: Scop, options: Options) -> Compilation:
    """Take one Scop through the stages that an estimate of its time needs: the first candidate for its schedule, with
    the places of its data. Nothing of it is proven or lowered, and what these stages refuse is not known.

    Raises UserError, InternalError or OverBudgetError where there is none.
    """
    try:
        state = _analysed(scop, _with_saved_version(options)[0], _nobody)
        return _through((("schedule", find_schedule), *REALISATION[:2]), state, _nobody)
    except _RefusedError as error:
        raise error.error from None


def _nobody(stage: str, state: object) -> None:
    """Observe nothing."""


def _analysed(scop: Scop, options: Options, seen: Observer) -> Compilation:
    options = _with_saved_choices(scop, options)
    check_disabled(options.disable_pass)
    scop = with_updates(scop, floating=options.atomics)
    if options.specialize:
        scop = specialized(scop, options.parameters)
    return _through(ANALYSIS, Compilation(scop, options, machine_of(options.arch), scop), seen)


def _compiled(scop: Scop, options: Options, observe: Observer | None = None) -> Compilation:
    seen = observe or _nobody
    state = _analysed(scop, options, seen)
    for candidate in each_in_stage("schedule", candidates(state)):
        serial = candidate.schedule is None or has_serial_part(candidate.schedule.tree)
        chosen = state.taking(candidate, _kept_sums(state) if serial else ())
        seen("schedule", chosen)
        try:
            return _with_small_grids(state, candidate, _through(REALISATION, chosen, seen), seen)
        except _RefusedError as error:
            refused = error
            state = _with_refusal(state, candidate.strategy, error)
    return _without_kernels(refused, seen)


def _with_saved_choices(scop: Scop, options: Options) -> Options:
    """Take over what a schedule that is given was saved with; raises UserError for a wrong line."""
    if options.load_schedule is None:
        return options
    from polytile.ir.choices_text import split_choices, with_choices  # for few commands

    try:
        text, saved = split_choices(options.load_schedule)
        return with_choices(replace(options, load_schedule=text), saved)
    except UserError as error:
        message = f"the schedule of {scop.name}: {error.message}"
        raise UserError(message, location=scop.location, hint=error.hint) from None


def _with_small_grids(state: Compilation, candidate: Candidate, large: Compilation, observe: Observer) -> Compilation:
    """Add another version for small grids, proven like any, where that was proposed and is not refused."""
    asked = candidate.small_grids
    if asked is None or large.program is None or large.overlapped is None:
        return large
    from polytile.stages.versions import for_small_grids  # for few programs

    try:
        small = _through(REALISATION, replace(state.taking(asked.candidate), behind=True), _nobody)
    except _RefusedError as error:
        state = _with_refusal(state, asked.candidate.strategy, error)
    else:
        both = for_small_grids(large, small, asked)
        if both is not None:
            return _shown(both, observe)
    return _through(REALISATION, state.taking(candidate.without_small_grids()), observe)


def _shown(state: Compilation, observe: Observer) -> Compilation:
    """Show the stages in which versions differ again, with all of these."""
    if state.versions:
        for name in ("schedule", "ast"):
            observe(name, state)
    return state


def _with_refusal(state: Compilation, strategy: str, refused: _RefusedError) -> Compilation:
    """Return the compilation that says why a candidate is not used. A proof that fails is a bug: the schedule is wrong,
    or the proof cannot follow it."""
    said = f"the {strategy} schedule is not used, as {in_source_words(refused.reason, refused.state.scop)}"
    if not refused.is_bug:
        return state.with_remark(said)
    if state.options.raise_bugs:
        raise refused.error
    return state.with_remark(said, severity="warning", hint=BUGS)


def _kept_sums(state: Compilation) -> Iterator[str]:
    """Yield what would make loops parallel that only add to elements which data choose."""
    if not state.options.strict and with_updates(state.scop, floating=True) is not state.scop:
        name = state.scop.name
        yield f"{name}: floating point numbers are added in order; --atomics lets h[p[i]] += x come in any order"


class _RefusedError(Exception):
    """A candidate that cannot be used: the state before the stage that refuses it, why, and what that raised."""

    def __init__(self, state: Compilation, reason: str, error: Exception) -> None:
        super().__init__(reason)
        self.state, self.reason, self.error = state, reason, error
        self.is_bug = isinstance(error, InternalError) and state.proof is None


def _through(stages: Stages, state: Compilation, observe: Observer) -> Compilation:
    """Run some stages and return the state. Raises _RefusedError where one fails in a way that another schedule may
    not."""
    strategy = state.schedule.strategy if state.schedule else ""
    for name, run in stages:
        try:
            with stage(name), stage(strategy):
                after = run(state)
        except (UserError, InternalError, OverBudgetError) as error:
            reason = _reason(name, state, error)
            if reason is None:
                raise
            raise _RefusedError(state, reason, error) from error
        state = after
        observe(name, state)
    return state


def _reason(stage: str, state: Compilation, error: Exception) -> str | None:
    """Return why a stage refuses the schedule; None for an error that has nothing to do with it."""
    strategy = state.schedule.strategy if state.schedule else ""
    match stage, error:
        case _, _ImprovementError():
            return None
        case "legality", UserError() | InternalError():
            return f"its proof fails: {error.message}"
        case "ast", OverBudgetError():
            return f"finding the loops of the {strategy} schedule takes too long"
        case "ast", UnfaithfulLoopsError():
            return f"the loops that isl makes of the {strategy} schedule are wrong: {error.message}"
        case "ast", InternalError():  # loops that isl joins below conditions under which threads cannot meet
            return f"its kernels are not well formed: {error.message}"
    return None


def _without_kernels(refused: _RefusedError, observe: Observer) -> Compilation:
    """Return the SCoP on the host, as no candidate is left whose loops are found. Raises what speaks against that: an
    error in a proof or in kernels, and UserError for a schedule that was given."""
    state, error = refused.state, refused.error
    if not isinstance(error, OverBudgetError | UnfaithfulLoopsError):
        raise error
    if state.options.load_schedule is not None:
        message = f"{state.scop.name}: {refused.reason}"
        raise UserError(message, location=state.scop.location, hint="use a simpler schedule") from error
    remark = f"{state.scop.name} stays on the host: {refused.reason}"
    state = replace(state, schedule=None).with_remark(remark)
    observe("ast", state)
    return state


def sequential_text(scop: Scop) -> str:
    """Return the SCoP in its original order as a C function, for Scops that did not come from C."""
    from polytile.codegen.targets.c.reference_c import print_sequential

    body = lower_sequential(scop)
    by_value = frozenset(a.name for a in scop.external_arrays if scop.by_value(a) and not a.fields)
    return print_sequential(f"{scop.name}_reference", scop.parameters, scop.arrays, by_value, body, scop.definitions)
