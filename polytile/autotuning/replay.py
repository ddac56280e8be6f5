"""A record in place of a GPU: outcomes that are known answer a search, so that searches are compared and tested."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import SCHEDULE, Constraint, Parameter, Point, Space, Subspace, Value
from polytile.choices import Choices

ABSENT = "not in the record"


class Replay:
    """An evaluator whose outcomes are those of a record; points that it has not are REFUSED. `width` points may be
    under way, of which the first that was started ends first."""

    def __init__(self, outcomes: Iterable[Outcome], width: int = 1) -> None:
        self._outcomes = {_sorted(one.point): one for one in outcomes}
        self._started: deque[Point] = deque()
        self.width = width

    def start(self, point: Point, best: float) -> None:
        """Start a point."""
        self._started.append(point)

    def finished(self) -> Outcome:
        """Return the outcome of the point that was started first."""
        return self.outcome(self._started.popleft())

    def outcome(self, point: Point) -> Outcome:
        """Return what the record has of a point."""
        found = self._outcomes.get(_sorted(point))
        return Outcome(point, Status.REFUSED, ABSENT) if found is None else replace(found, point=point)

    def again(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        """Return the same milliseconds again, of points that have some."""
        return {point: runs for point in points if (runs := self.outcome(point).milliseconds)}

    def close(self) -> None:
        """Forget what was started."""
        self._started.clear()


def _sorted(point: Point) -> Point:
    return tuple(sorted(point, key=lambda one: one[0]))


def recorded_estimates(outcomes: Iterable[Outcome]) -> Estimates:
    """Return the estimates that a record has of points, in milliseconds."""
    known = {_sorted(one.point): one.estimate for one in outcomes}
    return lambda points: [known.get(_sorted(point)) for point in points]


def recorded_space(outcomes: Iterable[Outcome]) -> Space:
    """Build the space of the points of a record: the values that they have of each parameter, and as constraints that
    the first values of a point are those of one in the record. The order of parameters is that of the first point."""
    parts: dict[str, dict[Point, None]] = {}
    for one in outcomes:
        at = dict(one.point)
        if SCHEDULE in at:
            of_part = parts.setdefault(str(at.pop(SCHEDULE)), {})
            order = [name for name, _ in next(iter(of_part))] if of_part else list(at)
            if sorted(order) == sorted(at):
                of_part[tuple((name, at[name]) for name in order)] = None
    return Space(tuple(_subspace(schedule, list(points)) for schedule, points in parts.items()))


def _subspace(schedule: str, points: Sequence[Point]) -> Subspace:
    names = tuple(name for name, _ in points[0])
    rows = [tuple(value for _, value in point) for point in points]
    parameters = tuple(Parameter(name, _values(row[place] for row in rows)) for place, name in enumerate(names))
    lengths = range(1, len(names) + 1)
    constraints = tuple(Constraint(names[:n], _among({row[:n] for row in rows}), ABSENT) for n in lengths)
    return Subspace(schedule, parameters, lambda _: Choices(), constraints)


def _among(known: set[tuple[Value, ...]]) -> Callable[..., bool]:
    return lambda *values: values in known


def _values(found: Iterable[Value]) -> tuple[Value, ...]:
    """Sort the different values, numbers by size and words in the order of the alphabet."""

    def rank(value: Value) -> tuple[bool, Any]:
        return isinstance(value, str), value

    return tuple(sorted(dict.fromkeys(found), key=rank))
