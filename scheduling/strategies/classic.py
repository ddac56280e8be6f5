"""The classic strategy: trees of permutable bands by isl's scheduler, blocks and threads by mapping.py, and of several
trees the one whose memory accesses take least by estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from polytile.choices import CLASSIC
from polytile.ir.expr import While
from polytile.ir.expr_trees import statements
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.memory_time import CLEARLY, best, estimate
from polytile.scheduling.cost.strides import few_threads
from polytile.scheduling.strategies.expansion import further_expansion, of_expanded
from polytile.scheduling.strategies.mapping import has_parallelism, map_to_gpu, with_barriers
from polytile.scheduling.strategies.pluto import NOT_ASKED, BandTree, distinct, is_unscheduled
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.strategies.unmapped_trees import trees_of

# Conflicts: marking loops, looking for barriers and proofs take longer than a compilation may by default.
MOST_INEXACT = 8000


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield one candidate: a mapped schedule, or that the SCoP stays on the host.

    More expansion has to pay, and sums run backwards where that is cheaper.
    """
    plain = _scheduled(problem)
    parallel = plain.schedule is not None and not few_threads(plain.schedule.tree)
    if not parallel and not is_unscheduled(plain.notes):
        plain = _expanded(problem, plain)
    yield plain


def _expanded(problem: Problem, plain: Candidate) -> Candidate:
    """Return the candidate with more expansion, and with sums backwards as well, if clearly cheaper; else `plain`."""
    found, least = plain, inf
    for backwards in (False, True):
        expanded = further_expansion(problem, backwards=backwards)
        if expanded is None:
            continue
        if found is plain:
            least = CLEARLY * _cost(problem, plain)
        other = of_expanded(problem, expanded)
        tried = _scheduled(other)
        cost = _cost(other, tried)
        if cost < least:
            found, least = tried, cost
    return found


def _cost(problem: Problem, candidate: Candidate) -> float:
    if candidate.schedule is None:
        return inf
    return estimate(candidate.scop, candidate.dependences, candidate.schedule, problem.options.shared_memory)


def _scheduled(problem: Problem) -> Candidate:
    if problem.conflicts > MOST_INEXACT:
        many = f"{problem.conflicts} pairs of conflicting statements and sizes are more than {MOST_INEXACT}"
        said = f"{problem.scop.name} stays on the host: {NOT_ASKED}, as {many}"
        return Candidate(CLASSIC, problem.scop, problem.dependences, None, (*_noted(problem), said))
    return mapped("classic", problem, trees_of(problem))


def mapped(strategy: str, problem: Problem, found: Sequence[BandTree]) -> Candidate:
    """Map the trees to blocks and threads and return the cheapest; without a schedule if the SCoP stays on the host."""
    scop, needed = problem.scop, problem.dependences.all.intersect_params(problem.scop.context)
    notes = _noted(problem)
    host = Candidate(strategy, scop, problem.dependences, None, notes)
    parallel = distinct([tree for tree in found if has_parallelism(tree.tree)])
    if not parallel:
        said = f"{scop.name} stays on the host: no loop of it is parallel{_one_statement(scop)}"
        return _with_notes(host, *(note for tree in found for note in tree.notes), said)
    schedules = list(_mapped(problem, parallel))
    if not schedules:
        return _with_notes(host, f"{scop.name} stays on the host: mapping its loops takes too long")
    cheapest = _cheapest(problem, schedules)
    schedule = replace(cheapest, tree=with_barriers(cheapest.tree, needed))
    return _with_notes(replace(host, schedule=schedule), *cheapest.notes)


def _one_statement(scop: Scop) -> str:
    """Explain that a loop is one statement and has all others inside, where there is one."""
    loops = (n for s in scop.statements if not s.iterators for n in statements(*s.body) if isinstance(n, While))
    found = next(loops, None)
    if found is None:
        return ""
    return f"; when the loop in line {found.location.line} ends is only known as it runs, so it is one step"


def _noted(problem: Problem) -> tuple[str, ...]:
    return (*problem.notes, *inexact(problem))


def inexact(problem: Problem) -> tuple[str, ...]:
    """Return a note for each array of which more is taken for a dependence than is one."""
    arrays = (d.array for d in problem.dependences.by_array if not d.exact)
    return tuple(f"{a}: every conflict counts as a dependence, as exact analysis takes too long" for a in arrays)


def _with_notes(candidate: Candidate, *notes: str) -> Candidate:
    return replace(candidate, notes=(*candidate.notes, *notes))


def _mapped(problem: Problem, found: Sequence[BandTree]) -> Iterator[MappedSchedule]:
    """Yield the trees with blocks and threads, but those of which isl makes trees that exceed the operation budget."""
    sizes = SizeChooser(problem.choices, parse_sizes(problem.options.sizes), problem.machine)
    for tree in found:
        try:
            with budget(CODE_OPERATIONS):
                schedule = map_to_gpu(problem.scop, tree, sizes)
        except OverBudgetError:
            continue
        yield schedule


def _cheapest(problem: Problem, schedules: list[MappedSchedule]) -> MappedSchedule:
    """Return the cheapest schedule, or the first one where finding that takes too long."""
    try:
        with budget(CODE_OPERATIONS):
            return best(problem.scop, problem.dependences, schedules, problem.options.shared_memory)
    except OverBudgetError:
        return schedules[0]
