"""What is shown while a search runs: one line that changes on a terminal, one line for each evaluation elsewhere.

on a terminal:  polytile: wave_scop0: 1.16 ms, 1.40 times as fast; 37 of 200; 3 min left
piped:          37 of 200: measured 1.16 ms, 1.40 times as fast: overlapped: time_tile 4, rows 2, warps 8
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import inf

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.tuner import Budget, Observer, Progress, Tuned
from polytile.cli.progress import CLEARED, clear, columns


class Display(Observer):
    """Says what comes of the points of one SCoP; `line` prints a line, None where none is wanted. `live` says that the
    terminal shows a line that changes."""

    def __init__(self, scop: str, points: int, line: Callable[[str], None] | None, live: bool) -> None:
        self.scop, self.points, self.line, self.live = scop, points, line, live
        self.total = points
        self.budget = Budget()

    def begun(self, budget: Budget) -> None:
        """Show that the default is measured first."""
        self.budget = budget
        self.total = self.points if budget.evaluations is None else min(self.points, budget.evaluations)
        self._show("the default is measured")

    def outcome(self, outcome: Outcome, progress: Progress) -> None:
        """Say what came of a point."""
        if self.line is not None:
            number = f"{progress.told} of {self.total}" if outcome.point else self.scop
            self.line(f"{number}: {_said(outcome, progress.default)}")
        self._show(f"{_best(progress)}; {progress.told} of {self.total}{self._left(progress)}")

    def finalists(self, outcomes: Sequence[Outcome]) -> None:
        """Say that the best are timed again."""
        if self.line is not None:
            self.line(f"{self.scop}: the best {len(outcomes) - 1} and the default are timed again, in turns")
        self._show("the best are timed again")

    def done(self, tuned: Tuned) -> None:
        """Clear the line."""
        if self.live:
            clear()

    def _show(self, text: str) -> None:
        if self.live:
            show(f"{self.scop}: {text}")

    def _left(self, progress: Progress) -> str:
        """Estimate how long the rest takes: what is left of the seconds, or less where fewer points are left."""
        evaluated = progress.told - progress.reused
        rate = progress.seconds / evaluated if evaluated else inf
        seconds = rate * (self.total - progress.told) if progress.told < self.total else 0.0
        if progress.seconds_left is not None:
            seconds = min(seconds, progress.seconds_left)
        return f"; {duration(seconds)} left" if 0 < seconds < inf else ""


def show(text: str) -> None:
    """Replace the line of the terminal, as far as there is room."""
    print(f"{CLEARED}{f'polytile: {text}'[: columns() - 1]}\r", end="", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Format seconds: `40 s`, `3 min`, `1 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _best(progress: Progress) -> str:
    if progress.best is None:
        return "no time yet"
    ratio = _ratio(progress.best, progress.default)
    return f"{words.milliseconds(progress.best.median)}{f', {ratio}' if ratio else ''}"


def _said(outcome: Outcome, default: Outcome | None) -> str:
    """Format an outcome's status, time and point: `measured 1.16 ms, 1.40 times as fast: tiled: rows 2`."""
    known = ", known from earlier" * outcome.reused
    if not outcome.milliseconds:
        return f"{outcome.status.value}{known}: {words.point(outcome.point)}: {outcome.reason or 'no reason'}"
    ratio = _ratio(outcome, default) if outcome.point else ""
    faster = f", {ratio}" if ratio else ""
    time = words.milliseconds(outcome.median)
    return f"{outcome.status.value} {time}{faster}{known}: {words.point(outcome.point)}"


def _ratio(outcome: Outcome, default: Outcome | None) -> str:
    """Format `1.40 times as fast` as the default; "" where one of the two has no time."""
    if default is None or not default.milliseconds or not outcome.milliseconds:
        return ""
    return f"{words.gain(default.median / outcome.median)} times as fast"
