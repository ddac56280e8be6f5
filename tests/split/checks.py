"""What is demanded of a stencil under the split schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polytile
from polytile.api import CompiledScop, read_program
from polytile.diagnostics import remember_source
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.stencil_form import stencil_form, time_loops
from polytile.scheduling.strategies.split.cone import cones
from polytile.scheduling.strategies.split.tile_sets import Cut
from tests.reading import shared

NAME = "f.c"
THREADS = ((32,), (4, 8), (2, 2, 8))
REFUSED = "the split strategy found no schedule: "


@shared
def compiled(text: str, name: str = NAME, **settings: Any) -> CompiledScop:
    """The only SCoP of a program, with sums in the order of C."""
    (scop,) = polytile.compile(text, name=name, schedule="split", strict=True, raise_bugs=True, **settings).scops
    return scop


def cuts(text: str, height: int, tops: Sequence[int], name: str = NAME) -> tuple[Cut, ...]:
    """How a program's dimensions are cut into bands of `height` steps and tiles that end `tops` wide."""
    remember_source(name, text)
    (scop,) = read_program(name, text).scops
    (names,) = time_loops(scop)
    found = cones(stencil_form(scop, analyse(scop, 20_000_000, None), names))
    return tuple(Cut(cone, top, top, height) for cone, top in zip(found, tops, strict=True))


def split_into(text: str, found: Sequence[Cut], name: str = NAME, **settings: Any) -> CompiledScop:
    """The program in tiles that are cut so."""
    tile = tuple(cut.width for cut in found)
    asked = {"time_tile": found[0].height, "tile": tile, "block": THREADS[len(found) - 1], **settings}
    scop = compiled(text, name, **asked)
    schedule = scop.compilation.schedule
    assert schedule is not None and schedule.strategy == "split", refusal(scop)
    return scop


def refusal(scop: CompiledScop) -> str | None:
    """Why the split strategy found no schedule; None where it did."""
    schedule = scop.compilation.schedule
    if schedule is not None and schedule.strategy == "split":
        return None
    notes = [r.message.partition(REFUSED)[2] for r in scop.compilation.remarks if REFUSED in r.message]
    return notes[0] if notes else f"no reason: {[r.message for r in scop.compilation.remarks]}"
