"""The candidates for the schedule of a SCoP: one that was given, those of the strategy that was asked for, or the
fastest by estimate; behind it simpler ones, for where it cannot be proven or has no kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from polytile.choices import CLASSIC, OVER_TIME, OVERLAPPED, SUPERPOSED, TILED
from polytile.compilation import Compilation
from polytile.diagnostics import UsageError
from polytile.ir.external_functions import addressed_arrays
from polytile.ir.placed_storage import is_home
from polytile.options import STRATEGIES
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.assumed_sizes import LEAST_RANK, assumed_sizes
from polytile.scheduling.cost.memory_time import CLEARLY
from polytile.scheduling.cost.thread_reuse import shares_reads
from polytile.scheduling.strategies import strategy
from polytile.scheduling.strategies.choose_blocks import with_layered_blocks
from polytile.scheduling.strategies.choose_points import choose_points
from polytile.scheduling.strategies.expansion import with_snapshots
from polytile.scheduling.strategies.mix_strategies import NOTABLY, mixed
from polytile.scheduling.strategies.parallel_sums import with_parallel_sums
from polytile.scheduling.strategies.pluto import is_unscheduled
from polytile.scheduling.strategies.points_per_thread import asked_points, tiled
from polytile.scheduling.strategies.staged_reads import widened, with_widened
from polytile.scheduling.strategies.superposed.strategy import TOO_LONG
from polytile.scheduling.strategies.tiled.tile_shapes import CLEARLY_FASTER
from polytile.scheduling.strategies.tiled_recurrences import tiled_recurrence
from polytile.stage_times import each_in_stage, stage
from polytile.stages.candidate_time import estimated, explained, is_better, with_estimate
from polytile.stages.grid_bounds import is_better_for_large_grids, is_doubtful, with_least_cells, with_small_grids
from polytile.stages.place_data import realised

TIME_TILES = 0.95  # of the time of one step a launch; both estimates were fitted to stencils
FASTER = 0.9  # of the time of overlapped tiles by estimate, where sizes are not known: these gain more from known ones
# Times as fast as split tiles by estimate for large grids, where sizes are not known: at 2.1 (fdtd-2d, H200) they were
# 1.2 times as fast for 16384^2, and half as fast for 512^2.
OVER_SPLIT = 2.3
MOST_SIZES = 4  # of tiles that are compared


def candidates(state: Compilation) -> Iterator[Candidate]:
    """Yield the candidates in the order in which to try them, each made when it is asked for. There is at least one.
    Those without staged reads are for where none with them is proven."""
    unstaged: list[Candidate] = []
    for one in _candidates(state):
        yield one
        unstaged += [one.unstaged] if one.unstaged else []
    yield from unstaged


def _candidates(state: Compilation) -> Iterator[Candidate]:
    assert state.dependences is not None
    options = state.options
    if options.planes != "auto":
        options = replace(options, schedule=OVERLAPPED)  # which alone has planes
    problem = Problem(state.scop, state.dependences, options, state.machine, options, state.notes, state.unexpanded)
    if addressed_arrays(state.scop.statements):
        yield from _in_device_memory(problem)
    elif options.load_schedule is not None:
        yield from _loaded(problem)
    elif options.schedule == "auto":
        yield from _with_copies_or_without(problem, _by_estimate)
    else:
        yield from _with_copies_or_without(problem, lambda one: _asked_for(one, options.schedule))


def _loaded(problem: Problem) -> Iterator[Candidate]:
    from polytile.scheduling.strategies import loaded

    return loaded.propose(problem)


def _in_device_memory(problem: Problem) -> Iterator[Candidate]:
    """Yield the candidates where functions that are defined elsewhere find arrays in device memory, laid out as in C:
    what other strategies make of arrays is for accesses to their elements alone."""
    options, name = problem.options, problem.scop.name
    if options.load_schedule is not None:
        for loaded_one in _loaded(problem):
            if loaded_one.time_tile is not None:
                message = f"{name}: the plan given keeps arrays elsewhere that functions get addresses of"
                raise UsageError(message, hint="leave its line `# time_tile` out")
            yield loaded_one
        return
    if options.schedule not in ("auto", CLASSIC) or options.points:
        said = f"{name}: functions get addresses of arrays, so the schedule is the {CLASSIC} one"
        problem = replace(problem, notes=(*problem.notes, said))
    yield from strategy(CLASSIC)(problem)


def find_schedule(state: Compilation) -> Compilation:
    """Take the first candidate."""
    return state.taking(next(candidates(state)))


def _with_copies_or_without(problem: Problem, of: Callable[[Problem], Iterator[Candidate]]) -> Iterator[Candidate]:
    """Yield the candidates of a problem, after the first one with copies of inputs where that is clearly better."""
    if problem.options.points:
        yield from of(problem)
        return
    plain, copied = of(problem), with_snapshots(problem)
    if copied is None:
        yield from _with_any_copies(problem, of, plain)
        return
    first, other = next(plain), next(of(copied))
    without, within = _timed(problem, first), _timed(copied, other)
    if is_better(within, without):
        yield _beside(within, "without copies of inputs", without)
        yield first
    else:
        yield _beside(first, "with copies of inputs", within)
    yield from plain


def _with_any_copies(
    problem: Problem, of: Callable[[Problem], Iterator[Candidate]], plain: Iterator[Candidate]
) -> Iterator[Candidate]:
    """Yield the candidates of a problem; where the first has no kernel, after one with whatever copies make a loop
    parallel. Where isl gave up scheduling it would again, as copies are more statements."""
    first = next(plain)
    wanted = first.schedule is None and not is_unscheduled(first.notes)
    copied = with_snapshots(problem, at_any_cost=True) if wanted else None
    other = next(of(copied)) if copied is not None else first
    if other.schedule is not None and other is not first:
        yield _beside(other, "without copies of inputs", first)
    yield first
    yield from plain


def _timed(problem: Problem, candidate: Candidate) -> Candidate:
    return candidate if candidate.estimate else estimated(problem, candidate)


def _beside(chosen: Candidate, what: str, other: Candidate) -> Candidate:
    line = str(other.estimate).splitlines()[0] if other.estimate else "no loop is parallel"
    return replace(chosen, reasons=(*chosen.reasons, f"{what}: {line}"))


def _proposed(problem: Problem, names: Iterable[str]) -> Iterator[Candidate]:
    """Yield the best of each of these strategies that has one, without the points of threads that pay."""
    for name in names:
        yield from islice(each_in_stage(name, strategy(name)(problem)), 1)


def _each_once(proposed: Iterable[Candidate]) -> list[Candidate]:
    """Drop the candidates whose schedule one before them has; that one says so."""
    found: list[Candidate] = []
    for one in proposed:
        at = next((k for k, other in enumerate(found) if _is_same(one, other)), None)
        if at is None:
            found.append(one)
        else:
            said = f"{one.strategy}: the same as {found[at].strategy}"
            found[at] = replace(found[at], reasons=(*found[at].reasons, *one.reasons, said))
    return found


def _is_same(one: Candidate, other: Candidate) -> bool:
    """Return whether two candidates have the same schedule of the same statements."""
    if one.schedule is None or other.schedule is None:
        return False
    return one.scop is other.scop and one.schedule.tree.plain_is_equal(other.schedule.tree)


def _pointed(problem: Problem, proposed: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates with the points of a thread that were asked for, or that pay. Raises UsageError where none
    of them can have those."""
    failed: UsageError | None = None
    some = False
    for one in proposed:
        try:
            with stage(one.strategy):
                found = _with_points(problem, one)
        except UsageError as error:
            failed = failed or error
            continue
        some = True
        yield found
    if failed is not None and not some:
        raise failed


