"""The estimated time of a candidate, as it would run, and which of two is better by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polytile.ir.version_conditions import FewerCells
from polytile.scheduling.candidate import Candidate, Problem, each_line_once
from polytile.scheduling.cost.memory_time import CLEARLY
from polytile.scheduling.cost.schedule_cost import timed
from polytile.scheduling.strategies.mix_strategies import NOTABLY
from polytile.stage_times import stage
from polytile.stages.place_data import realised

FAR_LESS = 0.25  # of what is fetched: then it counts between schedules that take as long by estimate


def estimated(problem: Problem, candidate: Candidate) -> Candidate:
    """Add the time of what would run, and that where the time depends on it; the host has none."""
    with stage(candidate.strategy):
        return with_estimate(problem, candidate)


def with_estimate(problem: Problem, candidate: Candidate) -> Candidate:
    """Add the time of what would run, in graphs where its launches may be."""
    if candidate.schedule is None:
        return candidate
    plain = _by_kind(problem, candidate)
    if plain.estimate is None or problem.options.graphs is False:
        return plain
    return replace(plain, estimate=plain.estimate.in_graphs(problem.machine.speed.replayed_us))


def _by_kind(problem: Problem, candidate: Candidate) -> Candidate:
    """Add the time of what would run, where each launch is from the host."""
    known = problem.options.parameters
    tile = candidate.time_tile
    if tile is not None:
        from polytile.scheduling.cost.time_tile_cost import runs_none, time_tile_estimate

        if runs_none(tile, candidate.scop, known):
            return replace(candidate, estimate=_by_kind(problem, candidate.with_time_tile(None)).estimate)
        return replace(candidate, estimate=time_tile_estimate(tile, candidate.scop, problem.machine, known))
    ready, run, plans = realised(candidate, problem.options.shared_memory, problem.machine)
    return replace(ready, estimate=timed(run.scop, run.schedule, plans.kernels, problem.machine, known))


def is_better(candidate: Candidate, best: Candidate) -> bool:
    """Return whether a candidate is clearly faster by estimate, or not slower while it fetches far less: how much of
    that shows depends on more than the estimate knows."""
    time, least = candidate.estimate, best.estimate
    if time is None or least is None:
        return time is not None
    if time.microseconds < CLEARLY * least.microseconds:
        return True
    return NOTABLY * time.microseconds <= least.microseconds and time.fetching < FAR_LESS * least.fetching


def explained(found: Sequence[Candidate], best: Candidate) -> Candidate:
    """Return the best one with lines on what each would take, and on its own kernels."""
    lines = [
        f"{one.schedule.strategy}: {line}{' (chosen)' if one is best else ''}"
        for one in found
        if one.schedule is not None
        for line in str(one.estimate).splitlines()[:1]
    ]
    if best.small_grids is not None:
        small = best.small_grids
        lines.append(f"{small.candidate.strategy} for {FewerCells(small.cells, small.least, small.iterations)}")
    reasons = each_line_once(line for one in found for line in one.reasons)
    return replace(best, reasons=(reasons, *lines, *str(best.estimate or "").splitlines()[1:]))
