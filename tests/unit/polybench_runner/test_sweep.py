"""`sweep`: jobs as a file gives them, and what is wrong with one; the GPU's part is in tests/gpu."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polybench.runner.cli import main
from polybench.runner.errors import RunnerError
from polybench.runner.resident import checked
from polybench.runner.show import line
from polybench.runner.sweep import job_of, read_jobs
from polybench.runner.tables import load
from polytile.runtime.cupy_engine import cupy_available

JOB = '{"program": "tiny/scale", "settings": {"schedule": "tiled", "tile": [8, 16]}}'


def jobs(folder: Path, text: str) -> Path:
    path = folder / "jobs.jsonl"
    path.write_text(text)
    return path


def test_what_a_job_leaves_out(family: Path, tmp_path: Path) -> None:
    (one,) = read_jobs(jobs(tmp_path, f"{JOB}\n\n"), load(family))
    assert (one["dtype"], one["dataset"], one["known"], one["label"]) == ("double", "extralarge", True, "")


def test_a_job_of_the_child(family: Path, tmp_path: Path) -> None:
    entries = load(family)
    (one,) = read_jobs(jobs(tmp_path, JOB), entries)
    chosen = argparse.Namespace(root=family, runs=5)
    head, job = job_of({**one, "sizes": {"n": 7}}, entries["tiny/scale"], chosen, tmp_path / "lock")
    assert head["program"] == "tiny/scale" and head["settings"]["tile"] == [8, 16] and "defines" not in head
    head, with_macro = job_of({**one, "defines": ["TWICE"]}, entries["tiny/scale"], chosen, tmp_path / "lock")
    assert head["defines"] == ["TWICE"] and with_macro["defines"] == [*job["defines"], "TWICE"]
    assert job["settings"] == {"tile": [8, 16], "parameters": {"n": 7}} and job["schedule"] == "tiled"
    assert "parameters" not in job_of({**one, "known": False}, entries["tiny/scale"], chosen, tmp_path)[1]["settings"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "jobs.jsonl:1: broken JSON"),
        ("[]", "jobs.jsonl:1: a job is an object with a 'program'"),
        (f"{JOB}\n" + '{"program": "tiny/none"}', "jobs.jsonl:2: there is no program 'tiny/none'"),
        ('{"program": "tiny/scale", "tile": 8}', "jobs.jsonl:1: unknown field 'tile': one of program"),
        ('{"program": "tiny/scale", "dtype": "half"}', "dtype 'half': one of int, float, double"),
        ('{"program": "tiny/scale", "dataset": "huge"}', "dataset 'huge': one of mini"),
        ("\n", "there is no job"),
    ],
)
def test_refused_jobs(text: str, said: str, family: Path, tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match=said.replace("[", r"\[")):
        read_jobs(jobs(tmp_path, text), load(family))


@pytest.mark.skipif(cupy_available(), reason="there is a GPU")
def test_without_a_gpu(family: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text('{"program": "polybench/gemm"}')
    assert main(["sweep", str(path)]) == 4
    assert "polybench: error: " in capsys.readouterr().err


def test_what_differs_by_more_than_rounding_is_a_failure() -> None:
    shapes: Any = {"a": SimpleNamespace(dtype=np.dtype(float)), "k": SimpleNamespace(dtype=np.dtype(int))}
    runs: Any = SimpleNamespace(inputs=SimpleNamespace(layouts=shapes))
    assert checked("f_scop0", runs, "a", 5e-16) == 5e-16 and checked("f_scop0", runs, "k", 0.0) == 0.0
    with pytest.raises(RunnerError, match=r"f_scop0: a differs from the classic schedule's by 0\.25"):
        checked("f_scop0", runs, "a", 0.25)
    with pytest.raises(RunnerError, match="a is not finite"):
        checked("f_scop0", runs, "a", math.nan)
    with pytest.raises(RunnerError, match="k differs"):
        checked("f_scop0", runs, "k", math.inf)


def test_a_row_is_shown_with_the_resources_of_its_largest_kernel() -> None:
    about = {"program": "tiny/scale", "dtype": "double", "schedule": "auto", "dataset": "large"}
    row = {**about, "median_ms": 2.0, "runs": 5, "spread": 0.01, "registers": [32, 40], "local_bytes": [0, 16]}
    assert line(row).endswith("2 ms (median of 5, spread 1%), 40 registers, 16 bytes of local memory")
