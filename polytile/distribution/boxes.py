"""Boxes of positions, and how an axis is cut into parts: arithmetic of integers alone.

A position is a point of the index space that is cut. A box is a half-open range along each axis; `Reach` is how far
something goes beyond a box, below its first position and above its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

Range = tuple[int, int]
Box = tuple[Range, ...]
Reach = tuple[int, int]
Direction = tuple[int, ...]  # to a neighbour: -1, 0 or 1 along each axis


def part_bounds(extent: int, parts: int, number: int) -> Range:
    """Return the positions of part `number` of `parts` of an axis: floor(extent * number / parts) is its first."""
    return extent * number // parts, extent * (number + 1) // parts


def volume(box: Box) -> int:
    """Return the number of positions in a box; 0 where a range is empty."""
    total = 1
    for first, end in box:
        total *= max(0, end - first)
    return total


def grown(box: Box, reach: Sequence[Reach], within: Sequence[int]) -> Box:
    """Return a box with `reach` beyond it, clipped to `within` positions along each axis."""
    around = zip(box, reach, within, strict=True)
    return tuple((max(0, first - below), min(end + above, extent)) for (first, end), (below, above), extent in around)


def intersection(a: Box, b: Box) -> Box:
    """Return the positions in both boxes."""
    return tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))


def directions(axes: int) -> Iterator[Direction]:
    """Return the directions to all neighbours in a grid of `axes` dimensions: 2, 8 or 26 of them."""
    return (d for d in product((-1, 0, 1), repeat=axes) if any(d))


def opposite(direction: Direction) -> Direction:
    """Return the direction back."""
    return tuple(-d for d in direction)


def boundary_and_interior(box: Box, sides: Sequence[Reach]) -> tuple[tuple[Box, ...], Box]:
    """Split a box into slabs at its sides, `sides` positions thick, and the interior; empty ones are left out.

    Slabs of a later axis lie between those of earlier ones. Where two slabs of an axis would meet, they are one, and
    the interior is empty.

    Example: a box of 0..8 x 0..8 with one position at each side gives the slabs 0..1 x 0..8, 7..8 x 0..8, 1..7 x 0..1,
    1..7 x 7..8, and the interior 1..7 x 1..7.
    """
    slabs: list[Box] = []
    rest = list(box)
    for axis, (below, above) in enumerate(sides):
        first, end = rest[axis]
        low = min(first + below, end)
        high = max(end - above, low)
        if first < low == high:
            low = high = end  # no interior between the two
        slabs += [(*rest[:axis], part, *rest[axis + 1 :]) for part in ((first, low), (high, end)) if part[0] < part[1]]
        rest[axis] = (low, high)
    return tuple(slab for slab in slabs if volume(slab)), tuple(rest)


def are_disjoint(boxes: Sequence[Box]) -> bool:
    """Return whether no two of the boxes share a position."""
    return not any(volume(intersection(a, b)) for k, a in enumerate(boxes) for b in boxes[k + 1 :])


def cuts(extent: int, parts: int) -> list[int]:
    """Return the first positions of all parts of an axis, and its extent."""
    return [extent * number // parts for number in range(parts + 1)]


def thinnest_part(extent: int, parts: int) -> int:
    """Return the number of positions of the smallest part."""
    return min(b - a for a, b in pairwise(cuts(extent, parts)))
