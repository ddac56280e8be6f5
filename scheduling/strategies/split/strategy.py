"""The split strategy: time loops around stencils in bands of steps, cut into tiles without redundant work.

Grosser, Cohen, Kelly, Ramanujam, Sadayappan, Verdoolaege: Split tiling for GPUs: automatic parallelization using
trapezoidal tiles (GPGPU-6, 2013).
"""

from __future__ import annotations

from collections.abc import Iterator

from polytile.choices import SPLIT
from polytile.ir.isl_util import budget
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.analysis.stencil_form import iterated_stencil
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.strategies.expansion import without_copy_back
from polytile.scheduling.strategies.refusals import remembered_refusals


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield a candidate where the SCoP is a time loop around stencils, first without copies at the end of steps.

    Else the reason is remembered. Raises UsageError for sizes that do not fit together, where this strategy was asked
    for.
    """
    for one in (without_copy_back(problem), problem):
        if one is None:
            continue
        found: Candidate | None = None
        with remembered_refusals(problem, SPLIT, "cutting its loops into tiles"), budget(CODE_OPERATIONS):
            found = _candidate(one)
        if found is not None:
            yield found


def _candidate(problem: Problem) -> Candidate:
    """Build the candidate of a problem; raises NotAStencilError for what is no time loop around stencils."""
    form = iterated_stencil(problem.scop, problem.dependences)
    from polytile.scheduling.strategies.split.split_candidate import split_candidate  # only time loops pay for it

    return split_candidate(problem, form)
