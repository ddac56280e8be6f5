"""The compiler's story, stage after stage: what happens to one SCoP between the frontend and the text.

Each stage takes the state so far and returns a new one; an observer, when there is one, sees the result of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf

import islpy as isl

from polytile.codegen.alternate import alternate
from polytile.codegen.batch import FEW, MOST
from polytile.codegen.device_functions import require_machine
from polytile.codegen.early import start_early
from polytile.codegen.leaving import leaving
from polytile.codegen.lower import LoweringInput, lower, lower_sequential
from polytile.codegen.sequential import print_sequential
from polytile.compilation import Compilation
from polytile.diagnostics import InternalError, UserError
from polytile.gpu import gpu
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule, Path, is_mapped
from polytile.ir.scop import Scop
from polytile.options import CODE_OPERATIONS, MAX_OPERATIONS, Options
from polytile.scheduling.classic import Candidate, candidates, distinct
from polytile.scheduling.contract import contract
from polytile.scheduling.cost.estimate import Estimate
from polytile.scheduling.cost.time import timed
from polytile.scheduling.dependences import Dependences, analyse
from polytile.scheduling.expand import expand
from polytile.scheduling.fuse_locals import fuse_locals
from polytile.scheduling.handover import handovers
from polytile.scheduling.lanes.spread import spread
from polytile.scheduling.last_reads import last_reads
from polytile.scheduling.legality import BarrierReason, require_mapped, unordered
from polytile.scheduling.live_ranges import split_live_ranges
from polytile.scheduling.liveness import transfers
from polytile.scheduling.mapping import has_parallelism, map_to_gpu, with_barriers
from polytile.scheduling.partial_text import split_as_in
from polytile.scheduling.proof import ARRAY_SHARE, Claim, prove_all
from polytile.scheduling.select import CLEARLY, best, estimate
from polytile.scheduling.sizes import SizeChooser, parse_sizes
from polytile.scheduling.strides import few_threads
from polytile.scheduling.superposed.strategy import superposed

Observer = Callable[[str, object], None]


def join_locals(state: Compilation) -> Compilation:
    """Statements that communicate through scalars of one loop body alone become one."""
    return replace(state, scop=fuse_locals(state.scop))


def find_dependences(state: Compilation) -> Compilation:
    """Dependence analysis. Relations that take long to find take much longer to schedule and to prove, so each array
    gets a small part of the budget."""
    operations = max(state.options.max_operations, MAX_OPERATIONS) // ARRAY_SHARE
    found = analyse(state.scop, operations, state.analysed)
    return replace(state, dependences=found, analysed=(state.scop, found))


def separate_purposes(state: Compilation) -> Compilation:
    """A variable for each purpose that one serves; the dependences are found anew."""
    assert state.dependences is not None
    scop = split_live_ranges(state.scop, state.dependences)
    return state if scop is state.scop else find_dependences(replace(state, scop=fuse_locals(scop)))


def expand_storage(state: Compilation) -> Compilation:
    """Expansion of what serialises loops by its reuse alone, and as an alternative of more; the dependences are found
    anew."""
    plain, roomy = _expanded(state, roomy=False), _expanded(state, roomy=True)
    alternative = None if roomy.remarks == plain.remarks else roomy
    plain = state if plain.scop is state.scop else find_dependences(plain)
    return replace(plain, roomy=alternative)


def _expanded(state: Compilation, *, roomy: bool) -> Compilation:
    assert state.dependences is not None
    scop, notes = expand(state.scop, state.dependences, roomy=roomy)
    state = replace(state, scop=scop)
    for note in notes:
        state = state.with_remark(note)
    return state


def find_schedule(state: Compilation) -> Compilation:
    """A mapped schedule: one that was given, one of the strategy that was asked for, or the fastest by estimate."""
    if state.options.load_schedule is not None or state.options.schedule == "classic":
        return _classic(state)
    first = next(_superposed(replace(state, roomy=None)), None)
    if first is not None:
        plain = replace(state, options=replace(state.options, schedule="classic"))
        first = replace(first, otherwise=plain)
    found = [] if first is None else [_estimated(first)]
    if state.options.schedule == "superposed" and found:
        return _fastest(found)
    classic = _classic(state)
    if state.options.schedule == "superposed":
        return classic.with_remark(f"{state.scop.name}: the superposed strategy found no schedule")
    return _fastest([_estimated(classic), *found])


def _estimated(state: Compilation) -> tuple[Compilation, Estimate | None]:
    """The time of what would run; None for the host."""
    if state.schedule is None:
        return state, None
    ready = choose_storage(combine_lanes(state))
    scop, _, schedule = ready.run
    time = timed(scop, schedule, ready.homes, ready.gpu, ready.options.parameters, ready.handovers)
    return replace(state, looked_at=ready), time


def _fastest(found: Sequence[tuple[Compilation, Estimate | None]]) -> Compilation:
    """The first, or a later one that is clearly faster; `considered` says what each would take."""
    best, least = found[0]
    for state, time in found[1:]:
        if time is not None and (least is None or time.microseconds < CLEARLY * least.microseconds):
            best, least = state, time
    lines = [
        f"{state.schedule.strategy}: {line}{' (chosen)' if state is best else ''}"
        for state, time in found
        if state.schedule is not None
        for line in str(time).splitlines()[:1]
    ]
    reasons = [line for state, _ in found for line in state.considered]
    return replace(best, considered=(*reasons, *lines, *str(least or "").splitlines()[1:]))


def _superposed(state: Compilation) -> Iterator[Compilation]:
    """The superposed strategy's mapped schedules, each with the Scop whose reductions it privatised."""
    assert state.dependences is not None
    options = state.options
    sizes = SizeChooser(options, parse_sizes(options.sizes), state.gpu)
    for found in superposed(state.scop, state.dependences, sizes, options.max_operations, strict=options.strict):
        scop, dependences = found.scop, found.dependences
        needed = dependences.all.intersect_params(scop.context)
        tree = with_barriers(found.tree, needed)
        if not unordered(tree, needed):
            schedule = MappedSchedule(tree, found.strategy)
            yield replace(state, scop=scop, dependences=dependences, schedule=schedule, considered=found.reasons)


