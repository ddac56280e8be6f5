"""How much of memory several references of a tile touch together: the union of equal boxes, shifted by what the
references add to their subscripts.

A[i-1][j], A[i+1][j], A[i][j-1], A[i][j+1] in a tile of 2 x 32: 4 rows, of which 2 are longer by an element at each end;
the box around all of them has 4 x 34.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from math import ceil, floor, inf

from polytile.scheduling.analysis.affine_references import Number
from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.array_layout import element_size

Offsets = frozenset[tuple[float, ...]]


def group_lines(group: ReferenceGroup, tiles: Sequence[float], line: int) -> float:
    """The lines that a group touches in a tile at most, by the boxes of its references; infinite for one reference
    alone, and where a loop moves several subscripts."""
    movers = [{i for i, slope in enumerate(d.slopes) if slope} for d in group.dimensions]
    if group.references < 2 or sum(map(len, movers)) > len(set().union(*movers)):
        return inf
    steps = ([(abs(float(c)), t) for c, t in zip(d.slopes, tiles, strict=True)] for d in group.dimensions)
    extents = [1 + sum(c * (t - 1) for c, t in own) for own in steps]
    return lines_of_union(group.offsets, extents, line / element_size(group.array))


def lines_of_union(offsets: Iterable[Iterable[Number]], extents: Sequence[float], per_line: float) -> float:
    """The lines of `per_line` elements that boxes of these extents touch, one at each of the offsets. The last
    dimension is the contiguous one, in which a line begins at zero."""
    rank = len(extents)

    @cache
    def touched(places: Offsets, depth: int) -> float:
        own = extents[depth]
        if depth == rank - 1:
            together = _joined([p[0] for p in places], own)
            return sum(ceil(high / per_line - 1e-9) - floor(low / per_line) for low, high in together)
        total = 0.0
        for low, high in pairwise(sorted({end for p in places for end in (p[0], p[0] + own)})):
            there = frozenset(p[1:] for p in places if p[0] <= low and high <= p[0] + own)
            total += (high - low) * touched(there, depth + 1) if there else 0.0
        return total

    return touched(frozenset(tuple(float(x) for x in place) for place in offsets), 0) if rank else 1.0


def _joined(starts: Sequence[float], length: float) -> list[tuple[float, float]]:
    """Intervals of one length, those that meet as one."""
    found: list[tuple[float, float]] = []
    for start in sorted(starts):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], start + length)
        else:
            found.append((start, start + length))
    return found
