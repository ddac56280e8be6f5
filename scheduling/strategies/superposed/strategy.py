"""The superposed strategy: loop trees of both levels, kernels from them, a mapped tree for each way to treat
reductions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from polytile.choices import SUPERPOSED
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.proof.legality import unordered
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.superposed.explain import explanation
from polytile.scheduling.strategies.superposed.kernel_formation import superpose_levels
from polytile.scheduling.strategies.superposed.kernel_fusion import read_once
from polytile.scheduling.strategies.superposed.kernel_plans import Planner
from polytile.scheduling.strategies.superposed.loop_coalescing import Steps
from polytile.scheduling.strategies.superposed.source_order import NoLoopTreeError
from polytile.scheduling.strategies.superposed.superpose import Superposed, superpose
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.transform.reductions.exact import with_exact_reductions

MOST_INEXACT = 800  # conflicts: a search takes thousands of isl's operations for each
_SEARCH = "mapping its loops and reductions to blocks and threads"
TOO_LONG = f"{_SEARCH} takes too long"


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield the strategy's mapped schedules that keep the order, each with the Scop whose reductions it privatised."""
    for found in superposed(problem):
        needed = found.dependences.all.intersect_params(found.scop.context)
        tree = with_barriers(found.tree, needed)
        if not unordered(tree, needed):
            yield Candidate(
                SUPERPOSED,
                found.scop,
                found.dependences,
                MappedSchedule(tree, found.strategy),
                problem.notes,
                found.reasons,
            )


def superposed(problem: Problem) -> Iterator[Superposed]:
    """Yield mapped trees without barriers, which are not proven yet; there is none where nothing is parallel.

    Reductions are mapped to blocks and threads in the first, those of integers alone under `strict`, and all stay in
    the source's order in the second.
    """
    if problem.conflicts > MOST_INEXACT:
        many = f"{problem.conflicts} pairs of conflicting statements and sizes are more than {MOST_INEXACT}"
        problem.remembered[SUPERPOSED] = f"{_SEARCH} is not tried, as {many}"
        return
    sizes = SizeChooser(problem.choices, parse_sizes(problem.options.sizes), problem.machine)
    strict = problem.options.strict
    free = with_exact_reductions(problem.scop) if strict else problem.scop
    for relax in (True, False) if not strict or any(s.reduction for s in free.statements) else (False,):
        try:
            with budget(problem.options.max_operations):
                found = _found(problem, free if relax else problem.scop, sizes, relax=relax)
        except OverBudgetError:
            problem.remembered[SUPERPOSED] = TOO_LONG
            if not problem.dependences.exact:
                return  # what takes so long is what all conflicts count for, in any order
            continue
        except NoLoopTreeError:
            continue
        if found is not None:
            yield replace(found, scop=problem.scop) if found.scop is free else found
        if relax and found is not None and found.scop is free:
            return  # no reduction was split, and without them it is the same


def _found(problem: Problem, scop: Scop, sizes: SizeChooser, *, relax: bool) -> Superposed | None:
    dependences = problem.dependences
    trees = loop_trees(scop, dependences, relax=relax)
    steps = Steps(scop, problem.options.parameters, problem.machine.tuning.sharing)
    host = superpose_levels(steps, trees.block, trees.thread, reductions=relax)
    host = read_once(scop, dependences, host) if relax else host
    planner = Planner(steps, sizes)
    planner.visit(host)
    if not planner.plans:
        return None
    found = superpose(scop, dependences, host, planner)
    if found is None:
        return None
    strategy = SUPERPOSED if relax else "superposed (reductions in order)"
    split = {made.statement for made in found.scop.privatised}
    reason = partial(explanation, scop, trees.block, trees.thread, host, planner, split)
    return replace(found, strategy=strategy, reasons=(reason,))