def _classic(state: Compilation) -> Compilation:
    """The classic strategy's schedule. More expansion has to pay, or be what makes a given schedule legal."""
    plain = _scheduled(replace(state, roomy=None))
    if state.roomy is None:
        return plain
    if state.options.load_schedule is not None:
        return plain if _is_legal(plain) else _scheduled(find_dependences(state.roomy))
    if plain.schedule is not None and not few_threads(plain.schedule.tree):
        return plain
    roomy = _scheduled(find_dependences(state.roomy))
    return roomy if _cost(roomy) < CLEARLY * _cost(plain) else plain


def _is_legal(state: Compilation) -> bool:
    try:
        return prove_legality(choose_storage(state)) is not None
    except UserError:
        return False


def _cost(state: Compilation) -> float:
    if state.schedule is None or state.dependences is None:
        return inf
    return estimate(state.scop, state.dependences, state.schedule, state.shared_memory)


def _scheduled(state: Compilation) -> Compilation:
    assert state.dependences is not None
    for array in (d.array for d in state.dependences.by_array if not d.exact):
        state = state.with_remark(f"{array}: every conflict counts as a dependence, as exact analysis takes too long")
    assert state.dependences is not None
    sizes = SizeChooser(state.options, parse_sizes(state.options.sizes), state.gpu)
    if state.options.load_schedule is not None:
        state, text = _with_partials(state, state.options.load_schedule)
        tree = read_schedule(state.scop, text)
        if is_mapped(tree):
            require_mapped(state.scop, tree)
            return replace(state, schedule=MappedSchedule(tree, "loaded"))
        found = [Candidate("loaded", tree)]
    else:
        assert state.dependences is not None
        found = candidates(state.scop, state.dependences, state.options.max_operations)
    parallel = distinct([c for c in found if has_parallelism(c.tree)])
    if not parallel:
        return state.with_remark(f"{state.scop.name} stays on the host: no loop of it is parallel")
    assert state.dependences is not None
    schedules = [map_to_gpu(state.scop, c, sizes) for c in parallel]
    mapped = best(state.scop, state.dependences, schedules, state.shared_memory)
    tree = with_barriers(mapped.tree, state.dependences.all.intersect_params(state.scop.context))
    state = replace(state, schedule=replace(mapped, tree=tree))
    for note in mapped.notes:
        state = state.with_remark(note)
    return state


def _with_partials(state: Compilation, text: str) -> tuple[Compilation, str]:
    """The state with reductions split as a schedule file says, and the file's tree."""
    assert state.dependences is not None
    scop, dependences, tree = split_as_in(state.scop, state.dependences, text)
    return replace(state, scop=scop, dependences=dependences), tree


def read_schedule(scop: Scop, text: str) -> isl.Schedule:
    """A schedule tree from a file's text; raises UserError. Its claims of coincidence stand until the proof."""
    try:
        return isl.Schedule(text)
    except isl.Error:
        raise UserError(
            f"the schedule of {scop.name} is not a schedule tree that isl can read",
            location=scop.location,
            hint="start from a file that --save-schedule wrote",
        ) from None


def combine_lanes(state: Compilation) -> Compilation:
    """Threads that hold partial results combine them."""
    if state.schedule is None:
        return state
    assert state.dependences is not None
    if known := _known(state):
        return replace(state, spread=known.spread)
    return replace(state, spread=spread(state.scop, state.dependences, state.schedule))


