"""The loop of a search: ask for points, have them evaluated, keep and tell what came of them.

    default first; then until the budget is spent or no point is left:
        as many points are under way as the evaluator takes at a time; those of the record are told without being run
    then: the best five and the default again, their runs interleaved; the least median wins

Points are told in the order in which they were asked for, whatever ends first: so a search that learns asks for the
same points again when it is resumed, and finds them in the record.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import inf
from statistics import quantiles

from polytile.autotuning.evaluator import Evaluator
from polytile.autotuning.outcome import Outcome, Status, median_time
from polytile.autotuning.record import Record
from polytile.autotuning.search.search import Search
from polytile.autotuning.space import Point
from polytile.dataclass import dataclass

FINALISTS = 5  # beside the default
BEATEN = 0.99  # of the default's time, which the winner has at most
ENOUGH_RUNS = 4  # of a point, for quartiles
POLL_SECONDS = 0.2  # between looks at what another tuner measures
DEFAULT: Point = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """Where a search ends: evaluations beside the default, those that are found in the record included, and seconds of
    this run before the finalists; None: any number."""

    evaluations: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search has come: points that were told beside the default, those of them that were not run now, the
    best outcome and the default's, seconds since it began and what is left of them."""

    told: int = 0
    reused: int = 0
    best: Outcome | None = None
    default: Outcome | None = None
    seconds: float = 0.0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search has found. `milliseconds` are the further runs of the finalists and the default, where it came to
    these; `interrupted` says that it was ended before."""

    winner: Outcome
    default: Outcome
    outcomes: tuple[Outcome, ...]
    milliseconds: Mapping[Point, tuple[float, ...]] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    interrupted: bool = False

    def time(self, outcome: Outcome) -> float:
        """Return the median time in milliseconds, of the further runs where there are any; infinite without a time."""
        runs = self.milliseconds.get(outcome.point)
        return median_time(runs) if runs else outcome.median

    @property
    def speedup(self) -> float:
        """Return how many times as fast as the default the winner is; 1 where one of them has no time."""
        own, default = self.time(self.winner), self.time(self.default)
        return default / own if own < inf and default < inf else 1.0


class Observer:
    """Is told what happens; this one says nothing of it."""

    def begun(self, budget: Budget) -> None:
        """Report that the search begins."""

    def outcome(self, outcome: Outcome, progress: Progress) -> None:
        """Report that a point was evaluated, or found in the record."""

    def finalists(self, outcomes: Sequence[Outcome]) -> None:
        """Report that these are run again, the default among them."""

    def done(self, tuned: Tuned) -> None:
        """Report that the search has ended."""


def tune(search: Search, evaluator: Evaluator, record: Record, budget: Budget, observer: Observer) -> Tuned:
    """Search until the budget is spent, no point is left or KeyboardInterrupt comes; return the best so far.

    The default is evaluated first, and stays where no point takes less than 99% of its time, by more than its runs
    vary. Raises UsageError where the record cannot be written; what was measured until then is in it.
    """
    observer.begun(budget)
    loop = _Loop(search, evaluator, record, budget, observer)
    finals: Mapping[Point, tuple[float, ...]] = {}
    interrupted = False
    try:
        loop.run()
        finals = _finals(loop.outcomes, evaluator, record, observer)
    except KeyboardInterrupt:
        interrupted = True
    tuned = _decided(loop, finals, interrupted)
    observer.done(tuned)
    return tuned


@dataclass(slots=True)
class _Asked:
    """A point that was asked for and not told yet; `held` is its key while another tuner measures its kernels."""

    point: Point
    outcome: Outcome | None = None
    held: str = ""


class _Loop:
    """Points under way, in the order in which they were asked for."""

    def __init__(
        self, search: Search, evaluator: Evaluator, record: Record, budget: Budget, observer: Observer
    ) -> None:
        self.search, self.evaluator, self.record = search, evaluator, record
        self.budget, self.observer = budget, observer
        self.begun = time.monotonic()
        self.asked: deque[_Asked] = deque()
        self.count = 0  # of points that were asked for, beside the default
        self.outcomes: list[Outcome] = []
        self.progress = Progress()

    def run(self) -> None:
        """Evaluate the default, then point after point."""
        self._ask(DEFAULT)
        self._finish_all(until=0)
        while (point := self._next()) is not None:
            self._ask(point)
            self._finish_all(until=max(1, self.evaluator.width) - 1)
        self._finish_all(until=0)

    def _next(self) -> Point | None:
        """Return the next point beside the default; None where none is left, or the budget is spent."""
        limit, seconds = self.budget.evaluations, self.budget.seconds
        if limit is not None and self.count >= limit:
            return None
        if seconds is not None and time.monotonic() - self.begun >= seconds:
            return None
        point = self.search.ask()
        while point == DEFAULT:
            self.search.tell(self.outcomes[0])
            point = self.search.ask()
        self.count += point is not None
        return point

    def _ask(self, point: Point) -> None:
        known = self.record.find(point)
        self.asked.append(_Asked(point, known))
        if known is None:
            self._start(point)

    def _start(self, point: Point) -> None:
        best = self.progress.best
        self.evaluator.start(point, inf if best is None else best.median)

    def _finish_all(self, until: int) -> None:
        """Wait until so few points are under way, and tell what is known of the others."""
        self._tell()
        while len(self.asked) > until:
            self._wait()
            self._tell()

    def _wait(self) -> None:
        """Wait for one evaluation; where all are another tuner's, for what comes of these."""
        if any(one.outcome is None and not one.held for one in self.asked):
            self._take(self.evaluator.finished())
        else:
            time.sleep(POLL_SECONDS)
        for one in self.asked:
            if one.held:
                self._look_again(one)

    def _look_again(self, one: _Asked) -> None:
        """Take what has come of a point whose kernels others have measured; evaluate it where they have given up."""
        found = self.record.look(one.held)
        if found is None:
            one.held = ""
            self._start(one.point)
        elif found.status is not Status.HELD:
            self._keep(one, replace(found, point=one.point))

    def _take(self, outcome: Outcome) -> None:
        asked = next(one for one in self.asked if one.point == outcome.point and one.outcome is None)
        if outcome.status is Status.HELD:
            asked.held = outcome.key
        else:
            self._keep(asked, outcome)

    def _keep(self, asked: _Asked, outcome: Outcome) -> None:
        self.record.append(outcome)
        asked.outcome, asked.held = outcome, ""

    def _tell(self) -> None:
        while self.asked and (outcome := self.asked[0].outcome) is not None:
            self.asked.popleft()
            self.outcomes.append(outcome)
            if outcome.point != DEFAULT:
                self.search.tell(outcome)
            self.progress = self._progress(outcome)
            self.observer.outcome(outcome, self.progress)

    def _progress(self, outcome: Outcome) -> Progress:
        before, seconds = self.progress, time.monotonic() - self.begun
        is_default = outcome.point == DEFAULT
        best = before.best
        if outcome.milliseconds and (best is None or outcome.median < best.median):
            best = outcome
        return Progress(
            told=before.told + (not is_default),
            reused=before.reused + (outcome.reused and not is_default),
            best=best,
            default=outcome if is_default else before.default,
            seconds=seconds,
            seconds_left=None if self.budget.seconds is None else max(0.0, self.budget.seconds - seconds),
        )


