"""What `polytile tune` shows while it searches: a line that changes on a terminal, lines elsewhere."""

from __future__ import annotations

import re

import pytest

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.tuner import Budget, Progress, Tuned
from polytile.cli.tune.display import Display, duration

DEFAULT = Outcome((), Status.MEASURED, milliseconds=(2.0,))
FAST = Outcome((("schedule", "tiled"), ("rows", 2)), Status.MEASURED, milliseconds=(1.25,))


def lines_of(text: str) -> list[str]:
    """What a terminal has shown in its line, one text after another."""
    return [part for part in re.split(r"\x1b\[K|\r", text) if part]


def test_the_line_has_the_best_the_number_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display("wave_scop0", 300, None, live=True)
    display.begun(Budget(evaluations=200))
    display.outcome(DEFAULT, Progress(default=DEFAULT, best=DEFAULT, seconds=10))
    display.outcome(FAST, Progress(told=20, reused=10, best=FAST, default=DEFAULT, seconds=30))
    display.done(Tuned(FAST, DEFAULT, (DEFAULT, FAST)))
    found = capsys.readouterr()
    assert found.out == ""
    assert lines_of(found.err) == [
        "polytile: wave_scop0: the default is measured",
        "polytile: wave_scop0: 2.00 ms, 1.00 times as fast; 0 of 200",
        "polytile: wave_scop0: 1.25 ms, 1.60 times as fast; 20 of 200; 9 min left",
    ]
    assert found.err.endswith("\x1b[K")


def test_what_is_left_ends_with_the_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display("f_scop0", 300, None, live=True)
    display.begun(Budget(seconds=60))
    display.outcome(FAST, Progress(told=20, best=FAST, seconds=20, seconds_left=40))
    assert lines_of(capsys.readouterr().err)[-1] == "polytile: f_scop0: 1.25 ms; 20 of 300; 40 s left"


def test_a_narrow_terminal_gets_the_beginning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polytile.cli.tune.display.columns", lambda: 20)
    Display("wave_scop0", 3, None, live=True).begun(Budget())
    assert lines_of(capsys.readouterr().err) == ["polytile: wave_scop"]


def test_lines_say_status_time_gain_and_point() -> None:
    said: list[str] = []
    display = Display("f_scop0", 9, said.append, live=False)
    display.begun(Budget())
    refused = Outcome((("schedule", "split"),), Status.REFUSED, "it has no kernels")
    known = Outcome(FAST.point, Status.MEASURED, milliseconds=(1.0,), reused=True)
    display.outcome(DEFAULT, Progress(default=DEFAULT))
    display.outcome(refused, Progress(told=1, default=DEFAULT))
    display.outcome(known, Progress(told=2, default=DEFAULT))
    display.finalists([DEFAULT, known])
    assert said == [
        "f_scop0: measured 2.00 ms: the default",
        "1 of 9: refused: split: it has no kernels",
        "2 of 9: measured 1.00 ms, 2.00 times as fast, known from earlier: tiled: rows 2",
        "f_scop0: the best 1 and the default are timed again, in turns",
    ]


def test_a_default_without_a_time() -> None:
    said: list[str] = []
    display = Display("f_scop0", 9, said.append, live=False)
    crashed = Outcome((), Status.CRASHED)
    display.outcome(crashed, Progress(default=crashed))
    display.outcome(FAST, Progress(told=1, best=FAST, default=crashed))
    assert said == ["f_scop0: crashed: the default: no reason", "1 of 9: measured 1.25 ms: tiled: rows 2"]


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (5400, "90 min"), (7300, "2 h 2 min")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
