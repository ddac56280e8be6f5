"""Estimates beside measured rows: they are near those of November 2026 on an H100 and an H200."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from polybench.runner.cli import main
from polybench.runner.errors import RunnerError
from polybench.runner.estimates import Compared, compared, estimates, summary
from polybench.runner.tables import ROOT, load

NAMES = ("tiles-h200-2026-11-30", "stencils-8-h100-2026-11-27", "stencils-2-h100-2026-11-25")
RESULTS = [ROOT / "results" / f"{name}.jsonl" for name in NAMES]
NEAR = [
    ("tensor/ttm", "superposed"),
    ("tensor/ttm", "tiled"),
    ("tensor/conv3d", "tiled"),
    ("tensor/conv2d-strided", "tiled"),
    ("tensor/depthwise-conv", "tiled"),
    ("split/jacobi-1d-7pt", "split"),
    ("split/jacobi-1d-7pt", "classic"),
    ("an5d/star3d4r", "overlapped"),
    ("an5d/star3d1r", "auto"),
    ("an5d/star3d2r", "auto"),
]


def measured(program: str, schedule: str) -> Mapping[str, Any]:
    """The latest row in double precision."""
    rows = (json.loads(line) for file in RESULTS for line in file.read_text().splitlines())
    settings = {"schedule": schedule}, {"schedule": schedule, "specialize": True}
    alike = (r for r in rows if r["program"] == program and r["settings"] in settings)
    return next(r for r in alike if r["dtype"] == "double")


@pytest.mark.slow(but="ttm-tiled")
@pytest.mark.parametrize(("program", "schedule"), NEAR, ids=lambda text: text.rpartition("/")[2])
def test_estimates_are_near_what_was_measured(program: str, schedule: str) -> None:
    row = measured(program, schedule)
    found = compared({**row, "dtype": "double"}, load()[program])
    assert found is not None and not found.now
    assert 1 / 1.4 < found.ratio < 1.4


def row(ms: float, **more: object) -> dict[str, Any]:
    found = {"program": "tensor/ttm", "dtype": "double", "dataset": "mini", "settings": {"schedule": "classic"}}
    return {**found, "median_ms": ms, "strategy": "classic", **more}


def test_a_table_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [row(5.0), row(1.0), row(1.0, dtype="float"), {"program": "tensor/ttm"}]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert main(["estimates", str(path), "--only", "tensor/ttm"]) == 0
    text = capsys.readouterr().out
    assert text.count("| tensor/ttm |") == 2 and "schedule=classic | 1 |" in text
    assert text.splitlines()[-1].startswith("2 rows: ")


def test_how_far_off_they_are() -> None:
    near, far = Compared(row(1.0), 2.0), Compared(row(1.0), 0.25)
    assert summary([near, far]) == (
        "2 rows: 0.71 of what was measured, within a factor of 2.99 (root mean square), 1 within 2"
    )
    assert summary([Compared(row(1.0), 2.0, "tiled")]) == "no row has the schedule that is chosen now"
    assert near.cells()[2:] == ("schedule=classic", "1", "2", "2.00", "classic")
    assert Compared(row(1.0), 2.0, "tiled").cells()[-1] == "now tiled"


def test_files_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n")
    with pytest.raises(RunnerError, match="no measured row"):
        estimates([path], load(), ["tensor/ttm"])
