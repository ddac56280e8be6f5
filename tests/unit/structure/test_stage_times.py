"""Times of stages: each without what is inside of it, and nothing where nobody asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polytile import stage_times
from polytile.stage_times import each_in_stage, stage, times_inside, watch


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that stands still, but for who sets its one number."""
    now = [100.0]
    monkeypatch.setattr(stage_times, "perf_counter", lambda: now[0])
    yield now
    watch(runs=False)


def test_what_is_inside_counts_once(clock: list[float]) -> None:
    watch(runs=True)
    with stage("compile"), stage("f_scop0"):
        with stage("schedule"):
            clock[0] += 1
            with stage("tiled"):
                clock[0] += 4
            clock[0] += 2
        with pytest.raises(ValueError, match="refused"), stage("ast"):
            clock[0] += 2
            raise ValueError("refused")
        with stage("schedule"), stage("tiled"):
            clock[0] += 8
        with stage("legality"):
            clock[0] += stage_times.LEAST / 2
    with stage("write"):
        clock[0] += 64
    names = ["schedule: tiled", "schedule", "ast"]
    assert times_inside("compile") == [
        (f"compile: f_scop0: {name}", pytest.approx(s)) for name, s in zip(names, (12, 3, 2), strict=True)
    ]


def test_finding_items_counts_and_using_them_does_not(clock: list[float]) -> None:
    def found() -> Iterator[int]:
        for k in range(3):
            clock[0] += 1
            yield k

    watch(runs=True)
    with stage("compile"):
        for _ in each_in_stage("tiled", found()):
            clock[0] += 10
    assert times_inside("compile") == [("compile: tiled", pytest.approx(3))]


def test_who_watches_hears_of_each_change(clock: list[float]) -> None:
    heard: list[str] = []
    watch(runs=False, tell=heard.append)
    with stage("compile"), stage(""), stage("f_scop0"), stage("ast"):
        pass
    assert heard == ["compile", "f_scop0", "f_scop0: ast", "f_scop0", "compile", ""]


def test_nothing_is_kept_where_nobody_asks() -> None:
    watch(runs=False)
    assert stage("compile") is stage("ast")
    with stage("compile"):
        assert list(each_in_stage("ast", range(3))) == [0, 1, 2]
    assert times_inside("compile") == []
