"""Sizes of split tiles: how many steps a band has, how wide tiles are, how many threads run one.

A tile's box holds the values of its places while a band of steps runs. Higher bands fetch them less often, but tiles
get narrower as they shrink, and more of the box is halo. What a step fetches, for boxes of S places and periods of P
along each of d dimensions, is about 2^d * prod(S) / (H * prod(P)) elements a place and array, filled and drained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, inf, prod

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.split.cone import Cone
from polytile.scheduling.strategies.split.tile_sets import Cut

SLAB_DIMENSIONS = 3  # of space, where tiles of few points in each do not pay
HEIGHTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True, slots=True)
class SplitSizes:
    """How each dimension is cut, the outermost alone for slabs, and the threads of a block, outermost first."""

    cuts: tuple[Cut, ...]
    threads: tuple[int, ...]

    def __str__(self) -> str:
        widths = " x ".join(str(cut.width) for cut in self.cuts)
        threads = " x ".join(map(str, self.threads))
        what = "tiles" if len(self.cuts) == len(self.threads) else "slabs"
        return f"bands of {self.cuts[0].height} steps, {what} {widths} wide, {threads} threads"


def split_sizes(problem: Problem, cones: Sequence[Cone], bytes_of_place: int) -> SplitSizes:
    """Return the sizes that are asked for, or the best that fit into shared memory by `bytes_of_place`.

    Raises UsageError where the widths that are asked for are too few, or too small for the height.
    """
    threads = _threads(problem, len(cones))
    asked = spread_sizes("--tile", problem.choices.tile, len(cones))
    height = problem.choices.time_tile
    if asked and height:
        return SplitSizes(asked_cuts(cones, height, asked), threads)
    heights = [height] if height else HEIGHTS
    found = [cuts for h in heights for cuts in _candidates(problem, cones, h, asked)]
    fitting = [cuts for cuts in found if prod(map(_box, cuts)) * bytes_of_place <= problem.options.shared_memory]
    if not fitting:
        smallest = asked_cuts(cones, height or 1, asked) if asked else _narrowest(cones, height or 1)
        return SplitSizes(smallest, threads)
    return SplitSizes(min(fitting, key=_fetched), threads)


def slab_sizes(problem: Problem, cones: Sequence[Cone], bytes_of_plane: int) -> SplitSizes:
    """Return the sizes that are asked for, or slabs of as many planes as the L2 cache has room for.

    A plane of all arrays takes `bytes_of_plane` bytes; bands are as high as leaves slabs wide enough.

    Raises UsageError where the width that is asked for is too small for the height.
    """
    tuning = problem.machine.tuning.split
    height, asked = problem.choices.time_tile, problem.choices.tile
    planes = asked[0] if asked else max(1, int(tuning.slab_share * problem.machine.speed.l2_bytes / bytes_of_plane))
    most = planes - 1 if asked else tuning.slab_spread * planes
    fitting = [h for h in HEIGHTS if Cut(cones[0], 0, 0, h).spread <= most]
    height = height or max(fitting, default=1)
    width = asked or (max(planes, Cut(cones[0], 0, 0, height).spread + 1),)
    dims = len(cones)
    default = tuning.slab_threads if len(tuning.slab_threads) == dims else tuning.threads[dims - 1]
    return SplitSizes(asked_cuts(cones[:1], height, width), _asked_threads(problem, dims) or default)


def _threads(problem: Problem, dims: int) -> tuple[int, ...]:
    return _asked_threads(problem, dims) or problem.machine.tuning.split.threads[dims - 1]


def _asked_threads(problem: Problem, dims: int) -> tuple[int, ...]:
    return spread_sizes("--block", problem.choices.block, dims)


def spread_sizes(option: str, sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Spread one number over all dimensions; of several the last ones count.

    Raises UsageError where they are fewer than the dimensions.
    """
    if 1 < len(sizes) < count:
        given = ",".join(map(str, sizes))
        raise UsageError(
            f"{option}: {given} are {len(sizes)} sizes for {count} dimensions of space",
            hint=f"{count} sizes, or one for all dimensions",
        )
    return sizes * count if len(sizes) == 1 else sizes[-count:]


def asked_cuts(cones: Sequence[Cone], height: int, widths: Sequence[int]) -> tuple[Cut, ...]:
    """Return tiles of these widths; raises UsageError where they are too narrow for the height."""
    cuts = []
    for cone, width in zip(cones, widths, strict=True):
        narrow = Cut(cone, 0, 0, height)
        top = width - narrow.spread
        if top < 1:
            raise UsageError(
                f"--tile: {width} is too narrow for --time-tile {height}: a tile gets {narrow.spread} narrower",
                hint=f"a width of at least {narrow.spread + 1}, or fewer steps",
            )
        cuts.append(box_cut(cone, top, height))
    return tuple(cuts)


def box_cut(cone: Cone, top: int, height: int) -> Cut:
    """Cut growing tiles as wide at first as shrinking ones end, so both have one box; none where nothing shrinks."""
    return Cut(cone, top, 0 if Cut(cone, 0, 0, height).spread == 0 else top, height)


def box_period(narrowest: Cut, top: int) -> int:
    """Compute the period of tiles that are wider than those one place wide, and else cut like them."""
    return narrowest.period + (top - 1) * (1 + narrowest.base)


def _candidates(
    problem: Problem, cones: Sequence[Cone], height: int, asked: Sequence[int]
) -> Iterator[tuple[Cut, ...]]:
    if asked:
        if all(width > Cut(cone, 0, 0, height).spread for cone, width in zip(cones, asked, strict=True)):
            yield asked_cuts(cones, height, asked)
        return
    for widths in problem.machine.tuning.split.widths[len(cones) - 1]:
        if all(width > Cut(cone, 0, 0, height).spread for cone, width in zip(cones, widths, strict=True)):
            yield asked_cuts(cones, height, widths)


def _narrowest(cones: Sequence[Cone], height: int) -> tuple[Cut, ...]:
    return tuple(box_cut(cone, 1, height) for cone in cones)


def _box(cut: Cut) -> int:
    """Estimate how many places a tile's values take along a dimension: with what one step reads around it."""
    lower, upper = cut.cone.lower, cut.cone.upper
    return cut.width + ceil(lower.slope + upper.slope)


def _fetched(cuts: Sequence[Cut]) -> float:
    """Count the elements that are filled or drained for each place and step, of one array."""
    split = sum(cut.base > 0 for cut in cuts)
    places = prod(cut.period for cut in cuts)
    return 2**split * 2 * prod(map(_box, cuts)) / (places * cuts[0].height) if places else inf
