"""What the cost model mispredicts, by cause: estimates of the points of records beside their times.

A table has, for each record and strategy, how far off estimates are, whether they rank points as times do, and what
the fastest point by estimate loses. Another says how much of the errors each property of points explains (strategy by
strategy, over all records): of the sum of squares of log(estimate / measured) around its mean, the share that lies
between the groups of equal values, less what as many groups of random points would explain (epsilon squared: Kelley,
An unbiased correlation ratio measure, PNAS 21, 1935).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from polybench.runner.errors import RunnerError
from polybench.runner.markdown import grid
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.record import read_record
from polytile.autotuning.record_lines import BEGIN
from polytile.autotuning.space import SCHEDULE, Point
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError

RECORDS = "record", "strategy", "points", "estimate / measured", "spread", "rank correlation", "loss of its best"
CAUSES = "strategy", "cause", "explains", "estimate / measured, by value"
LEAST_POINTS = 8  # of a strategy, for causes
LEAST_SHARE = 0.02  # that a cause explains
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Estimated:
    """A point of a record that has a time and an estimate, in milliseconds; `record` is its file, sizes and source."""

    record: str
    point: Point
    measured: float
    estimate: float
    bound: str = ""

    @property
    def strategy(self) -> str:
        return str(dict(self.point).get(SCHEDULE, "default"))

    @property
    def error(self) -> float:
        """The logarithm of estimate / measured."""
        return log(self.estimate / self.measured)


def is_record(path: Path) -> bool:
    """Return whether a file is a record of the tuner."""
    try:
        with path.open("rb") as file:
            return file.read(len(BEGIN)) == BEGIN
    except OSError:
        return False


def estimated_points(paths: Iterable[Path]) -> list[Estimated]:
    """Read the points of records that have both; raises RunnerError where there are none."""
    found: dict[tuple[str, Point], Estimated] = {}
    for path in paths:
        try:
            entries = read_record(path)
        except UsageError as error:
            raise RunnerError.of(error) from error
        for entry in entries:
            sizes = ", ".join(f"{name}={value}" for name, value in entry.conditions.sizes.items())
            name = f"{path.name} ({sizes})" if sizes else path.name
            one = _estimated(f"{name} {entry.source[:8]}", entry.outcome)
            if one is not None:
                found[one.record, one.point] = one
    if not found:
        names = ", ".join(str(path) for path in paths)
        hint = "of `polytile tune` under any strategy; points that were refused have neither"
        raise RunnerError(f"{names}: there is no point with a time and an estimate", hint=hint)
    return list(found.values())


def _estimated(record: str, outcome: Outcome) -> Estimated | None:
    if not outcome.milliseconds or not outcome.estimate or not outcome.point:
        return None
    return Estimated(record, outcome.point, outcome.median, outcome.estimate, outcome.bound)


def mispredictions(found: Sequence[Estimated]) -> str:
    """Print the two tables, as Markdown."""
    records = [row for record, points in _groups(found, lambda one: one.record) for row in _of_record(record, points)]
    causes = [row for strategy, points in _groups(found, lambda one: one.strategy) for row in _causes(strategy, points)]
    tables = [grid(RECORDS, records, len(RECORDS))]
    if causes:
        tables.append(grid(CAUSES, causes, len(CAUSES)))
    return "\n\n".join(tables)


def _groups(found: Iterable[Estimated], key: Callable[[Estimated], Key]) -> Iterable[tuple[Key, list[Estimated]]]:
    """Group points with the same key, in the order in which keys come first."""
    groups: dict[Key, list[Estimated]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups.items()


def _of_record(record: str, points: Sequence[Estimated]) -> list[tuple[str, ...]]:
    parts = list(_groups(points, lambda one: one.strategy))
    whole = [("all", list(points))] if len(parts) > 1 else []
    return [_of_strategy(record, strategy, part) for strategy, part in (*whole, *parts)]


def _of_strategy(record: str, strategy: str, points: Sequence[Estimated]) -> tuple[str, ...]:
    errors = [one.error for one in points]
    mean = fmean(errors)
    spread = exp(sqrt(fmean((error - mean) ** 2 for error in errors)))
    ranks = rank_correlation([one.estimate for one in points], [one.measured for one in points])
    loss = min(points, key=lambda one: one.estimate).measured / min(one.measured for one in points)
    figures = f"{exp(mean):.2f}", f"{spread:.2f}", "" if ranks is None else f"{ranks:.2f}", f"{100 * (loss - 1):.0f}%"
    return record, strategy, str(len(points)), *figures


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Compute Spearman's rank correlation: 1 where both have the same order, -1 where it is the reverse.

    Returns None where one has a single value.
    """
    first, second = _ranks(one), _ranks(other)
    mean = (len(one) - 1) / 2
    product = sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    squares = sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second)
    return product / sqrt(squares) if squares else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank each value among all, from 0; of equal ones the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    place = 0
    for _, equal in groupby(order, key=values.__getitem__):
        group = list(equal)
        for index in group:
            found[index] = place + (len(group) - 1) / 2
        place += len(group)
    return found


def _causes(strategy: str, points: Sequence[Estimated]) -> list[tuple[str, ...]]:
    """Return what explains the errors of a strategy, the most important cause first."""
    if len(points) < LEAST_POINTS:
        return []
    names = dict.fromkeys(name for one in points for name, _ in one.point if name != SCHEDULE)
    causes: dict[str, Callable[[Estimated], object]] = {
        "record": lambda one: one.record,
        "bound": lambda one: one.bound,
        **{name: partial(_value, name) for name in names},
    }
    found = [(explained(points, key), name, key) for name, key in causes.items()]
    told = sorted((one for one in found if one[0] >= LEAST_SHARE), key=lambda one: -one[0])
    return [(strategy, name, f"{100 * share:.0f}%", _by_value(points, key)) for share, name, key in told]


def _value(name: str, one: Estimated) -> object:
    return dict(one.point).get(name, "")


def explained(points: Sequence[Estimated], key: Callable[[Estimated], object]) -> float:
    """Compute the share of the errors' squares that lies between groups with the same key, beyond what chance gives."""
    groups = [[one.error for one in group] for _, group in _groups(points, key)]
    mean = fmean(one.error for one in points)
    total = sum((one.error - mean) ** 2 for one in points)
    free = len(points) - len(groups)
    if not total or not free:
        return 0.0
    within = sum((error - fmean(group)) ** 2 for group in groups for error in group)
    return max(0.0, 1 - within / free * (len(points) - 1) / total)


def _by_value(points: Sequence[Estimated], key: Callable[[Estimated], object]) -> str:
    groups: Mapping[object, Sequence[Estimated]] = dict(_groups(points, key))
    numbers = sorted(value for value in groups if isinstance(value, int))
    words = [value for value in groups if not isinstance(value, int)]
    ratios = ((value, exp(fmean(one.error for one in groups[value]))) for value in (*numbers, *words))
    return ", ".join(f"{'none' if value == '' else value}: {ratio:.2f}" for value, ratio in ratios)
