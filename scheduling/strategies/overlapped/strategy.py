"""The overlapped strategy: kernels that run several iterations of a time loop around stencils at once.

before: for (t) for each cell                               one kernel for each iteration
after:  for each pair of blocks of T iterations             two kernels, which compute halos again instead of waiting
            tiles stream over planes; values stay in registers and shared memory between the steps of a block
        for the remaining iterations, as before

before: for each cell of B; for each cell of C; ..          one kernel for each array
after:  one kernel, where all arrays are one macro-node: what it makes and nobody reads later is in no memory

Rawat, Vaidya, Sukumaran-Rajam, Ravishankar, Grover, Rountev, Pouchet, Sadayappan: Domain-specific optimization and
generation of high-performance GPU code for stencil computations (Proc. IEEE 2018), sections III, IV and VI.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from polytile.choices import Choices
from polytile.ir.def_use import integer_divisors
from polytile.ir.expr import Access
from polytile.ir.expr_trees import walk
from polytile.ir.isl_util import budget
from polytile.ir.scop import Scop
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.analysis.stencil_form import NotAStencilError, iterated_stencil
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.strategies import classic
from polytile.scheduling.strategies.refusals import remembered_refusals
from polytile.scheduling.strategies.superposed import strategy as superposed
from polytile.scheduling.transform.fused_sums import begin_with_addends

if TYPE_CHECKING:
    from polytile.scheduling.analysis.stencil_values import StencilValues
    from polytile.scheduling.strategies.overlapped.sizes import SizedPlan

NAME = "overlapped"


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield a candidate where the SCoP is a time loop around stencils, or a DAG of them that is one macro-node.

    Else the reason is remembered. Raises UsageError for sizes that do not fit together, where this strategy was asked
    for.
    """
    asked = problem if problem.options.strict else replace(problem, scop=begin_with_addends(problem.scop))
    found: Candidate | None = None
    with remembered_refusals(problem, NAME, "finding where its values come from"):
        with budget(CODE_OPERATIONS):
            sized = _sized(asked)
        found = _candidate(asked, sized, _one_step(asked))
    if found is not None:
        yield found


def _sized(problem: Problem) -> SizedPlan:
    scop = problem.scop
    if scop.prologue or scop.epilogue:
        raise NotAStencilError("other statements run before or behind the loop over steps", scop.location)
    if problem.options.planes == "auto":
        values = values_of(problem)
        from polytile.scheduling.strategies.overlapped.sizes import sized_plan  # only time loops and DAGs pay for it

        found = sized_plan(problem, values)
    else:
        from polytile.scheduling.strategies.overlapped.plane_sizes import plane_plan

        found = plane_plan(problem)
    _check_bodies(scop)
    return found


def values_of(problem: Problem) -> StencilValues:
    """Find where the values of a time loop come from, or those of a DAG of stencils where this strategy was asked for:
    what is fastest is not known of these yet. Raises NotAStencilError."""
    scop, dependences = problem.scop, problem.dependences
    try:
        form = iterated_stencil(scop, dependences)
        from polytile.scheduling.analysis.stencil_values import stencil_values  # only time loops pay for it

        return stencil_values(scop, dependences, form)
    except NotAStencilError:
        if problem.options.schedule != NAME:
            raise
        from polytile.scheduling.strategies.overlapped.dag_values import dag_values

        found = dag_values(problem)
        if found is None:
            raise
        return found


def _check_bodies(scop: Scop) -> None:
    """Raise NotAStencilError where statements divide integers by values that are computed.

    Threads compute garbage outside of what tiles claim.
    """
    for statement in scop.main:
        for divisor in integer_divisors(*statement.body):
            made = [n.array for n in walk(divisor) if isinstance(n, Access) and scop.written(n.array)]
            if made:
                reason = f"{statement.name} divides integers by {made[0]}, whose values are not there in all of a halo"
                raise NotAStencilError(reason, statement.location)


def _one_step(problem: Problem) -> Candidate:
    """Return the schedule of iterations that are no whole pair of blocks: the first whose Scop has the same statements.

    Raises NotAStencilError where no loop inside the one over steps is parallel.
    """
    plain = replace(problem, choices=Choices())
    for propose_one in (superposed.propose, classic.propose):
        for found in propose_one(plain):
            if found.schedule is not None and found.scop.statements == problem.scop.statements:
                return found
    raise NotAStencilError("no loop inside the one over steps is parallel", problem.scop.location)


def _candidate(problem: Problem, found: SizedPlan, one_step: Candidate) -> Candidate:
    assert one_step.schedule is not None
    reasons = (*one_step.reasons, *(f"{NAME}: {line}" for line in found.lines()))
    schedule = replace(one_step.schedule, strategy=NAME)
    return replace(one_step, strategy=NAME, schedule=schedule, reasons=reasons).with_time_tile(found.plan)
