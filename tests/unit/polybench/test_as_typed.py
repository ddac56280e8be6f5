"""Stencils without sizes: what is timed, and what tables and exit status say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polybench.as_typed import LARGE, OF_ALL_SIZES, job, jobs, main
from polybench.runner import rows
from polybench.runner.sweep import read_jobs
from polybench.runner.tables import load

ENTRIES = load()


def row(program: str, dtype: str, cells: int, label: str, ms: float) -> rows.Row:
    """A row as a sweep writes it."""
    asked = job(ENTRIES[program], dtype, cells, label)
    head = rows.head(program, dtype, asked["settings"].get("schedule", "auto"), "extralarge", "gpu")
    return {**head, **asked, "parameters": asked["sizes"], "median_ms": ms}


def printed(found: list[rows.Row], folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    file = folder / "typed.jsonl"
    rows.append(file, found)
    return main([str(file)]), capsys.readouterr().out


def test_jobs_are_what_a_sweep_takes(tmp_path: Path) -> None:
    assert main(["--write", str(tmp_path / "typed.jobs")]) == 0
    found = read_jobs(tmp_path / "typed.jobs", ENTRIES)
    assert found == [{"dataset": "extralarge", "defines": [], **one} for one in jobs(ENTRIES)]
    assert len({json.dumps(one, sort_keys=True) for one in found}) == len(found)
    assert {one["program"] for one in found} == {*LARGE, *OF_ALL_SIZES}


@pytest.mark.parametrize(("typed", "status"), [(23.0, 0), (27.0, 1)])
def test_known_sizes_are_the_measure(
    typed: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [row("an5d/star2d1r", "float", 16386, label, ms) for label, ms in (("typed", typed), ("known", 21.0))]
    found.append({**found[0], "sizes": {**found[0]["sizes"], "tsteps": 127}, "median_ms": 99.0})
    found = [{**one, "median_ms": one["median_ms"] / 2} for one in found]
    assert printed(found, tmp_path, capsys)[0] == status


def test_the_best_single_schedule_is_the_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = {"typed": 1.0, "classic": 0.8, "split": 3.0, "overlapped": 2.0}
    found = [row("polybench/jacobi-2d", "double", 512, label, ms) for label, ms in times.items()]
    status, text = printed(found, tmp_path, capsys)
    assert status == 1 and "| polybench/jacobi-2d | double | 512 | 1 | 0.8 | 3 | 2 | 0.8 |" in text


def test_generators_are_those_of_the_same_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [row(program, "double", 514, "typed", 40.0) for program in ("cluster/stencil-7pt", "an5d/star3d1r")]
    status, text = printed(found, tmp_path, capsys)
    ours, star = (line.split(" | ") for line in text.splitlines()[2:4])
    assert status == 0 and ours[5:] == star[5:] and float(star[5]) > 40


def test_a_row_that_failed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = row("an5d/box2d1r", "double", 16386, "typed", 1.0)
    del wrong["median_ms"]
    status, text = printed([{**wrong, "error": "no memory"}], tmp_path, capsys)
    assert status == 1 and "- failed: an5d/box2d1r double typed: no memory" in text


def test_nothing_to_do_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "name files of rows, or --write JOBS" in capsys.readouterr().err
    assert main(["missing.jsonl"]) != 0