def _known(state: Compilation) -> Compilation | None:
    """What was looked at, if it is of this very schedule."""
    ready = state.looked_at
    same = ready is not None and (ready.scop, ready.dependences, ready.schedule)
    now = (state.scop, state.dependences, state.schedule)
    return ready if same and all(a is b for a, b in zip(same, now, strict=True)) else None


def choose_storage(state: Compilation) -> Compilation:
    """Which arrays live inside kernels, and which are copied between host and device."""
    if state.schedule is None:
        return state
    known = _known(state)
    if known and known.spread is state.spread:
        return replace(state, homes=known.homes, handovers=known.handovers, transfers=known.transfers)
    scop, dependences, schedule = state.run
    seen = state.spread.private if state.spread else None
    homes = contract(scop, dependences, schedule, state.shared_memory, known=seen)
    handed = handovers(scop, dependences, schedule, homes, state.shared_memory)
    return replace(state, homes=homes, handovers=handed, transfers=transfers(scop, dependences))


def prove_legality(state: Compilation) -> Compilation:
    """The proof of legality, for a simpler strategy's schedule if there is none for the one that was chosen.

    Raises IllegalSchedule, and UserError when the budget does not suffice for a proof.
    """
    try:
        return _proven(state)
    except (InternalError, UserError) as error:
        if state.otherwise is None:
            raise
        return _proven(_simpler(state, f"its proof fails: {error.message}"))


def _proven(state: Compilation) -> Compilation:
    if state.schedule is None:
        return state
    assert state.dependences is not None
    # A small budget makes scheduling fall back to something simpler; there is nothing simpler than a proof.
    operations = max(state.options.max_operations, MAX_OPERATIONS)
    claim = Claim(
        state.source,
        state.scop,
        state.dependences,
        state.schedule,
        state.homes,
        state.transfers,
        state.spread,
        state.handovers,
    )
    proof = prove_all(claim, operations)
    if not proof.proven:
        raise UserError(
            f"the schedule of {state.scop.name} is not proven within the budget of {operations} operations",
            location=state.scop.location,
            hint="a larger budget: --max-operations",
        )
    return replace(state, proof=proof)


def _sums_of_few(scop: Scop) -> dict[str, int]:
    """The statements that accumulate partial results, or add them up, where one iterator at most tells results apart,
    and how many iterations may load at once: threads are few then. More results are more threads, some of which run
    while others wait for memory; lanes that share out chunks have few each."""
    few = [p for p in scop.privatised if len(p.group) <= 1]
    sums = {p.update: MOST for p in few}
    return sums | {p.finish: FEW if p.gathering else MOST for p in few if p.finish is not None}


def generate_program(state: Compilation) -> Compilation:
    """Kernels and the host program. Where the loops of a schedule take too long to find, those of a simpler strategy's,
    or the SCoP stays on the host; raises UserError for a schedule that was given."""
    if state.schedule is None or state.proof is None:
        return state
    try:
        with budget(CODE_OPERATIONS):
            return _generated(state)
    except OverBudgetError:
        reason = f"finding the loops of the {state.schedule.strategy} schedule takes too long"
    if state.options.load_schedule is not None:
        raise UserError(f"{state.scop.name}: {reason}", location=state.scop.location, hint="use a simpler schedule")
    if state.otherwise is None:
        return replace(state, schedule=None).with_remark(f"{state.scop.name} stays on the host: {reason}")
    return generate_program(_proven(_simpler(state, reason)))


def _simpler(state: Compilation, reason: str) -> Compilation:
    """The same up to the proof, with a schedule of a simpler strategy."""
    assert state.otherwise is not None
    plain = choose_storage(combine_lanes(find_schedule(state.otherwise)))
    plain = replace(plain, options=state.options)
    return plain.with_remark(f"the superposed schedule is not used, as {reason}")


def _generated(state: Compilation) -> Compilation:
    assert state.schedule is not None
    assert state.proof is not None
    scop, dependences, schedule = state.run
    if schedule.relaxed:
        raise InternalError(f"{scop.name}: no kernel combines partial results of {schedule.relaxed}")
    given = LoweringInput(
        transfers=state.transfers,
        barriers=barrier_reasons(scop, dependences, state.proof.barriers),
        storage=state.homes,
        handovers=state.handovers,
        sums=_sums_of_few(state.scop),
        last_reads=last_reads(scop, schedule),
    )
    program = replace(lower(scop, schedule, given), graphs=state.options.graphs)
    program = start_early(leaving(alternate(program)))
    for kernel in program.kernels:
        require_machine(kernel, state.gpu)
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
    state = Compilation(scop, options, gpu(options.arch), scop)
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
