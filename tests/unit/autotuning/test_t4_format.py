"""Results in the T4 format: what is written is read again, and what other tuners write is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polybench.runner.cli import main
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.replay import recorded_space
from polytile.autotuning.t4_format import read_t4, t4_results
from polytile.diagnostics import UsageError

POINT = ("schedule", "tiled"), ("rows", 2), ("read_only", True)


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def kernel_tuner_result(**changed: Any) -> dict[str, Any]:
    """A result as Kernel Tuner 1.5 writes it."""
    return {
        "timestamp": "2026-11-30 07:00:00+00:00",
        "configuration": {"block_size_x": 64, "scale": 0.5, "unroll": 2.0},
        "times": {"compilation": 440.0, "benchmark": 1.0, "runtimes": [0.5, 0.25, 0.75]},
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": 0.6, "unit": "ms"}],
        "objectives": ["time"],
    } | changed


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    outcomes = [
        Outcome((), Status.MEASURED, milliseconds=(9.0,)),
        Outcome(POINT, Status.MEASURED, milliseconds=(2.0, 3.0), estimate=1.5, seconds={"compile": 0.25}),
        *(Outcome((*POINT[:2], ("read_only", status.value)), status, "") for status in Status if _kept(status)),
    ]
    found = read_t4(written(tmp_path / "t4.json", t4_results(outcomes)))
    assert found[0] == outcomes[1]
    assert [(one.point, one.status) for one in found[1:]] == [(one.point, one.status) for one in outcomes[2:]]
    assert not any(one.milliseconds for one in found[1:])


def _kept(status: Status) -> bool:
    return status not in (Status.MEASURED, Status.HELD)


def test_results_of_kernel_tuner(tmp_path: Path) -> None:
    nothing = [{"name": "time", "value": "", "unit": "ms"}, {"name": "__error__", "value": "", "unit": ""}]
    failed = kernel_tuner_result(configuration={"block_size_x": 32}, invalidity="compile", measurements=nothing)
    content = {"results": [kernel_tuner_result(), failed], "schema_version": "1.0.0"}
    first, second = read_t4(written(tmp_path / "t4.json", content))
    assert first.point == (("schedule", "other"), ("block_size_x", 64), ("scale", "0.5"), ("unroll", 2))
    assert first.milliseconds == (0.5, 0.25, 0.75) and first.seconds == {"compile": 0.44}
    assert second.status is Status.RESOURCES and not second.milliseconds and second.reason == "compile"


@pytest.mark.parametrize(("unit", "milliseconds"), [("s", 600.0), ("us", 0.0006), ("", 0.6)])
def test_times_of_objectives(unit: str, milliseconds: float, tmp_path: Path) -> None:
    one = kernel_tuner_result(times={}, measurements=[{"name": "time", "value": 0.6, "unit": unit}])
    (found,) = read_t4(written(tmp_path / "t4.json", {"results": [one]}))
    assert found.milliseconds == (pytest.approx(milliseconds),)


@pytest.mark.parametrize("content", [[], {}, {"results": [{}]}, {"results": [kernel_tuner_result(invalidity="odd")]}])
def test_other_files_are_refused(content: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no file of T4 results"):
        read_t4(written(tmp_path / "t4.json", content))


def test_results_are_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        kernel_tuner_result(configuration={"x": x, "y": y}, times={"runtimes": [x + y / 10]})
        for x in (1, 2, 4)
        for y in (1, 2)
    ]
    path, again = written(tmp_path / "t4.json", {"results": results}), tmp_path / "again.json"
    assert main(["replay", str(path), "--search", "exhaustive", "--seeds", "1", "--t4", str(again)]) == 0
    assert "| exhaustive | 1 (16.7%) | 1 to 1 |" in capsys.readouterr().out
    assert read_t4(again) == read_t4(path)
    assert len(recorded_space(read_t4(again)).points) == 6
