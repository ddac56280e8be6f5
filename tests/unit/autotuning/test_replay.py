"""A record answers in place of a GPU, and is searched by Kernel Tuner too."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from math import inf
from pathlib import Path

import pytest

from polybench.runner.cli import main
from polybench.runner.errors import RunnerError
from polybench.runner.replay import needed, recorded, simulated_times
from polytile.autotuning.kernel_tuner_cache import FlatNames, kernel_tuner_cache, write_kernel_tuner_cache
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record_lines import Entry, to_line
from polytile.autotuning.replay import Replay, recorded_estimates, recorded_space
from polytile.autotuning.space import Point
from tests.unit.autotuning.synthetic import estimates, synthetic_record, synthetic_space


def measured(point: Point, *milliseconds: float, estimate: float | None = None) -> Outcome:
    return Outcome(point, Status.MEASURED, milliseconds=milliseconds, estimate=estimate)


def tiled(rows: int, columns: int) -> Point:
    return ("schedule", "tiled"), ("rows", rows), ("columns", columns)


def classic(warps: int) -> Point:
    return ("schedule", "classic"), ("warps", warps)


SOME = [
    measured((), 3.0),
    measured(tiled(4, 8), 2.0, 4.0, 6.0, estimate=1.5),
    Outcome(tiled(1, 16), Status.WRONG, "A[0] differs", seconds={"compile": 0.5}),
    measured(tiled(2, 8), 1.0),
    measured(classic(4), 5.0),
    measured(classic(2), 6.0),
]


def write(path: Path, outcomes: Sequence[Outcome], source: str = "5e") -> Path:
    with path.open("ab") as file:
        file.writelines(to_line(Entry(source, one)) for one in outcomes)
    return path


def test_outcomes_are_those_of_the_record() -> None:
    replay = Replay(SOME, width=2)
    for point in (tiled(1, 16), tiled(3, 3), (("columns", 8), ("rows", 4), ("schedule", "tiled"))):
        replay.start(point, inf)
    assert replay.finished() == SOME[2]
    assert replay.finished() == Outcome(tiled(3, 3), Status.REFUSED, "not in the record")
    assert replay.finished().milliseconds == (2.0, 4.0, 6.0)
    assert replay.again([tiled(1, 16), tiled(2, 8)]) == {tiled(2, 8): (1.0,)}


def test_the_space_of_a_record_has_its_points_and_no_others() -> None:
    space = recorded_space(SOME)
    assert space.points == (tiled(1, 16), tiled(2, 8), tiled(4, 8), classic(2), classic(4))
    outcomes = synthetic_record(synthetic_space())
    random.Random(1).shuffle(outcomes)
    assert set(recorded_space(outcomes[:500]).points) == {one.point for one in outcomes[:500]}
    assert recorded_estimates(SOME)([tiled(4, 8), tiled(9, 9)]) == [1.5, None]


def test_names_of_several_strategies() -> None:
    names = FlatNames(recorded_space(SOME))
    assert [p.name for p in names.parameters] == ["schedule", "tiled_rows", "tiled_columns", "classic_warps"]
    flat = names.flat(classic(4))
    assert flat == {"schedule": "classic", "tiled_rows": 1, "tiled_columns": 8, "classic_warps": 4}
    only = FlatNames(recorded_space(SOME[:4]))
    assert only.flat(tiled(2, 8)) == {"rows": 2, "columns": 8}


def test_the_cache_file_of_kernel_tuner(tmp_path: Path) -> None:
    outcomes = SOME[:4]
    path = tmp_path / "cache.json"
    write_kernel_tuner_cache(path, kernel_tuner_cache(recorded_space(outcomes), outcomes, "H200", (512, 512)))
    content = json.loads(path.read_text())
    assert content["device_name"] == "H200" and content["problem_size"] == [512, 512]
    assert content["tune_params_keys"] == ["rows", "columns"]
    assert content["tune_params"] == {"rows": [1, 2, 4], "columns": [8, 16]}
    assert list(content["cache"]) == ["1,16", "2,8", "4,8"]
    entry = content["cache"]["4,8"]
    assert (entry["rows"], entry["columns"], entry["time"], entry["times"]) == (4, 8, 4.0, [2.0, 4.0, 6.0])
    wrong = content["cache"]["1,16"]
    assert wrong["time"] == wrong["__error__"] == "RuntimeFailedConfig" and wrong["compile_time"] == 500.0


def test_kernel_tuner_searches_a_record() -> None:
    pytest.importorskip("kernel_tuner")
    outcomes = synthetic_record(synthetic_space())
    first, again, other = (simulated_times(outcomes, "random_sample", seeds, 99) for seeds in (1, 1, 2))
    assert first == again == other[:1] != other[1:]
    times = {one.median for one in outcomes}
    assert len(first[0]) == 99 and set(first[0]) <= times
    with pytest.raises(RunnerError, match="Kernel Tuner's guesses: "):
        simulated_times(outcomes, "guesses", 1, 99)


@pytest.mark.slow
def test_searches_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = synthetic_space()
    times = estimates(3)(space.points)
    outcomes = [measured(o.point, o.median, estimate=t) for o, t in zip(synthetic_record(space), times, strict=True)]
    path, rows = write(tmp_path / "r.jsonl", outcomes), tmp_path / "rows.jsonl"
    write(path, SOME, "ab")
    arguments = ["--search", "random,model", "--seeds", "3", "--json", str(rows), "--cache", str(tmp_path / "c.json")]
    assert main(["replay", str(path), *arguments]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{path}: 1148 points, 1148 of them with a time; 3 seeds"
    assert [line.split(" | ")[0] for line in said[1:]] == ["| search", "| ---", "| random", "| model"]
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["search"] for row in found] == ["random", "model"]
    assert all(len(counts) == 3 and min(counts) > 0 for row in found for counts in row["evaluations"].values())
    assert len(json.loads((tmp_path / "c.json").read_text())["cache"]) == 1148


def test_a_source_of_a_record_is_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", SOME, "ab")
    write(path, SOME[3:], "cd")
    assert len(recorded(path)) == 6 and len(recorded(path, "cd")) == 3
    with pytest.raises(RunnerError, match="has no evaluation of ef"):
        recorded(path, "ef")


def test_evaluations_are_counted_until_one_is_nearly_the_best() -> None:
    outcomes = [measured(classic(n), time) for n, time in enumerate((2.0, 1.04, 1.0, 7.0))]
    found = needed("exhaustive", outcomes, 2)
    assert found.evaluations == {5: [2, 2], 1: [3, 3]}
    assert found.cells() == ("exhaustive", "2 (50.0%)", "2 to 2", "3 (75.0%)", "3 to 3")


def test_files_that_cannot_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "none.jsonl")]) == 2
    assert "cannot read the record" in capsys.readouterr().err
    path = write(tmp_path / "r.jsonl", [SOME[0], SOME[2]])
    assert main(["replay", str(path)]) == 2
    assert "has no time of a point" in capsys.readouterr().err


def test_files_that_cannot_be_written_are_told_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "r.jsonl", SOME)
    before = path.read_bytes()
    for option in ("--json", "--cache", "--t4"):
        for file, said in ((path, "would overwrite the input"), (path / "x", "is not a folder")):
            assert main(["replay", str(path), "--search", "random", "--seeds", "1", option, str(file)]) == 2
            out, err = capsys.readouterr()
            assert said in err and not out
    assert path.read_bytes() == before
