"""`polybench.tuned_programs` without a GPU: commands, what is left to do, jobs of the sweep and the table."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polybench import tuned_programs
from polybench.runner.errors import RunnerError
from polybench.runner.rows import Row, head
from polybench.runner.sweep import read_jobs
from polybench.runner.tables import load
from polybench.tuned_programs import PROGRAMS, Task, measured, not_measured, sweep_jobs, table, tasks_of, unfinished
from polytile.runtime.cupy_engine import cupy_available
from polytile.tuned_file import TunedFile, TunedMachine, TunedScop

GEMM = "polybench/gemm"


def tuned(task: Task, *, evaluations: int = 40, default: bool = False, schedule: str = "domain: x\n") -> None:
    """Write what the tuner would have found: a winner of half the default's time, or that the default stays."""
    point = {} if default else {"tile": [8]}
    times: dict[str, Any] = {"milliseconds": 0.5 if point else 1.0, "default_milliseconds": 1.0}
    scop = TunedScop("s", "00", {"n": 1}, schedule, point=point, evaluations=evaluations, **times)
    task.file(".tuned.json").write_text(TunedFile(TunedMachine("sm_90"), (scop,)).to_text())


def row(job: Row, ms: float, spread: float = 0.01, **more: Any) -> Row:
    first = head(job["program"], job["dtype"], "auto", job["dataset"], "gpu")
    return {**first, **job, "median_ms": ms, "spread": spread, **more}


def write(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))


def test_it_is_imported_without_cupy() -> None:
    code = "import sys, polybench.tuned_programs; sys.exit(any(n in sys.modules for n in ('cupy', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_arguments() -> None:
    chosen = tuned_programs.parse(["-o", "d"])
    assert (chosen.dataset, chosen.evaluations, chosen.at_once, chosen.jobs) == ("large", 40, 5, 4)
    assert (chosen.seconds, chosen.sweep_jobs, chosen.runs, chosen.programs) == (330, 2, 15, [])
    chosen = tuned_programs.parse(shlex.split("--dataset mini --at-once 2 --seconds 9 -o d gemm 2mm"))
    assert (chosen.dataset, chosen.at_once, chosen.seconds, chosen.programs) == ("mini", 2, 9, ["gemm", "2mm"])
    with pytest.raises(SystemExit, match="2"):
        tuned_programs.parse(["gemm"])


def test_twenty_programs_in_two_types(tmp_path: Path) -> None:
    tasks = tasks_of([], "large", tmp_path)
    assert [task.entry.id for task in tasks] == [*PROGRAMS, *PROGRAMS] and len(PROGRAMS) == 20
    assert [task.dtype for task in tasks] == ["double"] * 20 + ["float"] * 20
    assert len({task.file(".log") for task in tasks}) == 40


def test_a_command_has_the_type_and_the_sizes_of_the_data_set(tmp_path: Path) -> None:
    (_, task) = tasks_of([GEMM], "large", tmp_path)
    command = task.command(40, 4, 99.5)
    words = " ".join(command)
    assert command[:4] == [sys.executable, "-m", "polytile", "tune"]
    assert command[4].endswith("polybench/polybench/gemm.c")
    assert "-D DATA_TYPE=float --param ni=1000 --param nj=1100 --param nk=1200 --search gaussian" in words
    assert "--evaluations 40 --seconds 99 --jobs 4 -q" in words
    assert words.endswith(f"--record {tmp_path}/polybench-gemm-float.tune.jsonl --output {task.file('.tuned.json')}")


@pytest.mark.parametrize(
    ("program", "said"), [("gem", "no program matches 'gem'"), ("sp-xsolve-1", "needs data of its own")]
)
def test_refused_programs(program: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match=said):
        tasks_of([program], "large", tmp_path)


def test_finished_tasks_are_not_tuned_again(tmp_path: Path) -> None:
    tasks = tasks_of([GEMM, "polybench/2mm"], "large", tmp_path)
    assert unfinished(tasks, 40) == tasks
    tuned(tasks[0])
    tuned(tasks[1], evaluations=39)
    tasks[2].file(".tuned.json").write_text('{"polytile_tuned": 1, "mach')  # half of a file
    assert unfinished(tasks, 40) == tasks[1:]
    assert unfinished(tasks, 39) == tasks[2:]


def test_several_are_tuned_at_a_time_until_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tuned_programs, "TO_START", 0.0)
    tasks = tasks_of([GEMM, "polybench/2mm"], "large", tmp_path)
    sleeps = "import time; print('begun', flush=True); time.sleep(600)"
    codes = ["pass", "import sys; sys.exit('no memory')", sleeps, sleeps]

    def command(task: Task, *_: object) -> list[str]:
        return [sys.executable, "-c", codes[tasks.index(task)]]

    def monotonic() -> float:
        """Return a time that is over when both that sleep have begun, each in the place of one that has ended."""
        logs = (task.file(".log") for task in tasks[2:])
        return 100.0 if all(log.exists() and "begun" in log.read_text() for log in logs) else 0.0

    monkeypatch.setattr(Task, "command", command)
    monkeypatch.setattr(tuned_programs, "time", SimpleNamespace(monotonic=monotonic, sleep=time.sleep))
    tuned(tasks[0])
    chosen = tuned_programs.parse(["-o", str(tmp_path), "--at-once", "2", "--seconds", "5"])
    assert tuned_programs.tune_all(tasks, chosen) == [tasks[1]]
    said = capsys.readouterr().out.splitlines()
    assert sorted(said) == [
        f"{tasks[1].name}: exit status 1: no memory",
        f"{tasks[0].name}: 1.0 ms by default, 0.5 ms after 40 evaluations",
    ]
    assert "KeyboardInterrupt" in tasks[2].file(".log").read_text()  # interrupted, so that it can write what it has


