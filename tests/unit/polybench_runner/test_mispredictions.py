"""Records of the tuner say what the cost model mispredicts, and which property of points explains it."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybench.runner.cli import main
from polybench.runner.errors import RunnerError
from polybench.runner.mispredictions import (
    Estimated,
    estimated_points,
    explained,
    is_record,
    mispredictions,
    rank_correlation,
)
from polytile.autotuning.conditions import Conditions
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record_lines import Entry, to_line

CONDITIONS = Conditions({"n": 512})


def record(path: Path) -> Path:
    """16 points of two parameters: estimates of 8 warps are twice the time, others right; `rows` is no cause."""
    entries = [Entry("ab" * 32, Outcome((), Status.MEASURED, milliseconds=(9.0,), estimate=9.0), CONDITIONS)]
    for warps in (2, 4, 8, 16):
        for rows in (1, 2, 3, 4):
            point = ("schedule", "streaming"), ("warps", warps), ("rows", rows)
            time = 1.0 + rows / 10 + warps / 100
            estimate = time * (2.0 if warps == 8 else 1.0)
            outcome = Outcome(point, Status.MEASURED, milliseconds=(time,), estimate=estimate, bound="memory")
            entries.append(Entry("ab" * 32, outcome, CONDITIONS))
    failed = Outcome((("schedule", "streaming"), ("warps", 1), ("rows", 1)), Status.WRONG, "A differs", estimate=1.0)
    path.write_bytes(b"".join(map(to_line, (*entries, Entry("ab" * 32, failed, CONDITIONS)))))
    return path


def point(name: str, value: int, error: float) -> Estimated:
    return Estimated("r", (("schedule", "tiled"), (name, value)), 1.0, error)


def test_the_cause_of_errors_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "wave.c.tune.jsonl")
    assert is_record(path) and main(["estimates", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[2].startswith("| wave.c.tune.jsonl (n=512) abababab | streaming | 16 | 1.19 | 1.35 | 0.")
    assert said[2].endswith(" | 0% |")
    assert said[4:] == [
        "| strategy | cause | explains | estimate / measured, by value |",
        "| --- | --- | --- | --- |",
        "| streaming | warps | 100% | 2: 1.00, 4: 1.00, 8: 2.00, 16: 1.00 |",
    ]


def test_points_of_several_strategies_and_what_the_best_by_estimate_loses() -> None:
    fast = Estimated("r", (("schedule", "tiled"), ("rows", 1)), 1.0, 3.0)
    slow = Estimated("r", (("schedule", "classic"), ("rows", 1)), 1.5, 2.0)
    rows = mispredictions([fast, slow]).splitlines()[2:]
    assert rows[0] == "| r | all | 2 | 2.00 | 1.50 | -1.00 | 50% |"
    assert rows[1] == "| r | tiled | 1 | 3.00 | 1.00 |  | 0% |"
    assert rows[2] == "| r | classic | 1 | 1.33 | 1.00 |  | 0% |"


def test_ranks() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == 1
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == -1
    assert rank_correlation([1, 1, 2, 2], [1, 2, 1, 2]) == 0
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None


def test_what_chance_explains_is_no_cause() -> None:
    errors = [1.0, 2.0, 1.1, 1.9, 1.2, 1.8, 1.05, 1.95]
    every = [point("rows", value, error) for value, error in enumerate(errors)]
    assert explained(every, lambda one: one.point) == 0
    halves = [point("rows", value % 2, error) for value, error in enumerate(errors)]
    assert 0.9 < explained(halves, lambda one: one.point) < 1


def test_records_without_estimates(tmp_path: Path) -> None:
    path = tmp_path / "empty.tune.jsonl"
    path.write_bytes(to_line(Entry("ab", Outcome((), Status.MEASURED, milliseconds=(1.0,)))))
    with pytest.raises(RunnerError, match="no point with a time and an estimate"):
        estimated_points([path])
