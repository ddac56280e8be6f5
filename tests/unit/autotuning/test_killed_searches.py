"""Searches by processes that are killed, the parent or a worker, and go on: nothing is measured twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from polytile.autotuning.gpu_evaluator import GpuEvaluator
from polytile.autotuning.outcome import Status
from polytile.autotuning.record import Record, read_record
from polytile.autotuning.search.exhaustive import Enumeration
from polytile.autotuning.space import Parameter, Point, Space, Subspace
from polytile.autotuning.tuner import Budget, Observer, Tuned, tune
from polytile.autotuning.worker import STAND_IN
from polytile.choices import Choices
from tests.unit.autotuning.test_gpu_evaluator import ADD, FAULTY

BOUNDS = (32, 40, 48, 56, 64, 101, 104)  # of registers; with the last two a worker kills itself


def _choices(values: Any) -> Choices:
    return Choices(schedule=values["schedule"], registers=values["registers"])


SPACE = Space((Subspace("classic", (Parameter("registers", BOUNDS),), _choices),))


def search(record: Path) -> Tuned:
    """All points of the space, two at a time."""
    with (
        GpuEvaluator(ADD, SPACE.choices, width=2, device=STAND_IN, command=FAULTY) as evaluator,
        Record(record, "the source", evaluator.conditions) as kept,
    ):
        evaluator.known = kept.known
        return tune(Enumeration("exhaustive", SPACE), evaluator, kept, Budget(), Observer())


def measured(record: Path) -> Counter[str]:
    """How often the kernels of each key were measured."""
    found = read_record(record) if record.exists() else ()
    return Counter(e.outcome.key for e in found if e.outcome.status is Status.MEASURED and not e.outcome.reused)


def ends(tuned: Tuned) -> dict[Point, tuple[Status, str]]:
    """How each evaluation has ended, and its key."""
    return {one.point: (one.status, one.key) for one in tuned.outcomes}


SEARCH = "import sys; from pathlib import Path; from tests.unit.autotuning.test_killed_searches import search; search"


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on(tmp_path: Path) -> None:
    whole, record = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    expected = search(whole)
    assert expected.winner.point and [o.status for o in expected.outcomes].count(Status.CRASHED) == 2
    for wanted in (1, 3, 5):
        run = subprocess.Popen([sys.executable, "-c", f"{SEARCH}(Path({str(record)!r}))"])
        deadline = time.monotonic() + 120
        while measured(record).total() < wanted and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    found = search(record)
    assert set(measured(record).values()) == {1} and measured(record) == measured(whole)
    assert found.winner.point == expected.winner.point and found.milliseconds == expected.milliseconds
    assert ends(found) == ends(expected)


@pytest.mark.slow
def test_two_searches_at_once_measure_nothing_twice(tmp_path: Path) -> None:
    record = tmp_path / "shared.jsonl"
    other = subprocess.Popen([sys.executable, "-c", f"{SEARCH}(Path({str(record)!r}))"])
    found = search(record)
    assert other.wait(120) == 0
    assert set(measured(record).values()) == {1} and len(measured(record)) == len(BOUNDS) - 1
    assert found.winner.milliseconds
