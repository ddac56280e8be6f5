"""The search by expected improvement corrects the cost model by what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from statistics import fmean, median

import numpy as np
import pytest

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.search.error_process import ErrorProcess
from polytile.autotuning.search.gaussian_search import FIRST_ESTIMATED, expected_improvement
from polytile.autotuning.search.named import search_named
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Parameter, Point, Space, Subspace
from polytile.choices import Choices
from tests.unit.autotuning.synthetic import estimates, milliseconds, synthetic_space

SPACE = synthetic_space()
TIMES = {point: milliseconds(point) for point in SPACE.points}
BEST = min(TIMES.values())


def line(count: int, schedule: str = "tiled") -> Subspace:
    return Subspace(schedule, (Parameter("rows", tuple(range(count))),), lambda _: Choices())


def evaluations(seed: int, estimate: Estimates, most: int) -> int:
    """Evaluations until one is within 5% of the best; `most` where none is."""
    search = search_named("gaussian", SPACE, seed, estimate)
    for count in range(1, most):
        point = search.ask()
        assert point is not None
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(TIMES[point],)))
        if TIMES[point] <= 1.05 * BEST:
            return count
    return most


@pytest.mark.slow
def test_within_5_percent_after_a_twentieth_of_the_space() -> None:
    twentieth = len(SPACE.points) // 20
    found = [evaluations(seed, estimates(seed), twentieth) for seed in range(20)]
    assert median(found) < twentieth / 4
    assert sum(count < twentieth for count in found) >= 18


def test_estimates_are_asked_for_where_something_is_expected() -> None:
    asked: list[Point] = []

    def estimate(points: Sequence[Point]) -> Sequence[float | None]:
        asked.extend(points)
        return estimates(0)(points)

    search = search_named("gaussian", SPACE, 0, estimate)
    for _ in range(40):
        point = search.ask()
        assert point in asked
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(TIMES[point],)))
    assert len(asked) == len(set(asked)) < len(SPACE.points) / 2
    first, later = (fmean(TIMES[p] for p in part) for part in (asked[:FIRST_ESTIMATED], asked[FIRST_ESTIMATED:]))
    assert later < 0.75 * first


def test_what_the_compiler_refuses_comes_last() -> None:
    def refused(points: Sequence[Point]) -> Sequence[float | None]:
        return [None if dict(p)["rows"] in (3, 5) else 1.0 for p in points]

    search = search_named("gaussian", Space((line(12),)), 0, refused)
    rows = [dict(search.ask() or ())["rows"] for _ in range(12)]
    assert sorted(rows[-2:]) == [3, 5] and search.ask() is None


def test_an_error_of_the_cost_model_is_learned() -> None:
    """By estimate `tiled` takes half the time of `classic`, but it takes twice as long."""
    space = Space((line(20), line(20, "classic")))

    def estimate(points: Sequence[Point]) -> Sequence[float | None]:
        return [1.0 if dict(p)["schedule"] == "tiled" else 2.0 for p in points]

    search, schedules = search_named("gaussian", space, 0, estimate), []
    for _ in range(20):
        point = search.ask()
        assert point is not None
        schedules.append(dict(point)["schedule"])
        time = 4.0 if schedules[-1] == "tiled" else 2.0
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(time,)))
    assert schedules[0] == "tiled" and schedules.count("tiled") < 5


def test_points_that_do_not_run_are_left() -> None:
    search, asked = search_named("gaussian", Space((line(40),)), 0, lambda points: [1.0] * len(points)), []
    for _ in range(20):
        point = search.ask()
        assert point is not None
        asked.append(int(dict(point)["rows"]))
        fine = asked[-1] >= 20
        search.tell(Outcome(point, Status.MEASURED if fine else Status.HUNG, milliseconds=(1.0,) if fine else ()))
    assert sum(row >= 20 for row in asked[8:]) >= 10


def test_points_that_are_begun_are_not_the_same_again() -> None:
    """Where three points are under way, they are apart from each other."""
    search = search_named("gaussian", Space((line(64),)), 0, lambda points: [1.0] * len(points))
    first = search.ask()
    assert first is not None
    search.tell(Outcome(first, Status.MEASURED, milliseconds=(1.0,)))
    rows = sorted(int(dict(search.ask() or ())["rows"]) for _ in range(3))
    assert rows[1] - rows[0] > 4 and rows[2] - rows[1] > 4


def test_beliefs() -> None:
    """At a point that was measured it is the time, far away the estimate times the error that all have."""
    space = Space((line(100),))
    process = ErrorProcess(space, space.points, [1.0] * 100)
    mean, deviation = process.believed({0: 1.0}, [])
    assert mean[0] == pytest.approx(1.0, abs=0.01) and deviation[0] < 0.06
    assert mean[99] == pytest.approx(2 / 3, abs=0.01)  # two of three variances are of the model and of the strategy
    assert list(mean) == sorted(mean, reverse=True) and list(deviation) == sorted(deviation)
    _, begun = process.believed({0: 1.0}, [50])
    assert begun[50] < 0.06 < deviation[50] and begun[99] < deviation[99]


def test_estimates_that_are_not_known_follow_from_others() -> None:
    space = Space((line(5),))
    process = ErrorProcess(space, [space.points[i] for i in (0, 4, 1, 2, 3)], [1.0, 4.0])
    assert list(process.known) == [True, True, False, False, False]
    assert 1.0 < exp(process.prior[2]) < exp(process.prior[3]) < exp(process.prior[4]) < 4.0
    process.learn([3], [8.0])
    assert exp(process.prior[3]) == pytest.approx(8.0)


def test_expected_improvement() -> None:
    draws = np.random.default_rng(1).normal(1.2, 0.5, 200_000)
    brute = np.maximum(1.0 - draws, 0).mean()
    assert expected_improvement(1.0, np.array([1.2]), np.array([0.5]))[0] == pytest.approx(brute, rel=0.02)
    certain = expected_improvement(1.0, np.array([0.5, 1.5]), np.array([1e-6, 1e-6]))
    assert certain == pytest.approx([0.5, 0.0])
