"""All that was evaluated for one SCoP, and what follows from it for a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import accumulate
from math import inf

from polytile.autotuning.outcome import Outcome, Status, median_time
from polytile.autotuning.space import SCHEDULE, Point, Value
from polytile.dataclass import dataclass

DEFAULT: Point = ()
MOST_REASONS = 6  # of each status


@dataclass(frozen=True)
class History:
    """The outcomes of one SCoP in the order in which they came, that of the default among them.

    `finals` are milliseconds of the points that were timed again, one run of each in turn; `winner` is the point that
    was taken, and `options` are its choices as they are typed. `near_default` is the point that is nearest to the
    compiler's own choice, `points` the size of the space.
    """

    scop: str
    file: str
    sizes: Mapping[str, int]
    gpu: str
    outcomes: Sequence[Outcome]
    winner: Point
    options: str
    finals: Mapping[Point, Sequence[float]] = field(default_factory=dict)
    near_default: Point = ()
    points: int = 0
    search: str = ""

    @cached_property
    def measured(self) -> Sequence[Outcome]:
        """Return the outcomes with a time; one without runs has none."""
        return [one for one in self.outcomes if one.status is Status.MEASURED and one.milliseconds]

    @cached_property
    def default(self) -> float:
        """Return the milliseconds of the compiler's own choice; infinite where it was not measured."""
        return self.time(DEFAULT)

    @cached_property
    def best(self) -> float:
        """Return the milliseconds of the winner."""
        return self.time(self.winner)

    @cached_property
    def _times(self) -> Mapping[Point, float]:
        return {one.point: one.median for one in self.measured}

    def time(self, point: Point) -> float:
        """Return the median time of a point, of its last runs where it was timed again; infinite where it has none."""
        again = self.finals.get(point, ())
        return median_time(again) if again else self._times.get(point, inf)

    def gain(self, point: Point) -> float | None:
        """Return how many times as fast as the default a point is; None where one of the two has no time."""
        time = self.time(point)
        return self.default / time if time < inf and self.default < inf else None

    @property
    def best_so_far(self) -> Sequence[float]:
        """Return the least time after each evaluation; infinite before the first one."""
        return list(accumulate((one.median if one.status is Status.MEASURED else inf for one in self.outcomes), min))

    @cached_property
    def schedules(self) -> Sequence[str]:
        """Return the strategies of measured points, that of the winner first, then by their best times."""
        best: dict[str, float] = {}
        for one in self.measured:
            if one.point:
                name = schedule_of(one.point)
                best[name] = min(best.get(name, inf), self.time(one.point))
        return sorted(best, key=lambda name: (name != schedule_of(self.winner), best[name]))

    def of(self, schedule: str) -> Sequence[Outcome]:
        """Return the outcomes of the points of one strategy."""
        return [one for one in self.outcomes if one.point and schedule_of(one.point) == schedule]

    @cached_property
    def like_default(self) -> frozenset[Point]:
        """Return the points whose kernels are those of the default; where none has them, the point that is nearest."""
        keys = {one.key for one in self.outcomes if one.point == DEFAULT and one.key}
        same = frozenset(one.point for one in self.outcomes if one.point and one.key in keys)
        return same or frozenset({self.near_default} if self.near_default else ())

    def says_of_default(self, point: Point) -> str:
        """Describe how a point relates to the default, where it is one of `like_default`; else nothing."""
        if point not in self.like_default:
            return ""
        keys = {one.key for one in self.outcomes if one.point in (DEFAULT, point)}
        return "the kernels of the default" if len(keys) == 1 and "" not in keys else "nearest to the default"

    @property
    def ranking(self) -> Sequence[Outcome]:
        """Return the measured points, the fastest first, each set of kernels once."""
        found: dict[str, Outcome] = {}
        for one in sorted(self.measured, key=lambda one: (self.time(one.point), one.point != self.winner)):
            found.setdefault(one.key or str(one.point), one)
        return list(found.values())

    @property
    def counts(self) -> Iterator[tuple[str, int, Sequence[tuple[str, int]], int]]:
        """Yield each status with its count, the most frequent reasons with theirs, and the count of all others."""
        for status in Status:
            reasons = Counter(one.reason for one in self.outcomes if one.status is status)
            if reasons:
                shown = [(reason, count) for reason, count in reasons.most_common(MOST_REASONS) if reason]
                named = sum(count for _, count in shown) + reasons[""]
                yield status.value, reasons.total(), shown, reasons.total() - named


def schedule_of(point: Point) -> str:
    return str(dict(point).get(SCHEDULE, "auto"))


def values_of(outcomes: Sequence[Outcome], name: str) -> Sequence[Value]:
    """List the values of a parameter among some points, smallest first; words come in their order."""
    found = {dict(one.point)[name] for one in outcomes if name in dict(one.point)}
    return sorted(found, key=lambda value: (isinstance(value, str), value))


def varied(outcomes: Sequence[Outcome]) -> Sequence[str]:
    """List the parameters of these points that have several values, in the order of the points."""
    names = dict.fromkeys(name for one in outcomes for name, _ in one.point)
    return [name for name in names if name != SCHEDULE and len(values_of(outcomes, name)) > 1]