def test_jobs_of_the_sweep_are_winners_and_their_defaults(tmp_path: Path) -> None:
    tasks = tasks_of([GEMM, "polybench/2mm"], "large", tmp_path)
    tuned(tasks[0])
    tuned(tasks[1], default=True)  # the default stays
    jobs = list(sweep_jobs(tasks))
    assert [(job["program"], job["dtype"], job["label"]) for job in jobs] == [
        (tasks[0].entry.id, "double", "default"),
        (tasks[0].entry.id, "double", "winner"),
    ]
    assert jobs[1]["settings"] == {"load_schedule": "domain: x\n"} and jobs[0]["dataset"] == "large"
    write(tmp_path / "jobs.jsonl", jobs)
    assert [one["label"] for one in read_jobs(tmp_path / "jobs.jsonl", load())] == ["default", "winner"]
    words = " ".join(tuned_programs.sweep_command(tmp_path, 2, 15))
    assert words.endswith(f"-m polybench sweep {tmp_path}/jobs.jsonl --json {tmp_path}/rows.jsonl --jobs 2 --runs 15")


def test_rows_that_are_known_are_not_measured_again(tmp_path: Path) -> None:
    (task, other) = tasks_of([GEMM], "large", tmp_path)
    tuned(task)
    tuned(other)
    jobs = list(sweep_jobs([task, other]))
    assert not_measured(jobs, measured(tmp_path / "rows.jsonl")) == jobs
    write(tmp_path / "rows.jsonl", [row(jobs[0], 2.0), row(jobs[1], 1.0), row(jobs[2], 3.0)])
    assert not_measured(jobs, measured(tmp_path / "rows.jsonl")) == jobs[2:]
    tuned(task, schedule="domain: y\n")  # another winner
    again = list(sweep_jobs([task, other]))
    assert not_measured(again, measured(tmp_path / "rows.jsonl")) == again


def test_the_table(tmp_path: Path) -> None:
    tasks = tasks_of([GEMM, "polybench/2mm", "polybench/syrk"], "large", tmp_path)
    gemm, double_2mm = (next(t for t in tasks if t.name == f"polybench/{n} double") for n in ("gemm", "2mm"))
    syrk, floating = (next(t for t in tasks if t.name == n) for n in ("polybench/syrk double", "polybench/syrk float"))
    for task in (gemm, syrk, floating):
        tuned(task)
    tuned(double_2mm, default=True)
    jobs = list(sweep_jobs([gemm, syrk, floating]))
    found = [row(jobs[0], 9.0), row(jobs[0], 2.0), row(jobs[1], 0.5, 0.13), row(jobs[2], 2.0), row(jobs[3], 1.0)]
    write(tmp_path / "rows.jsonl", [*found, row(jobs[4], 1.0), row(jobs[5], 1.0, error="A differs")])
    lines = table(tasks, measured(tmp_path / "rows.jsonl")).splitlines()
    assert lines[0] == "| program | type | default ms | winner ms | spreads | default / winner |"
    assert set(lines[2:5]) == {
        "| polybench/gemm | double | 2 | 0.5 | 1% and 13% | 4.00 |",
        "| polybench/2mm | double | 1 | the default |  | 1.00 |",
        "| polybench/syrk | double | 2 | 1 | 1% and 1% | 2.00 |",
    }
    assert lines[6] == (
        "- double: 2.000 (geometric mean of 3, the default stays in 1), least 1.00 (polybench/2mm double)"
    )
    assert lines[7].startswith("- both types: 2.000")
    assert set(lines[8:]) == {
        "- polybench/gemm float: not tuned",
        "- polybench/2mm float: not tuned",
        "- polybench/syrk float: A differs",
    }


def test_what_is_all_known_needs_no_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "found"
    folder.mkdir()
    tasks = tasks_of([GEMM], "large", folder)
    for task in tasks:
        tuned(task)
    times = zip(sweep_jobs(tasks), (2.0, 1.0, 3.0, 1.0), strict=True)
    write(folder / "rows.jsonl", [row(job, ms) for job, ms in times])
    assert tuned_programs.main(["-o", str(folder), GEMM]) == 0
    said = capsys.readouterr().out
    assert "- both types: 2.449 (geometric mean of 2" in said and (folder / "table.md").read_text() in said
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / tuned_programs.ARCHIVE).rename(elsewhere / tuned_programs.ARCHIVE)
    assert tuned_programs.main(["-o", str(elsewhere), GEMM]) == 0  # unpacked
    names = {path.name for path in elsewhere.iterdir()}
    assert names == {path.name for path in folder.iterdir()} | {tuned_programs.ARCHIVE}
    write(folder / "rows.jsonl", [row(job, 1.0, error="it differs") for job in sweep_jobs(tasks)])
    if not cupy_available():
        assert tuned_programs.main(["-o", str(folder), GEMM]) == 4  # failed rows are measured again
