"""Grids that are large enough for overlapped tiles, where sizes are not known when kernels are made.

before: blocks of iterations in overlapped tiles, whatever the sizes; then what remains, one iteration a kernel
after:  blocks of iterations where there are so many cells; then what remains, all of it for smaller grids

Small grids have too few tiles, and lose much of each to its halo. Estimates of both are compared for grids that are as
long in each dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import isqrt, lcm, prod

from polytile.ir.time_tile import Exchange
from polytile.scheduling.candidate import Candidate, Problem, SmallGrids
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.strategies.mix_strategies import NOTABLY

IN_PLACE = 0.9  # of the time of one step a launch, for tiles that run one step, too: 208 ms for 187 at 0.92 (star3d4r)
MUCH_FASTER = 0.65  # by estimate with assumed sizes: then kernels for any sizes are faster, too
ENOUGH = 0.95  # of the time of one iteration a kernel: estimates of both are within a sixth (H200)
LARGER = 1.25  # times the largest extent: there tiles take another number of rounds
LEAST = 32  # cells along a dimension, below which no grid is looked at
NEAR_SIZE = 1.03  # two extents that are as good as one
# Of the time of overlapped tiles by estimate, up to which split ones are taken (1536^2 and 2048^2, H200: 1.1 where they
# take 1.1 times as long, five points in double precision, and 0.85 times, nine in single).
IN_FAVOUR = 1.1
BEYOND = 2  # times the sides of the largest grid that split tiles run: what overlapped ones leave is of such
NOTABLY_FASTER = 0.85  # of the time: less is not worth the text of a second version

Estimated = Callable[[Problem, Candidate], Candidate]


def with_least_cells(problem: Problem, candidate: Candidate, estimated: Estimated) -> Candidate:
    """Give a candidate the number of cells from which its blocks of iterations are faster than kernels of one; return
    it as it is where it has no blocks, where all sizes are known, or where blocks are not faster for any grid that
    fits into memory."""
    plan = candidate.overlapped
    if plan is None or plan.once:
        return candidate
    sized, largest = _sizes(problem, plan.dims)
    if largest <= LEAST:
        return candidate
    single = estimated(problem, candidate.with_time_tile(None))

    @cache
    def share(size: int) -> float:
        """Return the time of blocks by that of kernels of one iteration."""
        blocks, one = (estimated(sized(size), each).microseconds for each in (candidate, single))
        return _ratio(blocks, one)

    def pays(size: int) -> bool:
        """Say whether blocks pay, on average of two sizes: in how many rounds tiles get their place differs."""
        return share(size) < MUCH_FASTER or (share(size) + share(int(LARGER * size))) / 2 < ENOUGH

    if not pays(largest):
        return candidate
    low, high = LEAST, largest
    while high > NEAR_SIZE * low:
        middle = isqrt(low * high)
        low, high = (low, middle) if pays(middle) else (middle, high)
    return candidate.with_time_tile(replace(plan, least_cells=_cells(sized(high), candidate)))


def with_small_grids(problem: Problem, candidate: Candidate, split: Candidate, estimated: Estimated) -> Candidate:
    """Give a candidate with overlapped tiles the numbers of cells between which another one is faster, and how many
    iterations that tiles leave it runs faster than kernels of one; return it as it is where that is not notably faster
    for any grid, or faster for the largest that fits into memory. Kernels of one iteration run what is smaller still,
    where they are faster."""
    plan = candidate.overlapped
    assert plan is not None
    sized, largest = _sizes(problem, plan.dims)
    blocks, single = candidate.with_time_tile(replace(plan, least_cells=0)), candidate.with_time_tile(None)

    @cache
    def other(size: int) -> float:
        return estimated(sized(size), split).microseconds

    @cache
    def share(size: int) -> float:
        """Return the time of the other one by that of blocks."""
        return _ratio(other(size), estimated(sized(size), blocks).microseconds)

    @cache
    def of_single(size: int) -> float:
        """Return the time of the other one by that of kernels of one iteration."""
        return _ratio(other(size), estimated(sized(size), single).microseconds)

    if largest <= LEAST or share(largest) < IN_FAVOUR:
        return candidate
    high = _last(LEAST, largest, lambda size: share(size) < IN_FAVOUR)
    if high // 4 < LEAST:
        return candidate
    low = _last(LEAST, high, lambda size: of_single(size) > 1) if of_single(LEAST) > 1 else 0
    within = [size for size in (3 * high // 4, high // 2, high // 4) if size >= low]
    if min((max(share(n), of_single(n)) for n in within), default=1.0) > NOTABLY_FASTER:
        return candidate
    cells, least = (_cells(sized(size), candidate) if size else 0 for size in (high, low))
    cells = max(cells, plan.least_cells)
    bounded = candidate.with_time_tile(replace(plan, least_cells=cells))
    few = _fewest_iterations(sized(BEYOND * high), split, single, estimated)
    return replace(bounded, small_grids=SmallGrids(split, cells, least, few, plan.least_cells))


def _fewest_iterations(problem: Problem, split: Candidate, single: Candidate, estimated: Estimated) -> int:
    """Return the number of iterations from which bands of as many are faster than kernels of one iteration; that of a
    whole band where shorter ones are not."""
    tiles = split.split
    assert tiles is not None
    alone = estimated(problem, single).microseconds

    def pays(iterations: int) -> bool:
        band = split.with_time_tile(replace(tiles, iterations=iterations))
        return estimated(problem, band).microseconds <= alone

    step = lcm(*(count for _, count in tiles.versions))
    return next((n for n in range(step, tiles.iterations, step) if pays(n)), tiles.iterations)


def _ratio(time: float, other: float) -> float:
    """Return a time by another one; 1 where the latter is 0, as nothing runs with the sizes that are known."""
    return time / other if other else 1.0


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Find about the last number for which something holds that does for the first one, and not for the last."""
    while high > NEAR_SIZE * low:
        middle = isqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def is_better_for_large_grids(candidate: Candidate, best: Candidate) -> bool:
    """Say whether it is faster than kernels of one iteration where sizes are larger than those that are assumed, and
    about as fast with these."""
    tiles = candidate.overlapped
    bounded = tiles is not None and tiles.least_cells > 0
    return bounded and NOTABLY * candidate.microseconds <= best.microseconds


