"""The search by the cost model finds what is nearly the best early, on a synthetic record with local optima."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median

import pytest

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.search import named
from polytile.autotuning.search.named import default_search, search_named
from polytile.autotuning.search.nearest import Unasked
from polytile.autotuning.space import Constraint, Parameter, Point, Space, Subspace
from polytile.choices import Choices
from polytile.diagnostics import UsageError
from tests.unit.autotuning.synthetic import estimates, local_optima, milliseconds, synthetic_space

SPACE = synthetic_space()
TIMES = {point: milliseconds(point) for point in SPACE.points}
BEST = min(TIMES.values())


def evaluations(name: str, seed: int, most: int) -> int:
    """Evaluations until one is within 5% of the best; `most` where none is."""
    search = search_named(name, SPACE, seed, estimates(seed))
    for count in range(1, most):
        point = search.ask()
        assert point is not None
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(TIMES[point],)))
        if TIMES[point] <= 1.05 * BEST:
            return count
    return most


def test_the_synthetic_record_has_local_optima() -> None:
    slower = [point for point in local_optima(SPACE) if TIMES[point] > 1.05 * BEST]
    assert len(slower) > 20
    assert sum(time <= 1.05 * BEST for time in TIMES.values()) < 0.01 * len(TIMES)


@pytest.mark.slow
def test_within_5_percent_after_a_tenth_of_the_space() -> None:
    tenth = len(SPACE.points) // 10
    found = [evaluations("model", seed, tenth) for seed in range(20)]
    assert median(found) < tenth / 4
    assert median(found) < median(evaluations("random", seed, tenth) for seed in range(20)) / 2


def test_each_other_of_the_first_points_is_the_best_by_estimate() -> None:
    """Of those that have estimates and were not asked for; the others are what is learned of its errors."""
    known: list[Point] = []

    def estimate(points: Sequence[Point]) -> Sequence[float | None]:
        known.extend(points)
        return [TIMES[point] for point in points]

    search, asked = search_named("model", SPACE, 0, estimate), list[Point]()
    for count in range(12):
        best = min((TIMES[one] for one in known if one not in asked), default=None)
        point = search.ask()
        assert point is not None and point not in asked
        assert best is None or TIMES[point] == best or count % 2
        asked.append(point)
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(TIMES[point],)))
    assert TIMES[asked[0]] == min(TIMES[one] for one in known[:512])


def test_where_the_cost_model_is_off_its_first_points_are_not_the_next() -> None:
    """By estimate more rows are faster, each by 1%; in truth even numbers take twice as long."""
    parameters = Parameter("rows", tuple(range(40))), Parameter("odd", (0, 1))
    space = Space((Subspace("tiled", parameters, lambda _: Choices()),))

    def estimate(points: Sequence[Point]) -> Sequence[float | None]:
        return [1.0 - 0.01 * int(dict(p)["rows"]) - 0.005 * (1 - int(dict(p)["odd"])) for p in points]

    search, odd = search_named("model", space, 0, estimate), []
    for _ in range(12):
        point = search.ask()
        assert point is not None
        odd.append(int(dict(point)["odd"]))
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(1.0 if odd[-1] else 2.0,)))
    assert odd[0] == 0 and sum(odd[3::2]) >= 4


def test_points_that_the_compiler_refuses_are_not_first() -> None:
    def refused(points: Sequence[Point]) -> Sequence[float | None]:
        return [None if dict(p)["schedule"] == "streaming" else 1.0 for p in points]

    search = search_named("model", SPACE, 0, refused)
    assert all(dict(search.ask() or ())["schedule"] == "overlapped" for _ in range(12))


def test_what_does_not_run_is_learned_from() -> None:
    """Points with few rows do not run: the sampler turns to those with many."""
    rows = Parameter("rows", tuple(range(40)))
    space = Space((Subspace("tiled", (rows, Parameter("on", (False, True))), lambda _: Choices()),))
    search = search_named("model", space, 0, lambda points: [None] * len(points))
    asked: list[int] = []
    for _ in range(40):
        point = search.ask()
        assert point is not None
        asked.append(int(dict(point)["rows"]))
        fine = asked[-1] >= 20
        times = (float(60 - asked[-1]),) if fine else ()
        search.tell(Outcome(point, Status.MEASURED if fine else Status.CRASHED, milliseconds=times))
    assert sum(row >= 20 for row in asked[20:]) >= 15


def test_the_nearest_point_holds_the_constraints() -> None:
    limit = Constraint(("x", "y"), lambda x, y: x * y <= 16, "threads")
    parameters = tuple(Parameter(name, (1, 2, 4, 8)) for name in "xy")
    space = Space((Subspace("s", parameters, lambda _: Choices(), (limit,)),))
    unasked = Unasked(space)
    assert unasked.nearest("s", {"x": 8, "y": 4}) == (("schedule", "s"), ("x", 4), ("y", 4))
    assert unasked.take((("schedule", "s"), ("x", 4), ("y", 4)))
    assert unasked.nearest("s", {"x": 8, "y": 4}) == (("schedule", "s"), ("x", 8), ("y", 2))
    assert not unasked.take(())
    for point in space.points:
        unasked.take(point)
    assert unasked.nearest("s", {"x": 8, "y": 4}) is None and not unasked.schedules()


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.setattr(named, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="the search `model` needs Optuna") as caught:
        search_named("model", SPACE, 0, estimates(0))
    assert caught.value.hint == "pip install 'polytile[tune]', or --search gaussian"
    assert default_search(SPACE) == "gaussian"
    assert search_named("", SPACE, 0, estimates(0)).description.startswith("gaussian: 1148 points")


def test_few_evaluations_are_not_the_first_points_of_a_space() -> None:
    few = Space((Subspace("s", (Parameter("x", (1, 2, 4)),), lambda _: Choices()),))
    assert default_search(few) == default_search(few, 3) == "exhaustive"
    assert default_search(few, 2) != "exhaustive"
