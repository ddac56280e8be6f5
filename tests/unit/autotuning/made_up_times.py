"""Stands in for an evaluator: times are a function of the point, and what is measured is written to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from math import inf
from pathlib import Path

from polytile.autotuning.evaluator import Known
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import Point

BASELINE = 100.0  # milliseconds of the default


def time_of(point: Point) -> float:
    """Milliseconds; `like` is a parameter that two points differ in whose kernels are the same."""
    values = dict(point)
    if not point:
        return BASELINE
    return 50.0 + abs(int(values["a"]) - 3) * 7 + abs(int(values["b"]) - 5) * 3


def key_of(point: Point) -> str:
    return sha256(repr([one for one in point if one[0] != "like"]).encode()).hexdigest()


class InTurns:
    """A search that asks for points in their order."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points, self.told = list(points), list[Outcome]()

    def ask(self) -> Point | None:
        return self.points.pop(0) if self.points else None

    def tell(self, outcome: Outcome) -> None:
        self.told.append(outcome)


class MadeUpTimes:
    """Evaluates points in no time; the last that was started ends first. `happens` is called with each step."""

    def __init__(
        self,
        known: Known,
        log: Path,
        width: int = 3,
        special: Mapping[Point, Status] | None = None,
        happens: Callable[[str], None] = lambda what: None,
    ) -> None:
        self.known, self.log, self.width, self.special, self.happens = known, log, width, special or {}, happens
        self.started: list[Point] = []
        self.bests: list[float] = []

    def start(self, point: Point, best: float) -> None:
        self.happens("start")
        self.started.append(point)
        self.bests.append(best)

    def finished(self) -> Outcome:
        point = self.started.pop()
        status = self.special.get(point, Status.MEASURED)
        if status is Status.REFUSED:
            return Outcome(point, status, "a proof fails")
        key = key_of(point)
        self.happens("ask")
        found = self.known(key)
        if found is not None:
            return Outcome(point, found.status, found.reason, found.milliseconds, key, reused=True)
        self.happens("measure")
        self._note(f"{key}\n")
        self.happens("measured")
        time = time_of(point)
        runs = (time * 1.01, time, time * 1.02) if status is Status.MEASURED else ()
        return Outcome(point, status, "" if runs else f"it is {status.value}", runs, key)

    def again(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        self._note("again\n")
        return {point: (time_of(point),) * 3 for point in points if time_of(point) < inf}

    def close(self) -> None:
        self.started.clear()

    def _note(self, line: str) -> None:
        file = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, line.encode())
        os.close(file)


def measured(log: Path) -> list[str]:
    """Keys that were measured, in order, without further runs of finalists."""
    return [line for line in log.read_text().split() if line != "again"] if log.exists() else []


def grid(n: int = 6) -> list[Point]:
    """n * n points; the last column has the kernels of the one before it."""
    found: list[Point] = []
    for a in range(n):
        for b in range(n):
            same = b == n - 1
            found.append((("schedule", "tiled"), ("a", a), ("b", b - 1 if same else b), ("like", same)))
    return found
