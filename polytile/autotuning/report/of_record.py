"""A record as histories: what a page can show of searches without the program, and without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.record import ENDING
from polytile.autotuning.record_file import complete_lines
from polytile.autotuning.record_lines import Entry, Finals, from_line
from polytile.autotuning.report.history import DEFAULT, History
from polytile.autotuning.space import Point
from polytile.autotuning.tuner import BEATEN


def histories(path: Path) -> Iterator[History]:
    """Return a history for each source that a record has, named by the first digits of its key, in their order.

    Raises UsageError for a file that cannot be read, or is no record.
    """
    entries: dict[str, list[Entry]] = {}
    finals: dict[str, Finals] = {}
    for content in map(from_line, complete_lines(path)):
        if isinstance(content, Entry):
            entries.setdefault(content.source, []).append(content)
        elif isinstance(content, Finals):
            finals[content.source] = content
    for source, found in entries.items():
        yield _history(path, found, finals.get(source, Finals(source, {})))


def _history(path: Path, entries: list[Entry], finals: Finals) -> History:
    first = entries[0]
    outcomes: dict[Point, Outcome] = {}
    for entry in entries:
        outcomes.setdefault(entry.outcome.point, entry.outcome)
    made = History(
        scop=f"source {first.source[:8]}",
        file=path.name.removesuffix(ENDING),
        sizes=first.conditions.sizes,
        gpu=first.conditions.gpu,
        outcomes=tuple(outcomes.values()),
        winner=DEFAULT,
        options="",
        finals=finals.milliseconds,
    )
    return _with_winner(made)


def _with_winner(history: History) -> History:
    """Add the point that a search takes to the history: the fastest, unless the default is as fast."""
    timed = [one.point for one in history.measured if not history.finals or one.point in history.finals]
    best = min(timed, key=history.time, default=DEFAULT)
    if history.default < inf and history.time(best) >= BEATEN * history.default:
        return history
    shown = words.point(best) if best else ""
    return replace(history, winner=best, options=shown)
