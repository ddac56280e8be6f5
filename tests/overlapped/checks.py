"""What is demanded of a stencil in overlapped tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polytile
from polytile.api import CompiledScop
from polytile.ir.overlapped_tiles import OverlappedTiles
from tests.reading import shared

NAME = "f.c"
REFUSED = "the overlapped strategy found no schedule: "


@shared
def compiled(text: str, name: str = NAME, **settings: Any) -> CompiledScop:
    """The only SCoP of a program, with sums in the order of C."""
    asked = {"schedule": "overlapped", "strict": True, "raise_bugs": True, **settings}
    (scop,) = polytile.compile(text, name=name, **asked).scops
    return scop


def plan_of(scop: CompiledScop) -> OverlappedTiles:
    assert scop.compilation.overlapped is not None, refusal(scop)
    return scop.compilation.overlapped


def refusal(scop: CompiledScop) -> str | None:
    """Why there are no overlapped tiles; None where there are."""
    if scop.compilation.overlapped is not None:
        return None
    notes = [r.message.partition(REFUSED)[2] for r in scop.compilation.remarks if REFUSED in r.message]
    return notes[0] if notes else f"no reason: {[r.message for r in scop.compilation.remarks]}"


def counts(iterations: int) -> list[int]:
    """Of iterations in all: none, fewer than a block has, pairs of blocks, and one more or less."""
    t = iterations
    return sorted({0, 1, t - 1, t, t + 1, 2 * t - 1, 2 * t, 2 * t + 1, 4 * t + 1})


def extents(plan: OverlappedTiles) -> Iterator[tuple[int, ...]]:
    """Of the arrays: a single cell, fewer than a halo, an odd number below a tile, and over more than two tiles."""
    sides = tuple(a + b for a, b in zip(plan.lower, plan.upper, strict=True))
    owned = (plan.chunk or 2, *plan.owned) if plan.streamed else plan.owned
    yield (1,) * plan.dims
    yield tuple(max(2, side // 2) for side in sides)
    yield tuple(2 * (n // 2) + 3 for n in owned)
    yield tuple(2 * n + side + 5 for n, side in zip(owned, sides, strict=True))
