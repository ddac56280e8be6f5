"""Result files of searches: what the winner is, and what is kept of an earlier file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polytile
from polytile.autotuning.conditions import Conditions
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.tuned import result_file, tuned_entry
from polytile.autotuning.tuner import Progress, Tuned
from polytile.autotuning.workload import Workload
from polytile.choices import Choices
from polytile.tuned_file import TunedScop, read_tuned_file

SCALE = """void scale(int n, double A[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = 2 * A[i][j];
#pragma endscop
}
"""
HERE = Conditions({"n": 512}, "NVIDIA H200", "580", "NVRTC 13.0")


def found() -> Tuned:
    default = Outcome((), Status.MEASURED, "", (2.0,), "d")
    winner = Outcome((("schedule", "classic"), ("rows", 2)), Status.MEASURED, "", (1.0,), "w")
    runs = {default.point: (2.2, 2.1, 2.3), winner.point: (1.1, 1.3, 1.2)}
    return Tuned(winner, default, (default, winner), runs, Progress(told=1))


def test_the_winner_is_compiled_by_what_it_was_measured_with(tmp_path: Path) -> None:
    workload = Workload("scale.c", "scale_scop0", {"n": 512}, SCALE)
    asked = Choices(schedule="classic", tile=(4, 32), registers=40)
    entry = tuned_entry(workload, asked, found(), tmp_path / "scale.c.tune.jsonl")
    assert (entry.milliseconds, entry.default_milliseconds, entry.evaluations) == (1.2, 2.2, 1)
    assert entry.record == "scale.c.tune.jsonl" and entry.date and entry.point == {"schedule": "classic", "rows": 2}
    path = tmp_path / "scale.tuned.json"
    path.write_text(result_file(path, [entry], HERE, "sm_90").to_text())
    assert read_tuned_file(path).scops == (entry,)
    again = polytile.compile(SCALE, name="scale.c", tuned=path, parameters={"n": 512})
    assert "tuned, 1.2 ms beside 2.2" in again.scops[0].remarks[0].message
    assert "__maxnreg__(40)" in again.cuda


def test_a_winner_without_a_time_has_none_in_the_file(tmp_path: Path) -> None:
    none = Outcome((), Status.REFUSED)
    workload = Workload("scale.c", "scale_scop0", {"n": 512}, SCALE)
    entry = tuned_entry(workload, Choices(), Tuned(none, none, ()), tmp_path)
    assert entry.milliseconds is None is entry.default_milliseconds


def test_other_scops_of_the_file_are_kept_on_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "f"
    first, second, newer = (TunedScop(name, "0", {}, f"{k}\n") for k, name in enumerate(("a", "b", "a")))
    for entries, conditions, expected in (
        ([first, second], HERE, [first, second]),
        ([newer], HERE, [second, newer]),
        ([first], replace(HERE, driver="581"), [first]),
    ):
        file = result_file(path, entries, conditions, "sm_90")
        assert list(file.scops) == expected
        path.write_text(file.to_text())