def _with_points(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate whose threads have the points that were asked for, or the blocks and points that pay by
    estimate."""
    if problem.options.points:
        return asked_points(problem, candidate)

    def placed() -> frozenset[int]:
        _, _, plans = realised(candidate, problem.options.shared_memory, problem.machine)
        return frozenset(plan.kernel for plan in plans.kernels if any(map(is_home, plan.placements)))

    candidate = _with_staged_reads(problem, candidate)
    candidate = with_layered_blocks(problem, candidate, placed)
    chosen = choose_points(problem, candidate, placed)
    return replace(tiled(candidate, chosen.counts), reasons=(*candidate.reasons, *chosen.lines))


def _with_staged_reads(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate with tiles of what threads do not read along rows, in kernels that are faster so by
    estimate."""
    as_asked = bool(problem.options.block or problem.options.sizes)
    found = {} if candidate.time_tile else widened(candidate, as_asked=as_asked)
    if not found:
        return candidate
    plain, wide = (with_estimate(problem, one) for one in (candidate, with_widened(candidate, found)))
    assert plain.estimate is not None and wide.estimate is not None and wide.plans is not None
    staged = {plan.kernel for plan in wide.plans.kernels if plan.placements}
    faster = {k: own for k, own in found.items() if k in staged and wide.estimate.of(k) < plain.estimate.of(k)}
    if not faster:
        return candidate
    lines = (f"kernel {k}: {wide.estimate.of(k):.3g} us with tiles, {plain.estimate.of(k):.3g} without" for k in faster)
    return replace(with_widened(candidate, faster), reasons=(*candidate.reasons, *lines), unstaged=candidate)


def _asked_for(problem: Problem, name: str) -> Iterator[Candidate]:
    """Yield the candidate of one strategy, then those of simpler ones."""
    simpler = list(takewhile(lambda other: other != name, STRATEGIES))
    found = _of_best_sizes(problem) if name == TILED else next(_pointed(problem, _proposed(problem, [name])), None)
    why = problem.remembered.get(name, "")
    notes = () if found else (f"{problem.scop.name}: the {name} strategy found no schedule{why and f': {why}'}",)
    if found is not None and simpler:
        found = found if found.estimate else estimated(problem, found)
        found = explained([found], found)
    fusion = _explained_fusion(problem) if name == OVERLAPPED else ()
    if found is not None:
        yield replace(found, reasons=(*found.reasons, *fusion))
        if found.split is not None:  # the same tiles, with values in memory
            plain = found.with_time_tile(None)
            yield replace(plain, run=None, plans=None, known_homes={}, estimate=None)
    others = _by_estimate(problem) if name in OVER_TIME else _pointed(problem, _proposed(problem, reversed(simpler)))
    for other in others:
        yield replace(other, notes=(*other.notes, *notes), reasons=(*other.reasons, *fusion))


def _explained_fusion(problem: Problem) -> tuple[str, ...]:
    from polytile.scheduling.strategies.overlapped.dag_fusion import explained

    return tuple(explained(problem))


def _by_estimate(problem: Problem) -> Iterator[Candidate]:
    """Yield the first candidate, or a later one that is clearly better, or one put together from two; after one with
    tiles (of time, too) the best one without, then those of simpler strategies than its own, and at last of others."""
    plain = [name for name in STRATEGIES if name not in (*OVER_TIME, TILED)]
    found = [estimated(problem, one) for one in _pointed(problem, _each_once(_proposed(problem, plain)))]
    best = found[0]
    for candidate in found[1:]:
        if is_better(candidate, best):
            best = candidate
    if len(found) > 1:
        best = _put_together(problem, found[0], found[1] if best is found[0] else best, best)
    sized = _with_assumed_sizes(problem)
    if problem.options.points:
        yield from _with_asked_points(found, best)
        return
    over_time = [_for_large_grids(problem, sized, one) for one in _pointed(sized, _proposed(sized, OVER_TIME))]
    tiled = _tiled(sized, found[0])
    if tiled is not None and tiled.repeats and problem.has_unknown_sizes:
        tiled = None  # blocks may be few
    if (tiled or over_time) and sized is not problem:  # all by the same sizes
        first, best = found[0], estimated(sized, best)
        found = [best if one is first and first.schedule is best.schedule else one for one in found]
    chosen = best if tiled is None else _with_tiles(sized, found[0], best, tiled)
    large = _over_time_or(problem, chosen, over_time)
    chosen = _with_small_grids(problem, large, over_time)
    over_time = [chosen if one is large else one for one in over_time]
    whole = _with_exhausted(problem, chosen)
    chosen = _with_tiled_recurrence(problem, _with_parallel_sums(problem, whole))
    compared = [*found, best, *([tiled] if tiled else []), *over_time, whole, chosen]
    yield explained(_distinct(compared), chosen)
    if whole is not chosen and whole is not best:
        yield whole
    others = (one for one in over_time if one is not chosen and not is_doubtful(problem, one, best))
    yield from (one for one in others if is_better(one, best))
    if chosen is not best:
        yield best
    simpler = list(takewhile(lambda other: other.strategy != best.strategy, found))
    yield from reversed(simpler)
    yield from found[len(simpler) + 1 :]


def _over_time_or(problem: Problem, best: Candidate, over_time: Sequence[Candidate]) -> Candidate:
    """Choose the best one so far, or tiles of time that are faster: overlapped ones, unless split ones are clearly
    faster than these, or, where sizes of planes are not known, not much slower for large ones: they are faster for
    small ones."""
    most = TIME_TILES * best.microseconds
    found = [
        one
        for one in over_time
        if (is_better(one, best) or one.microseconds < most or is_better_for_large_grids(one, best))
        and not is_doubtful(problem, one, best)
    ]
    if not found:
        return best
    *others, chosen = found
    large = _with_assumed_sizes(problem, least_rank=2)
    if large is problem:
        enough = FASTER if problem.has_unknown_sizes else CLEARLY
        faster = [one for one in others if one.microseconds < enough * chosen.microseconds]
    else:
        longest = OVER_SPLIT * estimated(large, chosen).microseconds
        faster = [one for one in others if estimated(large, one).microseconds < longest]
    return min(faster, key=lambda one: one.microseconds, default=chosen)


def _with_small_grids(problem: Problem, chosen: Candidate, over_time: Sequence[Candidate]) -> Candidate:
    """Return the candidate with split tiles for small grids, where it has overlapped ones, sizes are not known, and
    these are faster then."""
    split = [one for one in over_time if one.split is not None]
    if chosen.overlapped is None or chosen.overlapped.once or not split or not problem.has_unknown_sizes:
        return chosen
    return with_small_grids(problem, chosen, split[0], estimated)


def _for_large_grids(problem: Problem, sized: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate with the grids for which it has overlapped tiles, and its time with the sizes that are
    assumed."""
    return estimated(sized, with_least_cells(problem, estimated(sized, candidate), estimated))


def _with_asked_points(found: Sequence[Candidate], best: Candidate) -> Iterator[Candidate]:
    """Yield the candidates whose threads have the points that were asked for, the best one first."""
    yield explained(_distinct([*found, best]), best)
    yield from (one for one in found if one is not best)


def _with_parallel_sums(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate with the sums split that one of its threads would make, where that is faster."""
    made = with_parallel_sums(problem, candidate)
    made = None if made is None else estimated(problem, made)
    return candidate if made is None or made.microseconds >= candidate.microseconds else made


def _with_tiled_recurrence(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate, or tiles of a reduction over elements of its own array, where these are clearly faster."""
    made = None if candidate.schedule is None else tiled_recurrence(problem)
    made = None if made is None else estimated(problem, made)
    return made if made is not None and is_better(made, candidate) else candidate


def _with_exhausted(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate, with a note where nothing of it is parallel as far as the budget of isl operations goes."""
    why = problem.remembered.get(SUPERPOSED)
    if candidate.schedule is not None or not why:
        return candidate
    more = f"; --max-operations N allows more than {problem.options.max_operations}" if why == TOO_LONG else ""
    return replace(candidate, notes=(*candidate.notes, f"{problem.scop.name}: {why}{more}"))


def _distinct(found: Sequence[Candidate]) -> list[Candidate]:
    return [one for k, one in enumerate(found) if not any(one is other for other in found[:k])]


def _with_assumed_sizes(problem: Problem, least_rank: int = LEAST_RANK) -> Problem:
    """Return the problem where arrays of many dimensions have extents that fit into memory, unless others are known."""
    assumed = assumed_sizes(problem.scop, problem.machine.tuning.tiles.assumed_elements, least_rank)
    parameters = {**assumed, **problem.options.parameters}
    if len(parameters) == len(problem.options.parameters):
        return problem
    unknown = frozenset(assumed) - frozenset(problem.options.parameters)
    return replace(problem, options=replace(problem.options, parameters=parameters), assumed=unknown)


def _tiled(problem: Problem, first: Candidate) -> Candidate | None:
    """Return the candidate of the tiled strategy, where threads of the first schedule share what they read; None where
    isl gave up scheduling for that one: it would again, and what stands in for its schedules takes as long to map and
    to prove."""
    if first.schedule is None or is_unscheduled(first.notes) or not shares_reads(first.scop, first.schedule.tree):
        return None
    return _of_best_sizes(problem)


def _of_best_sizes(problem: Problem) -> Candidate | None:
    """Return the tiled strategy's first candidate, or the same with other sizes that are clearly faster: further ones,
    and those that were measured, too, while kernels wait for more than their arithmetic, as when what threads add up
    finds no place in registers."""
    best: Candidate | None = None
    for one in islice(each_in_stage(TILED, strategy(TILED)(problem)), MOST_SIZES):
        one = estimated(problem, one)
        if best is None or CLEARLY_FASTER * one.microseconds < best.microseconds:
            best = one
        times = best.estimate.kernels if best.estimate else ()
        if not one.further_sizes and not any(k.residency and k.bound != "arithmetic" for k in times):
            break
    return best


def _with_tiles(problem: Problem, first: Candidate, best: Candidate, tiled: Candidate) -> Candidate:
    """Choose the best one so far, the tiled one, or one put together from both."""
    parts = (best, tiled) if best is first else (tiled, best)  # reductions are split in the second one
    return _put_together(problem, *parts, tiled if is_better(tiled, best) else best)


def _put_together(problem: Problem, first: Candidate, other: Candidate, best: Candidate) -> Candidate:
    """Return the best one of two, or what is better: the schedule of the first for some components and the other's for
    others."""
    made = mixed(first, other, best)
    if made is None or made is other:
        return made or best
    made = estimated(problem, made)
    assert made.estimate is not None and best.estimate is not None
    return made if made.estimate.microseconds < NOTABLY * best.estimate.microseconds else best
