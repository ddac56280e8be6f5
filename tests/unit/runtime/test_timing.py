"""How often something is run to time it, in which order, and with which inputs; a clock is played by a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

import pytest

from polytile.runtime import timing
from polytile.runtime.timing import enough, in_turns, milliseconds_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The milliseconds of each run, in their order."""
    given: list[float] = []

    def once(action: Callable[[], object], before: Callable[[], None] = lambda: None) -> float:
        before()
        action()
        return given.pop(0)

    monkeypatch.setattr(timing, "once", once)
    yield given
    assert not given


def test_as_many_runs_as_are_asked_for(clock: list[float]) -> None:
    clock += [9.0, 8.0, 3.0, 1.0, 2.0]
    said: list[str] = []
    times = milliseconds_of(lambda: said.append("run"), runs=3, before=lambda: said.append("inputs"))
    assert times == (3.0, 1.0, 2.0) and said == ["inputs", "run"] * 5


@pytest.mark.parametrize(
    ("given", "best", "runs"),
    [
        ([1.0] * 8, inf, 7),  # short ones
        ([30.0] * 6, inf, 5),  # long ones
        ([1.4] * 8, 1.0, 7),  # slower, but near
        ([1.6] * 3, 1.0, 2),  # two slow runs are enough
        ([1.6, 1.6, 1.4] + [1.0] * 5, 1.0, 7),  # one is not
        ([4.1, 1.6], 1.0, 1),  # nor is another behind a very slow warm-up
        ([4.1] + [1.4] * 7, 1.0, 7),  # unless only that was slow
    ],
)
def test_fewer_runs_of_what_is_slow(given: Sequence[float], best: float, runs: int, clock: list[float]) -> None:
    clock += given
    assert len(milliseconds_of(lambda: None, runs=None, warm_ups=1, best=best)) == runs


def test_earlier_runs_count_as_warm_up(clock: list[float]) -> None:
    clock += [2.0]
    assert milliseconds_of(lambda: None, runs=None, warm_ups=0, warmed=(9.0,), best=1.0) == (2.0,)


def test_nothing_is_enough_without_a_run() -> None:
    assert not enough((100.0,), (), 5, 1.0)


def test_runs_in_turns_have_the_same_inputs(clock: list[float]) -> None:
    clock += [9, 9, 9, 1, 2, 3, 33, 22, 11]
    said: list[object] = []
    actions = [lambda name=name: said.append(name) for name in "abc"]
    assert in_turns(actions, rounds=2, before=said.append) == [(1, 11), (2, 22), (3, 33)]
    assert said == [0, "c", 0, "b", 0, "a", 1, "a", 1, "b", 1, "c", 2, "c", 2, "b", 2, "a"]
