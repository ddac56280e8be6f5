"""Points, times, gains and choices as they are shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import chain
from math import floor, inf, log10
from typing import Any

from polytile.autotuning.space import SCHEDULE, Point, Value
from polytile.choices import CHOICE, Choice, Choices, Kind
from polytile.report.words import UNKNOWN

NO_POINT = "the default"


def value(found: Value) -> str:
    return ("off", "on")[found] if isinstance(found, bool) else str(found)


def point(found: Point) -> str:
    """Print a point: `overlapped: time_tile 4, rows 2`."""
    values = ", ".join(f"{name} {value(v)}" for name, v in found if name != SCHEDULE)
    schedule = dict(found).get(SCHEDULE)
    return NO_POINT if not found else f"{schedule}: {values}" if schedule is not None and values else str(schedule)


def milliseconds(time: float | None) -> str:
    """Print three digits that count: `12.3 ms`; a dash where there is no time."""
    return UNKNOWN if time is None or time == inf else f"{short(time)} ms"


def short(time: float) -> str:
    """Print three digits, without an exponent: 0.0123, 1.40, 123, 45600."""
    if time == 0:
        return "0"
    return f"{time:.{max(2 - floor(log10(abs(float(f'{time:.2e}')))), 0)}f}"


def gain(ratio: float | None) -> str:
    """Print how many times as fast as the default something is: `1.28`."""
    return UNKNOWN if ratio is None else f"{ratio:.2f}"


def options(choices: Choices) -> str:
    """Return the choices as the command takes them: `--schedule overlapped --tile 6,64 --no-graphs`."""
    return " ".join(chain.from_iterable(_option(CHOICE[name], asked) for name, asked in choices.asked.items()))


def _option(choice: Choice, asked: Any) -> Iterator[str]:
    match choice.kind:
        case Kind.SWITCH:
            yield choice.option if asked else f"--no-{choice.option.removeprefix('--')}"
        case Kind.NAMES:
            yield from (f"{choice.option} {name}" for name in asked)
        case Kind.SIZES:
            yield f"{choice.option} {','.join(map(str, asked))}"
        case Kind.TEXT:
            yield f"{choice.option} {shlex.quote(asked)}"
        case _:
            yield f"{choice.option} {asked}"
