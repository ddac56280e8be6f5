"""Which grid of ranks cuts the axes, and what one rank of it owns.

Zhang and Mueller (CGO 2012, section 4) found 24 = 2 x 3 x 4 ranks faster than 27 = 3 x 3 x 3: a rank inside the latter
has 26 neighbours. Here the grid with the fewest exchanged elements is taken, then that with the fewest neighbours, then
that which cuts the axes with the longest contiguous rows last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.distribution.boxes import Box, Direction, Reach, directions, grown, part_bounds, thinnest_part


@dataclass(frozen=True, slots=True)
class ProcessGrid:
    """Ranks in a grid over the axes, in row-major order, the last axis fastest; `extents` are the positions of each."""

    shape: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return prod(self.shape)

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Return where a rank is in the grid."""
        found = []
        for parts in reversed(self.shape):
            rank, at = divmod(rank, parts)
            found.append(at)
        return tuple(reversed(found))

    def rank(self, coordinates: Sequence[int]) -> int:
        """Return the rank at a place in the grid."""
        found = 0
        for parts, at in zip(self.shape, coordinates, strict=True):
            found = found * parts + at
        return found

    def owned(self, rank: int) -> Box:
        """Return the positions that a rank owns."""
        at = zip(self.extents, self.shape, self.coordinates(rank), strict=True)
        return tuple(part_bounds(extent, parts, number) for extent, parts, number in at)

    def stored(self, rank: int, halo: Sequence[Reach]) -> Box:
        """Return the positions of which a rank holds elements: what it owns and the halos around, as far as there are
        positions."""
        return grown(self.owned(rank), halo, self.extents)

    def neighbour(self, rank: int, direction: Direction) -> int | None:
        """Return the rank in a direction, or None at a side of the grid."""
        at = tuple(c + d for c, d in zip(self.coordinates(rank), direction, strict=True))
        if not all(0 <= c < parts for c, parts in zip(at, self.shape, strict=True)):
            return None
        return self.rank(at)

    def neighbours(self, rank: int) -> int:
        """Return the number of neighbours of a rank, corners included."""
        return sum(self.neighbour(rank, d) is not None for d in directions(len(self.shape)))

    def check(self, halo: Sequence[Reach], names: Sequence[str]) -> None:
        """Raise UsageError where a part would be thinner than the wider one of the halos along its axis."""
        axes = zip(names, self.extents, self.shape, halo, strict=True)
        for name, extent, parts, reach in axes:
            if parts > most_parts(extent, reach):
                raise UsageError(
                    too_thin(name, extent, parts, reach),
                    hint=f"at most {_counted(most_parts(extent, reach))} along {name}, or fewer steps per exchange",
                )


def too_thin(name: str, extent: int, parts: int, reach: Reach) -> str:
    """Say which parts of an axis are too thin, and for what."""
    thin = thinnest_part(extent, parts)
    each = f"{thin} or {thin + 1}" if extent % parts else f"{thin}"
    need = f"halos are {max(reach)} wide" if max(reach) else "each rank must own some"
    return f"{parts} ranks cut the {extent} positions of {name} into parts of {each}, but {need}"


def most_parts(extent: int, reach: Reach) -> int:
    """Return into how many parts an axis can be cut, at least one, that are not thinner than a halo at either side."""
    return max(1, extent // max(*reach, 1))


def _counted(ranks: int) -> str:
    return f"{ranks} rank{'s' * (ranks != 1)}"


def factorisations(ranks: int, axes: int) -> Iterator[tuple[int, ...]]:
    """Yield the grids of `axes` dimensions that have `ranks` places: 4 = 1 x 4, 2 x 2, 4 x 1."""
    if axes == 1:
        yield (ranks,)
        return
    for first in range(1, ranks + 1):
        if ranks % first == 0:
            yield from ((first, *rest) for rest in factorisations(ranks // first, axes - 1))


def exchanged_elements(grid: ProcessGrid, reach: Sequence[Reach]) -> int:
    """Return the elements that all ranks together receive in one exchange of halos of this reach, corners included.

    With hi, hj, hk at both sides of an inner rank that owns nx x ny x nz this is the count of Zhang and Mueller:
    2 (hi ny nz + hj nx nz + hk nx ny) + 4 (hi hj nz + hi hk ny + hj hk nx) + 8 hi hj hk.
    """
    total = 1
    stored = 1
    for extent, parts, (below, above) in zip(grid.extents, grid.shape, reach, strict=True):
        total *= extent
        stored *= extent + (parts - 1) * (below + above)
    return stored - total


def choose_grid(ranks: int, extents: Sequence[int], reach: Sequence[Reach], names: Sequence[str]) -> ProcessGrid:
    """Return the grid with the fewest exchanged elements whose parts are as thick as the halos.

    Raises UsageError where no grid of so many ranks has such parts.
    """
    most = tuple(map(most_parts, extents, reach))
    grids = [ProcessGrid(shape, tuple(extents)) for shape in fitting_shapes(ranks, most)]
    if not grids:
        raise _no_grid(ranks, extents, reach, names)
    return min(grids, key=lambda grid: (exchanged_elements(grid, reach), _neighbourhood(grid), grid.shape[::-1]))


def fitting_shapes(ranks: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the grids with `ranks` places that have no more than `most` along each axis."""
    shapes = factorisations(ranks, len(most))
    return (shape for shape in shapes if all(parts <= limit for parts, limit in zip(shape, most, strict=True)))


def _neighbourhood(grid: ProcessGrid) -> int:
    """Count the ranks around an inner one, itself included."""
    return prod(min(parts, 3) for parts in grid.shape)


def _no_grid(ranks: int, extents: Sequence[int], reach: Sequence[Reach], names: Sequence[str]) -> UsageError:
    """Explain why no grid has so many ranks.

    Names what is too thin in the grid along the longest axis, and a number that fits.
    """
    most = tuple(map(most_parts, extents, reach))
    longest = max(range(len(most)), key=lambda axis: most[axis])
    why = too_thin(names[longest], extents[longest], ranks, reach[longest])
    each = zip([_counted(most[0]), *most[1:]], names, strict=True)
    limits = " and ".join(f"{limit} along {name}" for limit, name in each)
    fewer = next(shape for n in range(min(ranks - 1, prod(most)), 0, -1) for shape in fitting_shapes(n, most))
    example = f", such as {' x '.join(map(str, fewer))} = {prod(fewer)} ranks" if len(most) > 1 else ""
    return UsageError(
        f"no grid of {_counted(ranks)} fits {' x '.join(map(str, extents))} positions: {why}",
        hint=f"at most {limits}{example}, or fewer steps per exchange",
    )
