"""Pictures where time is short: each in a process of its own, which ends when all of them have had their time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from polytile.compilation import Compilation
from polytile.diagnostics import UserError
from polytile.drawing import iterations, tiles
from polytile.drawing.svg import Svg, document
from polytile.facts import LoopFacts
from polytile.ir.isl_time_limit import in_bounded_time
from polytile.ir.isl_util import OverBudgetError

LEAST_SECONDS = 0.01
_REFUSED = "refused: "
Picture = tuple[str, str]  # the text of an SVG file and "", or "" and why there is none


def pictures_within(
    scops: Sequence[tuple[Compilation, tuple[LoopFacts, ...]]], seconds: float
) -> dict[str, tuple[Picture, ...]]:
    """Draw the tiles and the iterations of SCoPs, whose loops are given, by their names; all of them in `seconds` of
    processor time. Iterations come first, as they take less."""
    start = _used()

    def drawn(draw: Callable[[], Svg], state: Compilation) -> Picture:
        left = seconds - (_used() - start)
        return _drawn(draw, state, left) if left > LEAST_SECONDS else ("", _late())

    steps = [drawn(_iterations(*scop), scop[0]) for scop in scops]
    blocks = [drawn(partial(tiles, state, {}), state) for state, _ in scops]
    of_scops = zip(scops, blocks, steps, strict=True)
    return {scop[0].source.name: (_of("tiles", a), _of("iterations", b)) for scop, a, b in of_scops}


def _of(what: str, picture: Picture) -> Picture:
    text, reason = picture
    return text, f"of {what}: {reason}" if reason else ""


def _iterations(state: Compilation, loops: tuple[LoopFacts, ...]) -> Callable[[], Svg]:
    return lambda: iterations.to_svg(iterations.drawing_of(state, loops, {}))


def _used() -> float:
    """Return the processor time of processes that have ended, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


def _late() -> str:
    return "drawing takes longer than a report may"


def _drawn(draw: Callable[[], Svg], state: Compilation, seconds: float) -> Picture:
    def compute() -> str:
        try:
            return document([draw()])
        except UserError as error:
            return _REFUSED + error.message

    try:
        text = in_bounded_time(compute, seconds)
    except OverBudgetError:
        return "", _late()
    except RuntimeError as error:
        if state.options.raise_bugs:
            raise
        return "", f"drawing failed: {error}"
    return ("", text.removeprefix(_REFUSED)) if text.startswith(_REFUSED) else (text, "")
