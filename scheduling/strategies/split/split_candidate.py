"""The candidate of the split strategy for a time loop around stencils: its cones, the sizes of its tiles, and their
tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import islpy as isl

from polytile.choices import SPLIT
from polytile.diagnostics import Location
from polytile.ir.expr import Literal
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Array
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.analysis.stencil_form import NotAStencilError, StencilForm, carried_in_space
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.array_layout import element_size, pitches
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.strategies.split.cone import Cone, NoConeError, cones
from polytile.scheduling.strategies.split.kernel_trees import mapped_tree
from polytile.scheduling.strategies.split.parallel_kernels import with_kernels
from polytile.scheduling.strategies.split.register_tile_sizes import register_tiles
from polytile.scheduling.strategies.split.sizes import SLAB_DIMENSIONS, SplitSizes, slab_sizes, split_sizes
from polytile.scheduling.strategies.split.slab_trees import slab_tree
from polytile.scheduling.strategies.split.tile_sets import Tiling

MOST_VERSIONS = 4  # an array with more elements for a place has one for each step, of which a tile uses a few


def split_candidate(problem: Problem, form: StencilForm) -> Candidate:
    """Build the candidate of a stencil in split tiles.

    Raises NotAStencilError where dependences have no cones, UsageError for sizes that do not fit together.
    """
    scop, cone = problem.scop, cones_of(problem, form)
    domains = tuple(_domain(problem, name) for name in form.names)
    plan, why = register_tiles(problem, form, cone)
    sizes = memory_sizes(problem, form, cone) if plan is None else plan.sizes
    tiling = Tiling(form, sizes.cuts, domains)
    tree = mapped_tree(tiling, sizes.threads) if len(sizes.cuts) == form.dims else slab_tree(tiling, sizes.threads)
    first, last = ([_domain(problem, name) for name in names] for names in (scop.prologue, scop.epilogue))
    tree = with_kernels(tree, first, last, sizes.threads)
    lines = list(_cone_lines(cone[: len(sizes.cuts)]))
    lines.append("values of tiles in registers" if plan else f"values of tiles not in registers: {why}")
    reasons = (f"split: {sizes}", *(f"split: {line}" for line in lines))
    schedule = MappedSchedule(tree, SPLIT)
    found = Candidate(SPLIT, scop, problem.dependences, schedule, problem.notes, reasons)
    return found.with_time_tile(plan.plan) if plan else found


def memory_sizes(problem: Problem, form: StencilForm, cone: Sequence[Cone]) -> SplitSizes:
    """Choose sizes of tiles whose values are in memory; raises UsageError for sizes that do not fit together."""
    held = list(_held(problem, form))
    if form.dims < SLAB_DIMENSIONS or len(problem.choices.tile) > 1:
        return split_sizes(problem, cone, sum(element_size(a) * _versions(a, form.dims) for a in held))
    return slab_sizes(problem, cone, sum(_bytes_of_plane(problem, a, form.dims) for a in held))


def _domain(problem: Problem, statement: str) -> isl.Set:
    return problem.scop.statement(statement).domain.intersect_params(problem.scop.context)


def cones_of(problem: Problem, form: StencilForm) -> tuple[Cone, ...]:
    """Find the cones of a time loop; raises NotAStencilError where there are none."""
    if form.dims > MAX_DIMENSIONS:
        raise NotAStencilError(f"a grid of blocks has no {form.dims} dimensions", problem.scop.location)
    try:
        return cones(form)
    except NoConeError as error:
        raise _why(problem, error) from None


def _why(problem: Problem, error: NoConeError) -> NotAStencilError:
    """Explain a missing cone in terms of the source."""
    scop = problem.scop
    if not error.unbounded:
        return carried_in_space(scop, problem.dependences, error.source, error.sink)
    arrays = " and ".join(problem.dependences.arrays_between(error.source, error.sink)) or "memory"
    other = error.source if error.source != error.sink else "itself"
    reason = f"{error.sink} depends on {other} through {arrays} over a distance that is not bounded"
    return NotAStencilError(reason, _at(problem, error.sink))


def _at(problem: Problem, statement: str) -> Location:
    return problem.scop.statement(statement).location


def _held(problem: Problem, form: StencilForm) -> Iterator[Array]:
    """Return the arrays that tiles hold: those that are written, of at least as many dimensions as space has."""
    scop = problem.scop
    written = {a.array for name in form.names for a in scop.statement(name).accesses if a.writes}
    return (scop.array(name) for name in sorted(written) if scop.array(name).rank >= form.dims)


def _bytes_of_plane(problem: Problem, array: Array, dims: int) -> int:
    """Compute the bytes of an array at one place of the outermost space dimension, by known or assumed sizes."""
    known = problem.options.parameters
    assumed = assumed_sizes(problem.scop, problem.machine.tuning.tiles.assumed_elements)
    sizes = fix_parameters(problem.scop.context, {**assumed, **known})
    return (pitches(array, sizes)[array.rank - dims] or element_size(array)) * _versions(array, dims)


def _versions(array: Array, dims: int) -> int:
    """Return how many elements an array has for one place, where they are few: those of `A[t%2][i]` are two."""
    leading = array.extents[: array.rank - dims]
    found = prod(int(e.text) if isinstance(e, Literal) and e.text.isdigit() else MOST_VERSIONS + 1 for e in leading)
    return found if found <= MOST_VERSIONS else 1


def _cone_lines(found: Sequence[Cone]) -> Iterator[str]:
    """Yield a line of --explain with the slopes of each dimension that is cut."""
    for k, cone in enumerate(found):
        yield f"dimension {k}: {cone.lower.slope} places a step below, {cone.upper.slope} above"
