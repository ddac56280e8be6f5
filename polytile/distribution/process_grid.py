"""Which grid of ranks cuts the axes, and what one rank of it owns.

Zhang and Mueller (CGO 2012, section 4) found 24 = 2 x 3 x 4 ranks faster than 27 = 3 x 3 x 3: a rank inside the latter
has 26 neighbours. Here the grid with the fewest exchanged elements is taken, then that with the fewest neighbours, then
that which cuts the axes with the longest contiguous rows last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
        total = 1
        for parts in self.shape:
            total *= parts
        return total

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
        """Raise UsageError where a part would be thinner than the halo that its neighbour takes from it."""
        for name, extent, parts, (below, above) in zip(names, self.extents, self.shape, halo, strict=True):
            need = max(below, above, 1)
            if parts > 1 and thinnest_part(extent, parts) < need:
                raise UsageError(
                    f"{parts} ranks cut the {extent} positions of {name} into parts of "
                    f"{thinnest_part(extent, parts)}, fewer than the {need} that a neighbour takes from each",
                    hint=f"at most {max(1, extent // need)} ranks along {name}, or fewer steps per exchange",
                )


def factorisations(ranks: int, axes: int) -> Iterator[tuple[int, ...]]:
    """Return the grids of `axes` dimensions that have `ranks` places: 4 = 1 x 4, 2 x 2, 4 x 1."""
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
    found: list[tuple[tuple[object, ...], ProcessGrid]] = []
    refused: UsageError | None = None
    for shape in factorisations(ranks, len(extents)):
        grid = ProcessGrid(shape, tuple(extents))
        try:
            grid.check(reach, names)
        except UsageError as error:
            refused = refused or error
            continue
        most = 1
        for parts in shape:
            most *= min(parts, 3)
        found.append(((exchanged_elements(grid, reach), most, tuple(reversed(shape))), grid))
    if not found:
        assert refused is not None
        raise UsageError(
            f"no grid of {ranks} ranks fits {' x '.join(map(str, extents))} positions: {refused.message}",
            hint=refused.hint,
        )
    return min(found, key=lambda one: one[0])[1]
