"""The candidate of the split strategy for a time loop around stencils: its cones, the sizes of its tiles, and their
tree.

The mapped tree of split tiles: bands of steps on the host, a kernel for each colour of tiles.

before: for (t) { for (i)* S0; for (i)* S1; }
after:  band [floor(t/H)] / sequence of colours { kernel / block [tile numbers] /
            loop[step] / sync / band [2 t + level] / thread[..] / band [places] }

Blocks are tiles. A barrier ends each folded step; threads have plain places, the contiguous dimension along x.

Kernels in front of a time loop and behind it, for parallel statements, as those that copy arrays into two versions.

before: S2[v, i, j] for all v, i, j; the time loop
after:  sequence { kernel / block [floor(i/8), floor(j/32)] / band [v] / thread[8,32] / band [i, j]; the time loop }

The mapped tree of slabs: bands of steps and tiles of the outermost dimension on the host, a kernel for each level.

before: for (t) { for (i, j, k)* S0; for (i, j, k)* S1; }
after:  band [floor(t/H)] / sequence of colours { band [slab number] / band [t] / sequence of levels {
            kernel / block [floor(i/2), floor(j/4), floor(k/32)] / thread[2,4,32] [i mod 2, j mod 4, k mod 32] } }

A slab that shrinks or grows along one dimension alone stays in the L2 cache while its steps run, one launch for each
level of a step: a three-dimensional tile in shared memory fetches more than it saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import islpy as isl

from polytile.choices import SPLIT
from polytile.diagnostics import Location
from polytile.ir.expr import Literal
from polytile.ir.schedule import BLOCK, KERNEL, SYNC, MappedSchedule, loop_mark, thread_mark
from polytile.ir.scop import Array
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.analysis.stencil_form import NotAStencilError, StencilForm, carried_in_space
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.array_layout import element_size, pitches
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.strategies.band_rewriting import Member, tile
from polytile.scheduling.strategies.loop_nest import Band, Loop, Mark, Nest, Point, around, in_order, to_schedule
from polytile.scheduling.strategies.split.cone import Cone, NoConeError, cones
from polytile.scheduling.strategies.split.register_tile_sizes import register_tiles
from polytile.scheduling.strategies.split.sizes import SLAB_DIMENSIONS, SplitSizes, slab_sizes, split_sizes
from polytile.scheduling.strategies.split.tile_sets import Colour, Tiling, colours

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


STEP = "step"  # the label of the loop over the folded steps of a tile


def mapped_tree(tiling: Tiling, threads: Sequence[int]) -> isl.Schedule:
    """Build the tree that runs all instances of the tiling's stencil, on blocks of `threads`, those along x last."""
    kernels = [_kernel(tiling, colour, threads) for colour in colours(tiling.form.dims)]
    found = [kernel for kernel in kernels if kernel is not None]
    return to_schedule(Loop(Member(tiling.band(), False), in_order(found)), tiling.domain)


def _kernel(tiling: Tiling, colour: Colour, threads: Sequence[int]) -> Nest | None:
    """Build the kernel of one colour; None where no tile has it."""
    instances = tiling.instances(colour)
    if instances.is_empty():
        return None
    dims = range(tiling.form.dims)
    places = tuple(Member(tiling.place(k), True) for k in dims)
    points = Mark(thread_mark(tuple(threads)), Band(places, Point(instances)))
    steps = Mark(loop_mark(STEP), Mark(SYNC, Loop(Member(tiling.folded_step(), False), points)))
    tiles = tuple(Member(tiling.coordinate(k, colour), True) for k in dims)
    return Mark(KERNEL, Mark(BLOCK, Band(tiles, steps)))


SET = isl.dim_type.set


def with_kernels(
    tree: isl.Schedule, first: Sequence[isl.Set], last: Sequence[isl.Set], threads: Sequence[int]
) -> isl.Schedule:
    """Put the tree after a kernel for each of the domains `first`, and before those for `last`."""
    for domain in reversed(first):
        tree = parallel_kernel(domain, threads).sequence(tree)
    for domain in last:
        tree = tree.sequence(parallel_kernel(domain, threads))
    return tree


def parallel_kernel(domain: isl.Set, threads: Sequence[int]) -> isl.Schedule:
    """Build a kernel for a statement of parallel instances, with a thread for each value of its last iterators.

    The thread runs through the other iterators; `threads` are those of a block, along x last.
    """
    space, rank = isl.LocalSpace.from_space(domain.get_space()), domain.dim(SET)
    values = [isl.PwAff.var_on_domain(space, SET, k) for k in range(rank)]
    if not values:  # one instance
        values, rank, threads = [isl.PwAff.from_aff(isl.Aff.zero_on_domain(space))], 1, (1,)
    sizes = tuple(threads[-rank:])
    inner, outer = values[rank - len(sizes) :], values[: rank - len(sizes)]
    tiles = [v.scale_down_val(isl.Val(size)).floor() for v, size in zip(inner, sizes, strict=True)]
    points = Mark(thread_mark(sizes), Band(_members(inner, True), Point(isl.UnionSet.from_set(domain))))
    return to_schedule(Mark(KERNEL, Mark(BLOCK, Band(_members(tiles, True), around(_members(outer, False), points)))))


def _members(values: Sequence[isl.PwAff], parallel: bool) -> tuple[Member, ...]:
    return tuple(Member(isl.UnionPwAff.from_pw_aff(value), parallel) for value in values)


def slab_tree(tiling: Tiling, threads: Sequence[int]) -> isl.Schedule:
    """Build the tree that runs all instances of a tiling along its first dimension, on blocks of `threads`.

    These are as many as there are dimensions, those along x last.
    """
    found = [slabs for colour in colours(1) if (slabs := _slabs(tiling, colour, threads)) is not None]
    return to_schedule(Loop(Member(tiling.band(), False), in_order(found)), tiling.domain)


def _slabs(tiling: Tiling, colour: Colour, threads: Sequence[int]) -> Nest | None:
    """Build the slabs of a colour, one after the other; None where there are none."""
    instances = tiling.instances(colour)
    if instances.is_empty():
        return None
    levels = sorted({s.level for s in tiling.form.statements})
    kernels = [_slab_kernel(tiling, _of_level(tiling, level, instances), threads) for level in levels]
    steps = Loop(Member(tiling.step(), False), in_order([k for k in kernels if k is not None]))
    return Loop(Member(tiling.coordinate(0, colour), False), steps)


def _of_level(tiling: Tiling, level: int, instances: isl.UnionSet) -> isl.UnionSet:
    """Return the instances of the statements of one level."""
    own = isl.UnionSet("{ }")
    for statement in tiling.form.statements:
        if statement.level == level:
            own = own.union(isl.UnionSet.from_set(statement.placed.domain().universe(statement.placed.domain().space)))
    return instances.intersect(own)


def _slab_kernel(tiling: Tiling, instances: isl.UnionSet, threads: Sequence[int]) -> Nest | None:
    if instances.is_empty():
        return None
    blocks, points = tile([Member(tiling.place(k), True) for k in range(tiling.form.dims)], threads)
    inside = Mark(thread_mark(tuple(threads)), Band(tuple(points), Point(instances)))
    return Mark(KERNEL, Mark(BLOCK, Band(tuple(blocks), inside)))