def is_doubtful(problem: Problem, candidate: Candidate, best: Candidate) -> bool:
    """Say whether tiles that blocks share overlap more than in what their estimates were fitted to; or sizes are
    assumed, and they are not that much faster with these, nor for larger grids; or they run one step as others do, and
    are hardly faster."""
    plan, most = candidate.overlapped, problem.machine.tuning.stream.redundancy
    if plan is None or plan.exchange is not Exchange.BLOCK:
        return False
    close = not plan.least_cells and candidate.microseconds >= MUCH_FASTER * best.microseconds
    alone = plan.in_place and candidate.microseconds >= IN_PLACE * best.microseconds
    return plan.redundancy > most or alone or (close and problem.has_unknown_sizes)


def _sizes(problem: Problem, dims: int) -> tuple[Callable[[int], Problem], int]:
    """Make the problem with grids of a size in each dimension, and find the largest one that fits into memory; 0 where
    all are known."""
    extents = assumed_sizes(problem.scop, problem.machine.tuning.tiles.assumed_elements, least_rank=dims)
    largest = min((size for name, size in extents.items() if name not in problem.options.parameters), default=0)

    def sized(size: int) -> Problem:
        parameters = {**dict.fromkeys(extents, size), **problem.options.parameters}
        return replace(problem, options=replace(problem.options, parameters=parameters))

    return sized, largest


def _cells(problem: Problem, candidate: Candidate) -> int:
    """Count those of the space of a plan."""
    from polytile.scheduling.cost.stream_time import stream_sizes

    assert candidate.overlapped is not None
    values = fix_parameters(candidate.scop.context, problem.options.parameters)
    return int(prod(stream_sizes(candidate.scop, candidate.overlapped.dims, values).cells))
