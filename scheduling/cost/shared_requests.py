"""Requests of warps to shared memory: how many turns the banks take for the cells that the lanes want.

before: lanes (ty, tx) of 2 x 16 threads read B_tile[k][tx], rows of 64 doubles: 16 different doubles
after:  one turn, as no bank has two different words of them; with all lanes at A_tile[tx][k] of 16 doubles, 16 turns
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from polytile.ir.plan import Placement
from polytile.machine import SECTOR_BYTES, VECTOR_BYTES, WARP_SIZE
from polytile.scheduling.analysis.affine_references import Reference
from polytile.scheduling.cost.addresses import Along, Vector, warp_points

BANKS, BANK_BYTES = 32, 4
WIDE_TURNS = 1.35  # of a load of more than a bank's word for each lane, at least (H200: 109 shapes of gemm, covariance)


def vector_elements(reference: Reference, placement: Placement, steps: Sequence[Vector]) -> int:
    """Return how many elements a thread loads with one instruction: neighbours in a row of the tile, where one of these
    steps of its loops leads from one to the next and rows are aligned."""
    forms = reference.subscripts
    wide = max(1, VECTOR_BYTES[-1] // reference.array.element.size)
    if not forms or any(form is None for form in forms) or placement.layout.pad % wide or placement.extents[-1] % wide:
        return 1
    moved = ([int(form.along(step)) for form in forms if form is not None] for step in steps)
    return wide if any(own[-1] == 1 and not any(own[:-1]) for own in moved) else 1


def wavefronts(
    placement: Placement, reference: Reference, along: Sequence[Along], rank: int, vector: int = 1
) -> float:
    """Compute the wavefronts of a warp for an element of each lane, of which `vector` come at once.

    Neighbours in a tile are neighbours in its rows.
    """
    forms = [form for form in reference.subscripts if form is not None]
    if len(forms) != len(placement.extents) or len(forms) < len(reference.subscripts):
        return 1.0
    pitches = row_pitches(placement)
    points = warp_points(tuple(along), rank) if along else ()
    cells = {sum(int(f.along(p)) * pitch for f, pitch in zip(forms, pitches, strict=True)) for p in points}
    return of_request({cell + k for cell in cells or {0} for k in range(vector)}, vector, reference.array.element.size)


def of_request(cells: set[int], vector: int, size: int) -> float:
    """Compute the wavefronts for each of the `vector` elements that lanes load at once, of so many bytes."""
    return max(WIDE_TURNS if vector * size > BANK_BYTES else 1.0, turns(cells, size)) / vector


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
