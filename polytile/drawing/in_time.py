"""Pictures where time is short: each in a process of its own, which ends when all of them have had their time."""

from __future__ import annotations

import os
from collections.abc import Sequence

from polytile.compilation import Compilation
from polytile.diagnostics import UserError
from polytile.drawing import draw
from polytile.ir.isl_time_limit import in_bounded_time
from polytile.ir.isl_util import OverBudgetError

LEAST_SECONDS = 0.01
_REFUSED = "refused: "


def pictures(states: Sequence[Compilation], seconds: float) -> dict[str, tuple[str, str]]:
    """By the names of SCoPs the text of an SVG file and "", or "" and why there is none; in `seconds` of processor time
    for all of them."""
    found, start = {}, _used()
    for state in states:
        left = seconds - (_used() - start)
        found[state.source.name] = _picture(state, left) if left > LEAST_SECONDS else ("", _late(seconds))
    return found


def _used() -> float:
    """The processor time of processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _late(seconds: float) -> str:
    return f"drawing takes more than {seconds:g} s"


def _picture(state: Compilation, seconds: float) -> tuple[str, str]:
    def compute() -> str:
        try:
            return draw([state], {})[0]
        except UserError as error:
            return _REFUSED + error.message

    try:
        text = in_bounded_time(compute, seconds)
    except OverBudgetError:
        return "", _late(seconds)
    except RuntimeError as error:
        if state.options.raise_bugs:
            raise
        return "", f"drawing failed: {error}"
    return ("", text.removeprefix(_REFUSED)) if text.startswith(_REFUSED) else (text, "")
