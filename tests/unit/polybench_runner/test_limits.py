"""`limits`: what Nsight Compute's raw page says of the longest kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from polybench.runner.cli import main
from polybench.runner.errors import RunnerError
from polybench.runner.limits import DURATION, STALLS, UNITS, WARPS, longest, read_raw_page, table

WAIT = "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
BARRIER = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"


def page(**busy: str) -> str:
    """Two launches, of which the second is longer, with these percents of units in it."""
    names = [DURATION, WARPS, WAIT, BARRIER, *(UNITS[unit][0] for unit in busy)]
    header = ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *names))
    units = ",".join('""' for _ in range(len(names) + 2))
    short = ",".join(f'"{value}"' for value in ("0", "k0", "1,000", "8", "9", "0", *("99" for _ in busy)))
    long = ",".join(f'"{value}"' for value in ("1", "k1", "2,000,000", "15.7", "1.5", "0.5", *busy.values()))
    return "\n".join(["==PROF== Connected to process 1", header, units, short, long, "==PROF== Disconnected"])


def test_the_busiest_unit_of_the_longest_kernel() -> None:
    row = longest(read_raw_page(page(DRAM="71.2", FP64="65")))
    assert (row["kernel"], row["kernel_us"], row["warps"], row["limit"]) == ("k1", 2000.0, 15.7, "DRAM")
    assert row["busy"] == {**dict.fromkeys(UNITS, 0.0), "DRAM": 71.2, "FP64": 65.0}


def test_latency_where_no_unit_is_busy() -> None:
    row = longest(read_raw_page(page(DRAM="41", FP64="no data")))
    assert row["limit"] == "latency: results of arithmetic" and row["stalls"].keys() == STALLS.keys()


def test_pages_without_kernels() -> None:
    with pytest.raises(RunnerError, match="no kernel was profiled"):
        read_raw_page("==ERROR== The application returned an error code (1).")


def test_the_table_leaves_out_what_failed() -> None:
    about = {"program": "an5d/star2d1r", "dtype": "float"}
    row = {**about, **longest(read_raw_page(page(FMA="80")))}
    (head, rule, line) = table([row, {**about, "error": "timeout"}]).splitlines()
    assert line == "| an5d/star2d1r | float | 2000 | 0 | 0 | 0 | 0 | 80 | 0 | 0 | 0 | 16 | FMA |"
    assert head.count("|") == rule.count("|") == line.count("|")


@pytest.mark.skipif(shutil.which("ncu") is not None, reason="there is an ncu")
def test_without_the_profiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text('{"program": "polybench/gemm"}')
    assert main(["limits", str(path)]) == 4
    assert capsys.readouterr().err == "polybench: error: Nsight Compute (ncu) was not found\n"
