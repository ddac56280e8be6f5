"""Requests of warps to shared memory: how many turns the banks take for the cells that the lanes want.

before: lanes (ty, tx) of 2 x 16 threads read B_tile[k][tx], rows of 64 doubles: 16 different doubles
after:  one turn, as no bank has two different words of them; with all lanes at A_tile[tx][k] of 16 doubles, 16 turns
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from polytile.ir.plan import Placement
from polytile.machine import SECTOR_BYTES, WARP_SIZE
from polytile.scheduling.analysis.affine_references import Reference
from polytile.scheduling.cost.addresses import Along, warp_points

BANKS, BANK_BYTES = 32, 4


def wavefronts(placement: Placement, reference: Reference, along: Sequence[Along], rank: int) -> float:
    """Compute the wavefronts of one request, where neighbours in a tile are neighbours in its rows."""
    forms = [form for form in reference.subscripts if form is not None]
    if len(forms) != len(placement.extents) or len(forms) < len(reference.subscripts):
        return 1.0
    pitches = row_pitches(placement)
    points = warp_points(tuple(along), rank) if along else []
    cells = {sum(int(f.along(p)) * pitch for f, pitch in zip(forms, pitches, strict=True)) for p in points}
    return float(turns(cells or {0}, reference.array.element.size))


def row_pitches(placement: Placement) -> tuple[int, ...]:
    """Return how many cells apart neighbours along each dimension are."""
    padded = [*placement.extents[:-1], placement.extents[-1] + placement.layout.pad] if placement.extents else []
    return tuple(prod(padded[k + 1 :]) for k in range(len(padded)))


def turns(cells: set[int], size: int) -> int:
    """Compute the wavefronts for different cells of so many bytes: a bank gives one of its words in each."""
    words = {cell * size // BANK_BYTES + w for cell in cells for w in range(max(1, size // BANK_BYTES))}
    return max(Counter(word % BANKS for word in words).values())


def fill_cycles(row: int, size: int) -> tuple[float, float]:
    """Return the sectors and rows of a warp's request that copies along rows of so many elements."""
    rows = max(1.0, WARP_SIZE / row)
    return rows * -(-min(row, WARP_SIZE) * size // SECTOR_BYTES), rows
