"""The split strategy: time loops around stencils in bands of steps, cut into tiles without redundant work.

Grosser, Cohen, Kelly, Ramanujam, Sadayappan, Verdoolaege: Split tiling for GPUs: automatic parallelization using
trapezoidal tiles (GPGPU-6, 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.diagnostics import Location
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.machine import MAX_DIMENSIONS
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.analysis.stencil_form import (
    NotAStencilError,
    StencilForm,
    carried_in_space,
    stencil_form,
    time_loops,
)
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.array_layout import element_size
from polytile.scheduling.strategies.split.cone import Cone, NoConeError, cones
from polytile.scheduling.strategies.split.kernel_trees import mapped_tree
from polytile.scheduling.strategies.split.sizes import split_sizes
from polytile.scheduling.strategies.split.tile_sets import Tiling

NAME = "split"


def propose(problem: Problem) -> Iterator[Candidate]:
    """One candidate, where the SCoP is a time loop around stencils; else the reason is remembered."""
    try:
        with budget(CODE_OPERATIONS):
            yield _candidate(problem)
    except OverBudgetError:
        problem.remembered[NAME] = "cutting its loops into tiles takes too long"
    except NotAStencilError as error:
        problem.remembered[NAME] = str(error)


def _candidate(problem: Problem) -> Candidate:
    scop = problem.scop
    form, cone = _recognised(problem)
    domains = tuple(scop.statement(name).domain.intersect_params(scop.context) for name in form.names)
    sizes = split_sizes(problem, cone, _bytes_of_place(problem, form))
    tree = mapped_tree(Tiling(form, sizes.cuts, domains), sizes.threads)
    reasons = (f"split: {sizes}", *(f"split: {line}" for line in _cone_lines(problem, form, cone)))
    return Candidate(
        NAME, problem.choices, scop, problem.dependences, MappedSchedule(tree, NAME), problem.notes, reasons
    )


def _recognised(problem: Problem) -> tuple[StencilForm, tuple[Cone, ...]]:
    """The time loop that the SCoP is, with its cones; raises NotAStencilError."""
    scop = problem.scop
    loops = time_loops(scop)
    if len(loops) != 1 or len(loops[0]) != len(scop.statements):
        raise NotAStencilError("it is not one loop over steps around everything else", scop.location)
    form = stencil_form(scop, problem.dependences, loops[0])
    if not any(distance.steps > 0 for distance in form.distances):
        time = scop.statement(form.names[0]).iterators[0]
        reason = f"iterations of the outermost loop, over {time}, do not depend on one another"
        raise NotAStencilError(reason, _at(problem, form.names[0]))
    if form.dims > MAX_DIMENSIONS:
        raise NotAStencilError(f"a grid of blocks has no {form.dims} dimensions", scop.location)
    try:
        return form, cones(form)
    except NoConeError as error:
        raise _why(problem, error) from None


def _why(problem: Problem, error: NoConeError) -> NotAStencilError:
    """A missing cone in terms of the source."""
    scop = problem.scop
    if not error.unbounded:
        return carried_in_space(scop, problem.dependences, error.source, error.sink)
    arrays = " and ".join(problem.dependences.arrays_between(error.source, error.sink)) or "memory"
    other = error.source if error.source != error.sink else "itself"
    reason = f"{error.sink} depends on {other} through {arrays} over a distance that is not bounded"
    return NotAStencilError(reason, _at(problem, error.sink))


def _at(problem: Problem, statement: str) -> Location:
    return problem.scop.statement(statement).location


def _bytes_of_place(problem: Problem, form: StencilForm) -> int:
    """The bytes of one element of each array that a tile holds: those of at least as many dimensions as space has."""
    scop = problem.scop
    used = {a.array for name in form.names for a in scop.statement(name).accesses}
    written = {a.array for name in form.names for a in scop.statement(name).accesses if a.writes}
    held = [scop.array(name) for name in sorted(used) if scop.array(name).rank >= form.dims and name in written]
    return sum(element_size(array) for array in held)


def _cone_lines(problem: Problem, form: StencilForm, found: Sequence[Cone]) -> Iterator[str]:
    """The slopes of each dimension, for a reader."""
    for k, cone in enumerate(found):
        yield f"dimension {k}: {cone.lower.slope} places a step below, {cone.upper.slope} above"