def _finals(
    outcomes: Sequence[Outcome], evaluator: Evaluator, record: Record, observer: Observer
) -> Mapping[Point, tuple[float, ...]]:
    """Return milliseconds of further runs of the best and of the default; nothing where only one of them has a time."""
    chosen = finalists(outcomes)
    if len(chosen) < 2:
        return {}
    observer.finalists(chosen)
    points = [one.point for one in chosen]
    known = record.finals(points)
    if known is None:
        found = evaluator.again(points)
        known = {point: tuple(found.get(point, ())) for point in points}
        record.append_finals(known)
    return {point: runs for point, runs in known.items() if runs}


def finalists(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Return the default, which is the first outcome, and the best others with other kernels, the fastest first; none
    without a time."""
    default, *others = outcomes
    seen, found = {default.key}, []
    for one in sorted((o for o in others if o.milliseconds), key=lambda o: o.median):
        if one.key not in seen or not one.key:
            seen.add(one.key)
            found.append(one)
    return (*([default] if default.milliseconds else []), *found[:FINALISTS])


def _decided(loop: _Loop, finals: Mapping[Point, tuple[float, ...]], interrupted: bool) -> Tuned:
    """Choose the fastest finalist, or point of all without further runs; the default where it is as fast."""
    progress = replace(loop.progress, seconds=time.monotonic() - loop.begun)
    default = loop.outcomes[0] if loop.outcomes else Outcome(DEFAULT, Status.REFUSED, "it was not evaluated")
    tuned = Tuned(default, default, tuple(loop.outcomes), finals, progress, interrupted)
    able = [one for one in loop.outcomes if one.milliseconds and (not finals or one.point in finals)]
    faster = [one for one in able if _is_faster(tuned, one)]
    return replace(tuned, winner=min(faster, key=tuned.time, default=default))


def _is_faster(tuned: Tuned, one: Outcome) -> bool:
    """Return whether a point beats the default: by its median, and by more than the middle halves of their runs differ
    among themselves, as times of a few microseconds do by some percent."""
    if tuned.time(one) >= BEATEN * tuned.time(tuned.default):
        return False
    own, default = (tuned.milliseconds.get(o.point, ()) for o in (one, tuned.default))
    if min(len(own), len(default)) < ENOUGH_RUNS:
        return True
    return quantiles(own)[2] < quantiles(default)[0]
