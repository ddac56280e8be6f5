"""The committed figures: no change of the compiler makes one worse unseen."""

from __future__ import annotations

import pytest

from polybench.runner import cli
from polybench.runner.rows import read
from polybench.runner.tables import ROOT

BASELINES = ROOT / "baselines"


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["classic", "superposed"])
def test_no_figure_is_worse_than_the_baseline(schedule: str, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = BASELINES / f"metrics-{schedule}.jsonl"
    rows = read(baseline)
    programs = dict.fromkeys(r["program"] for r in rows)
    (dataset,) = {r["dataset"] for r in rows}
    what = ["--dataset", dataset, "--dtype", "double", "--jobs", "2", "--schedule", schedule]
    status = cli.main(["run", *programs, *what, "--on", "cpu", "--metrics", "--compare", str(baseline)])
    assert status == 0, capsys.readouterr().out
