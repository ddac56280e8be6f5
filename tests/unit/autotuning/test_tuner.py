"""The loop of a search: order, budget, finalists, the winner; killed and resumed; two at once."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from polytile.autotuning import record_file, tuner
from polytile.autotuning.conditions import Conditions
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record import Record, read_record
from polytile.autotuning.space import Point
from polytile.autotuning.tuner import Budget, Observer, Progress, Tuned, finalists, tune
from tests.unit.autotuning import made_up_times
from tests.unit.autotuning.made_up_times import BASELINE, InTurns, MadeUpTimes, grid, key_of, measured

BEST: Point = (("schedule", "tiled"), ("a", 3), ("b", 4), ("like", False))


class Heard(Observer):
    def __init__(self) -> None:
        self.events: list[str] = []
        self.progress: list[Progress] = []

    def begun(self, budget: Budget) -> None:
        self.events.append("begun")

    def outcome(self, outcome: Outcome, progress: Progress) -> None:
        self.events.append(outcome.status.value)
        self.progress.append(progress)

    def finalists(self, outcomes: Sequence[Outcome]) -> None:
        self.events.append(f"{len(outcomes)} finalists")

    def done(self, tuned: Tuned) -> None:
        self.events.append("done")


def _tuned(
    folder: Path,
    points: Sequence[Point],
    budget: Budget | None = None,
    *,
    width: int = 3,
    special: Mapping[Point, Status] | None = None,
    observer: Observer | None = None,
    happens: Callable[[str], None] = lambda what: None,
) -> Tuned:
    with Record(folder / "x.tune.jsonl", "s", Conditions()) as record:
        evaluator = MadeUpTimes(record.known, folder / "log", width, special, happens)
        return tune(InTurns(points), evaluator, record, budget or Budget(), observer or Observer())


def test_the_best_point_wins_and_equal_kernels_are_measured_once(tmp_path: Path) -> None:
    found = _tuned(tmp_path, grid())
    assert found.winner.point == BEST and found.default.point == () and not found.interrupted
    assert len(found.outcomes) == 37 and found.progress.told == 36
    assert found.speedup == pytest.approx(BASELINE / 53)
    assert Counter(measured(tmp_path / "log")).most_common(1)[0][1] == 1
    assert len(measured(tmp_path / "log")) == 31
    assert sum(o.reused for o in found.outcomes) == 6 == found.progress.reused


@pytest.mark.parametrize("width", [1, 2, 7])
def test_points_are_told_in_the_order_in_which_they_were_asked_for(tmp_path: Path, width: int) -> None:
    heard = Heard()
    found = _tuned(tmp_path, grid(3), width=width, observer=heard)
    assert [o.point for o in found.outcomes] == [(), *grid(3)]
    assert heard.events == ["begun", *["measured"] * 10, "6 finalists", "done"]
    assert [p.told for p in heard.progress] == [*range(10)]
    best = [p.best.median for p in heard.progress if p.best is not None]
    assert best == sorted(best, reverse=True) and len(best) == 10


def test_a_finished_search_runs_nothing_again(tmp_path: Path) -> None:
    first = _tuned(tmp_path, grid())
    before = (tmp_path / "log").read_text()
    again = _tuned(tmp_path, grid())
    assert (tmp_path / "log").read_text() == before
    assert again.winner.point == first.winner.point and again.milliseconds == first.milliseconds
    assert all(o.reused for o in again.outcomes)


def test_a_budget_counts_what_is_found_in_the_record(tmp_path: Path) -> None:
    assert _tuned(tmp_path, grid(), Budget(evaluations=8)).progress.told == 8
    done = len(measured(tmp_path / "log"))
    found = _tuned(tmp_path, grid(), Budget(evaluations=20))
    assert found.progress.told == 20 and found.progress.reused >= 8
    assert len(set(measured(tmp_path / "log"))) == len(measured(tmp_path / "log")) > done


def test_no_time_left_still_evaluates_the_default(tmp_path: Path) -> None:
    found = _tuned(tmp_path, grid(), Budget(seconds=0.0))
    assert [o.point for o in found.outcomes] == [()] and found.winner == found.default
    assert found.progress.seconds_left == 0.0 and "again" not in (tmp_path / "log").read_text()


def test_points_without_a_time_are_recorded_and_do_not_win(tmp_path: Path) -> None:
    kinds = [Status.REFUSED, Status.WRONG, Status.CRASHED, Status.HUNG, Status.RESOURCES]
    points = [(("schedule", "tiled"), ("a", 3), ("b", b)) for b in range(len(kinds))]
    special = dict(zip(points, kinds, strict=True))
    found = _tuned(tmp_path, points, special=special)
    assert found.winner.point == () and not found.milliseconds and found.speedup == 1
    assert [o.status for o in found.outcomes[1:]] == kinds
    again = _tuned(tmp_path, points, special={})
    assert [o.status for o in again.outcomes[1:]] == kinds and all(o.reused for o in again.outcomes)


def test_without_a_default_the_best_point_wins(tmp_path: Path) -> None:
    found = _tuned(tmp_path, grid(), special={(): Status.REFUSED})
    assert found.winner.point == BEST and found.default.status is Status.REFUSED and found.speedup == 1


def test_the_default_stays_where_it_is_not_beaten_by_a_hundredth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close, better = ((("schedule", "tiled"), ("a", a)) for a in (1, 2))
    times = {(): 100.0, close: 99.5, better: 98.9}
    monkeypatch.setattr(made_up_times, "time_of", times.__getitem__)
    assert _tuned(tmp_path, [close]).winner.point == ()
    assert _tuned(tmp_path, [close, better]).winner.point == better


def test_further_runs_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The point that was best by luck loses."""
    lucky, steady = ((("schedule", "tiled"), ("a", a)) for a in (1, 2))
    times = {(): 100.0, lucky: 80.0, steady: 90.0}
    monkeypatch.setattr(made_up_times, "time_of", times.__getitem__)

    def again(self: MadeUpTimes, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        return {(): (100.0,), lucky: (95.0,), steady: (90.0,)}

    monkeypatch.setattr(MadeUpTimes, "again", again)
    assert _tuned(tmp_path, [lucky, steady]).winner.point == steady


@pytest.mark.parametrize(
    ("default", "wins"),
    [((0.99, 0.99, 1.0, 1.0, 1.0, 1.0, 1.01, 1.02), True), ((0.94, 0.94, 0.94, 1.0, 1.0, 1.0, 1.0, 1.01), False)],
)
def test_the_default_stays_where_runs_vary_by_more_than_is_gained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default: tuple[float, ...], wins: bool
) -> None:
    """Kernels of some microseconds: 3% less by the median, with quartiles that do not or do overlap."""
    close: Point = (("schedule", "tiled"), ("a", 1))

    def again(self: MadeUpTimes, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        return {(): default, close: (0.95, 0.95, 0.96, 0.97, 0.97, 0.97, 0.98, 0.98)}

    monkeypatch.setattr(made_up_times, "time_of", {(): 1.0, close: 0.96}.__getitem__)
    monkeypatch.setattr(MadeUpTimes, "again", again)
    assert _tuned(tmp_path, [close]).winner.point == (close if wins else ())


def test_a_point_whose_runs_vary_leaves_the_win_to_a_steady_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    varying, steady = ((("schedule", "tiled"), ("a", a)) for a in (1, 2))
    runs = {(): (1.0,) * 8, varying: (0.8,) * 5 + (1.2,) * 3, steady: (0.9,) * 8}
    monkeypatch.setattr(made_up_times, "time_of", {(): 1.0, varying: 0.8, steady: 0.9}.__getitem__)
    monkeypatch.setattr(MadeUpTimes, "again", lambda self, points: runs)
    assert _tuned(tmp_path, [varying, steady]).winner.point == steady
    del runs[steady]
    assert _tuned(tmp_path, [varying]).winner.point == ()


def test_a_finalist_that_fails_now_does_not_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(self: MadeUpTimes, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        return {point: (made_up_times.time_of(point),) for point in points if point != BEST}

    monkeypatch.setattr(MadeUpTimes, "again", again)
    first = _tuned(tmp_path, grid())
    assert first.winner.point not in ((), BEST)
    assert _tuned(tmp_path, grid()).winner.point == first.winner.point


def test_finalists_have_different_kernels() -> None:
    default = Outcome((), Status.MEASURED, "", (5.0,), "d")
    others = [Outcome((("a", a),), Status.MEASURED, "", (float(a),), f"k{a // 2}") for a in range(1, 20)]
    same = Outcome((("a", 0),), Status.MEASURED, "", (0.5,), "d")
    found = finalists([default, same, *reversed(others)])
    assert [o.key for o in found] == ["d", "k0", "k1", "k2", "k3", "k4"]


@pytest.mark.parametrize("at", [2, 9])
def test_an_interrupted_search_ends_with_the_best_so_far(tmp_path: Path, at: int) -> None:
    steps = iter(range(at))

    def happens(what: str) -> None:
        if what == "measured" and next(steps, None) is None:
            raise KeyboardInterrupt

    heard = Heard()
    found = _tuned(tmp_path, grid(), width=1, happens=happens, observer=heard)
    assert found.interrupted and heard.events[-1] == "done" and not found.milliseconds
    assert len(found.outcomes) >= at and found.winner == min(found.outcomes, key=lambda o: o.median)
    whole = _tuned(tmp_path, grid(), width=1)
    assert whole.winner.point == BEST


def test_an_interrupt_before_anything_is_known(tmp_path: Path) -> None:
    def happens(what: str) -> None:
        raise KeyboardInterrupt

    found = _tuned(tmp_path, grid(), happens=happens)
    assert found.interrupted and found.winner == found.default and found.outcomes == ()


def _in_child(work: Callable[[], object]) -> int:
    """Run it in a child process; returns the status of its end."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        work()
        os._exit(0)
    except BaseException:
        os._exit(1)


def _dying(countdown: int) -> Callable[[str], None]:
    """Kills the process at its n-th step."""
    left = iter(range(countdown))

    def happens(what: str) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    return happens


def _die_amid_a_line(countdown: int) -> None:
    """Let the n-th line be written to its half, and the process die then."""
    write, left = os.write, iter(range(countdown))

    def torn(file: int, data: bytes) -> int:
        if next(left, None) is None:
            write(file, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(file, data)

    record_file.os.write = torn  # type: ignore[assignment]


@pytest.mark.slow(but="1")
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_twenty_moments_nothing_is_measured_twice_and_the_winner_is_the_same(
    tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    (tmp_path / "whole").mkdir()
    expected = _tuned(tmp_path / "whole", grid())
    kills = 0
    for k in range(20):
        steps = chosen.randrange(1, 12)

        def work(k: int = k, steps: int = steps) -> None:
            if k % 3 == 0:
                _die_amid_a_line(steps)
            _tuned(tmp_path, grid(), happens=_dying(steps if k % 3 else 10**6))

        kills += _in_child(work) == signal.SIGKILL
    found = _tuned(tmp_path, grid())
    assert kills >= 10
    assert found.winner.point == expected.winner.point == BEST
    assert [o.point for o in found.outcomes] == [o.point for o in expected.outcomes]
    kept = Counter(e.outcome.key for e in read_record(tmp_path / "x.tune.jsonl") if not e.outcome.reused)
    assert set(kept.values()) == {1} and set(kept) == {key_of(p) for p in [(), *grid()]}
    # What was being measured at a kill is lost, and nothing else.
    assert len(measured(tmp_path / "log")) <= len(kept) + kills


def test_two_tuners_at_once_measure_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuner, "POLL_SECONDS", 0.002)

    def slow(what: str) -> None:
        if what == "measure":
            tuner.time.sleep(0.003)

    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                found = _tuned(tmp_path, grid(), happens=slow)
                os._exit(0 if found.winner.point == BEST and len(found.outcomes) == 37 else 2)
            except BaseException:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    counted = Counter(measured(tmp_path / "log"))
    assert len(counted) == 31 and set(counted.values()) == {1}


def test_a_tuner_takes_over_what_another_one_died_with(tmp_path: Path) -> None:
    """While it waits for a claim, the process that made it ends."""
    with Record(tmp_path / "x.tune.jsonl", "s", Conditions()) as record:
        taken = grid()[0]
        child = os.fork()
        if child == 0:
            Record(tmp_path / "x.tune.jsonl", "s", Conditions()).known(key_of(taken))
            tuner.time.sleep(0.3)
            os._exit(0)
        while record.look(key_of(taken)) is None:
            tuner.time.sleep(0.01)
        found = _tuned(tmp_path, [taken])
        os.waitpid(child, 0)
    assert [o.status for o in found.outcomes] == [Status.MEASURED] * 2


def test_a_record_of_another_gpu_or_driver_is_not_taken(tmp_path: Path) -> None:
    """The keys differ, so nothing is found."""
    from polytile.autotuning.conditions import source_key
    from polytile.options import Options

    here, there = Conditions({"n": 5}, "H200", "580"), Conditions({"n": 5}, "H100", "580")
    path = tmp_path / "x.tune.jsonl"
    with Record(path, source_key("text", Options(), here), here) as record:
        record.append(Outcome((), Status.MEASURED, "", (1.0,), "k"))
        assert record.find(()) is not None
    with Record(path, source_key("text", Options(), there), there) as record:
        assert record.find(()) is None
