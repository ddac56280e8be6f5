"""The schedule of a SCoP: one that was given, one of the strategy that was asked for, or the fastest by estimate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import islpy as isl

from polytile.compilation import Compilation
from polytile.diagnostics import UserError
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule, is_mapped
from polytile.ir.scop import Scop
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.cost.estimate import Estimate
from polytile.scheduling.cost.memory_time import CLEARLY, best, estimate
from polytile.scheduling.cost.schedule_cost import timed
from polytile.scheduling.cost.strides import few_threads
from polytile.scheduling.proof.legality import require_mapped, unordered
from polytile.scheduling.strategies.mapping import has_parallelism, map_to_gpu, with_barriers
from polytile.scheduling.strategies.mix_strategies import components, joined, kernels, pieces
from polytile.scheduling.strategies.pluto import Candidate, candidates, distinct
from polytile.scheduling.strategies.superposed.strategy import superposed
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.transform.reductions.text import split_as_in
from polytile.stages.analysis import find_dependences
from polytile.stages.place_data import choose_storage, combine_lanes, proven

Estimated = tuple[Compilation, Estimate | None]

NOTABLY = 0.999  # of the time: what a schedule put together from two may take
FAR_LESS = 0.25  # of what is fetched: then it counts between schedules that take as long by estimate


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


def _estimated(state: Compilation) -> Estimated:
    """The time of what would run; None for the host."""
    if state.schedule is None:
        return state, None
    ready = choose_storage(combine_lanes(state))
    run = ready.run
    time = timed(run.scop, run.schedule, ready.homes, ready.machine, ready.options.parameters, ready.handovers)
    return replace(state, looked_at=ready), time


def _fastest(found: Sequence[Estimated]) -> Compilation:
    """The first, or a later one that is clearly better, or one put together from both; `considered` says what each
    would take."""
    best, least = found[0]
    for state, time in found[1:]:
        if time is not None and (least is None or _is_better(time, least)):
            best, least = state, time
    if len(found) > 1 and (mixed := _mixed(found[0], found[1], best)) is not None:
        found = found if any(mixed is one for one in found) else [*found, mixed]
        best, least = mixed
    lines = [
        f"{state.schedule.strategy}: {line}{' (chosen)' if state is best else ''}"
        for state, time in found
        if state.schedule is not None
        for line in str(time).splitlines()[:1]
    ]
    reasons = [line for state, _ in found for line in state.considered]
    return replace(best, considered=(*reasons, *lines, *str(least or "").splitlines()[1:]))


def _is_better(time: Estimate, least: Estimate) -> bool:
    """Whether a schedule is clearly faster by estimate, or not slower while it fetches far less: how much of that shows
    depends on more than the estimate knows."""
    if time.microseconds < CLEARLY * least.microseconds:
        return True
    return NOTABLY * time.microseconds <= least.microseconds and time.fetching < FAR_LESS * least.fetching


def _mixed(plain: Estimated, split: Estimated, best: Compilation) -> Estimated | None:
    """The better one of two schedules with the other's for components of the SCoP that this is clearly faster for;
    None where that is not faster. Components whose reductions the second has split can have its schedule alone."""
    (first, plain_time), (then, split_time) = plain, split
    if first.schedule is None or then.schedule is None or plain_time is None or split_time is None:
        return None
    one, two, source = first.schedule.tree, then.schedule.tree, _sources(then.scop)
    orders = pieces(one), [frozenset(source.get(n, n) for n in piece) for piece in pieces(two)]
    if set().union(*orders[0]) != set().union(*orders[1]):
        return None
    found = components(*orders)
    before, after = _times(one, plain_time, found, {}), _times(two, split_time, found, source)
    whole = {s.name for s in then.scop.statements if any(s is own for own in first.scop.statements)}
    kept = [
        component <= whole and (b >= CLEARLY * a if best is first else a < CLEARLY * b)
        for component, a, b in zip(found, before, after, strict=True)
    ]
    expected = sum(a if keep else b for keep, a, b in zip(kept, before, after, strict=True))
    if expected >= NOTABLY * sum(before if best is first else after) or all(kept):
        return None
    if not any(kept):
        return split
    tree = joined([(one, c) if keep else (two, _made_of(c, then.scop)) for c, keep in zip(found, kept, strict=True)])
    assert then.dependences is not None
    if unordered(tree, then.dependences.all.intersect_params(then.scop.context)):
        return None
    strategy = f"{then.schedule.strategy} and {first.schedule.strategy}"
    mixed = _estimated(replace(then, schedule=MappedSchedule(tree, strategy), considered=()))
    least = (plain_time if best is first else split_time).microseconds
    return mixed if mixed[1] is not None and mixed[1].microseconds < NOTABLY * least else None


def _sources(scop: Scop) -> dict[str, str]:
    """What the statements of split reductions were called before."""
    return {name: p.statement for p in scop.privatised for name in (p.update, *p.added)}


def _made_of(component: frozenset[str], scop: Scop) -> frozenset[str]:
    """The statements that stand for those of a component."""
    source = _sources(scop)
    return frozenset(s.name for s in scop.statements if source.get(s.name, s.name) in component)


def _times(
    tree: isl.Schedule, time: Estimate, found: Sequence[frozenset[str]], source: Mapping[str, str]
) -> list[float]:
    """The microseconds that the kernels of each component take; `source` names statements as the components do."""
    own = [frozenset(source.get(n, n) for n in names) for names in kernels(tree)]
    return [sum(k.microseconds for k in time.kernels if own[k.number] <= component) for component in found]


def _superposed(state: Compilation) -> Iterator[Compilation]:
    """The superposed strategy's mapped schedules, each with the Scop whose reductions it privatised."""
    assert state.dependences is not None
    options = state.options
    sizes = SizeChooser(options, parse_sizes(options.sizes), state.machine)
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
        return proven(choose_storage(state)) is not None
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
    sizes = SizeChooser(state.options, parse_sizes(state.options.sizes), state.machine)
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
    schedules = list(_mapped(state.scop, parallel, sizes))
    if not schedules:
        return state.with_remark(f"{state.scop.name} stays on the host: mapping its loops takes too long")
    mapped = _best(state, schedules)
    tree = with_barriers(mapped.tree, state.dependences.all.intersect_params(state.scop.context))
    state = replace(state, schedule=replace(mapped, tree=tree))
    for note in mapped.notes:
        state = state.with_remark(note)
    return state


def _mapped(scop: Scop, found: Sequence[Candidate], sizes: SizeChooser) -> Iterator[MappedSchedule]:
    """The candidates with blocks and threads, but those of which isl makes trees that it does not get through."""
    for candidate in found:
        try:
            with budget(CODE_OPERATIONS):
                mapped = map_to_gpu(scop, candidate, sizes)
        except OverBudgetError:
            continue
        yield mapped


def _best(state: Compilation, schedules: list[MappedSchedule]) -> MappedSchedule:
    """The cheapest schedule, or the first one where finding that takes too long."""
    assert state.dependences is not None
    try:
        with budget(CODE_OPERATIONS):
            return best(state.scop, state.dependences, schedules, state.shared_memory)
    except OverBudgetError:
        return schedules[0]


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
