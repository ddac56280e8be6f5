"""The overlapped strategy: kernels that run several iterations of a time loop around stencils at once.

before: for (t) for each cell                               one kernel for each iteration
after:  for each pair of blocks of T iterations             two kernels, which compute halos again instead of waiting
            tiles stream over planes; values stay in registers and shared memory between the steps of a block
        for the remaining iterations, as before

Rawat, Vaidya, Sukumaran-Rajam, Ravishankar, Grover, Rountev, Pouchet, Sadayappan: Domain-specific optimization and
generation of high-performance GPU code for stencil computations (Proc. IEEE 2018), sections III and IV.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polytile.diagnostics import UsageError
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.plan import Choices
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.analysis.stencil_form import NotAStencilError, iterated_stencil
from polytile.scheduling.analysis.stencil_values import stencil_values
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.strategies import classic
from polytile.scheduling.strategies.overlapped.sizes import SizedPlan, sized_plan
from polytile.scheduling.strategies.superposed import strategy as superposed

NAME = "overlapped"


def propose(problem: Problem) -> Iterator[Candidate]:
    """A candidate, where the SCoP is a time loop around stencils; else the reason is remembered. Raises UsageError for
    sizes that do not fit together, where this strategy was asked for."""
    try:
        with budget(CODE_OPERATIONS):
            found = _sized(problem)
        one_step = _one_step(problem)
    except OverBudgetError:
        problem.remembered[NAME] = "finding where its values come from takes too long"
    except NotAStencilError as error:
        problem.remembered[NAME] = str(error)
    except UsageError as error:
        if problem.options.schedule == NAME:
            raise
        problem.remembered[NAME] = error.message  # sizes that are meant for another strategy
    else:
        yield _candidate(problem, found, one_step)


def _sized(problem: Problem) -> SizedPlan:
    scop = problem.scop
    if scop.prologue or scop.epilogue:
        raise NotAStencilError("other statements run before or behind the loop over steps", scop.location)
    form = iterated_stencil(scop, problem.dependences)
    return sized_plan(problem, stencil_values(scop, problem.dependences, form))


def _one_step(problem: Problem) -> Candidate:
    """The schedule of iterations that are no whole pair of blocks: the first whose Scop has the same statements."""
    plain = replace(problem, choices=Choices())
    for propose_one in (superposed.propose, classic.propose):
        for found in propose_one(plain):
            if found.schedule is not None and found.scop.statements == problem.scop.statements:
                return found
    raise NotAStencilError("no loop inside the one over steps is parallel", problem.scop.location)


def _candidate(problem: Problem, found: SizedPlan, one_step: Candidate) -> Candidate:
    assert one_step.schedule is not None
    return replace(
        one_step,
        strategy=NAME,
        schedule=replace(one_step.schedule, strategy=NAME),
        choices=problem.choices,
        reasons=(*one_step.reasons, *(f"{NAME}: {line}" for line in found.lines())),
        stream=found.plan,
    )
