"""How much of memory several references of a tile touch together: the union of equal boxes, shifted by what the
references add to their subscripts.

A[i-1][j], A[i+1][j], A[i][j-1], A[i][j+1] in a tile of 2 x 32: 4 rows, of which 2 are longer by an element at each end;
the box around all of them has 4 x 34.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from math import ceil, floor, inf

from polytile.ir.identity_key import remembered
from polytile.scheduling.analysis.affine_references import Number
from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.array_layout import last_pitch

Offsets = frozenset[tuple[float, ...]]


def group_lines(group: ReferenceGroup, tiles: Sequence[float], line: int) -> float:
    """Bound the lines that a group touches in a tile from above, by the boxes of its references.

    The bound is infinite for one reference alone, and where a loop moves several subscripts.
    """
    movers = [{i for i, slope in enumerate(d.slopes) if slope} for d in group.dimensions]
    if group.references < 2 or sum(map(len, movers)) > len(set().union(*movers)):
        return inf
    steps = ([(abs(float(c)), t) for c, t in zip(d.slopes, tiles, strict=True)] for d in group.dimensions)
    extents = [1 + sum(c * (t - 1) for c, t in own) for own in steps]
    return lines_of_union(_group_places(group.offsets), extents, line / last_pitch(group.members[0]))


@remembered
def _group_places(offsets: tuple[tuple[Number, ...], ...]) -> Offsets:
    return _places(offsets)


def _places(offsets: Iterable[Iterable[Number]]) -> Offsets:
    return frozenset(tuple(map(float, place)) for place in offsets)


def lines_of_union(offsets: Offsets, extents: Sequence[float], per_line: float) -> float:
    """Count the lines of `per_line` elements that boxes of these extents touch, one at each of the offsets.

    The last dimension is the contiguous one, in which a line begins at zero.
    """
    rank = len(extents)

    @cache
    def touched(places: Offsets, depth: int) -> float:
        own = extents[depth]
        if depth == rank - 1:
            together = _joined([p[0] for p in places], own)
            return sum(ceil(high / per_line - 1e-9) - floor(low / per_line) for low, high in together)
        total, planes = 0.0, _planes(places)
        for low, high in pairwise(sorted({end for x in planes for end in (x, x + own)})):
            there = {plane for x, plane in planes.items() if x <= low and high <= x + own}
            total += (high - low) * touched(frozenset().union(*there), depth + 1) if there else 0.0
        return total

    return touched(offsets, 0) if rank else 1.0


@lru_cache(maxsize=256)
def _planes(places: Offsets) -> Mapping[float, Offsets]:
    """Group the places by the first of their numbers, without it: the same for boxes of all extents."""
    found: dict[float, set[tuple[float, ...]]] = {}
    for place in places:
        found.setdefault(place[0], set()).add(place[1:])
    return {x: frozenset(plane) for x, plane in found.items()}


def _joined(starts: Sequence[float], length: float) -> list[tuple[float, float]]:
    """Return the intervals of one length, those that meet as one."""
    found: list[tuple[float, float]] = []
    for start in sorted(starts):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], start + length)
        else:
            found.append((start, start + length))
    return found
