"""`limits`: what limits the longest kernel of a program, as Nsight Compute counts it on this machine's GPU.

Each job of a file (see `sweep`) runs once under `ncu`; of its first kernels the longest counts. A unit that is busy for
at least BUSY percent of the time limits it, the busiest one first; otherwise latency does, and the reason for which
warps wait most is named beside it.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from polybench.runner.errors import EXIT_FAILED, EXIT_MACHINE, RunnerError
from polybench.runner.markdown import show, table_line
from polybench.runner.pool import of_children
from polybench.runner.rows import Row, append
from polybench.runner.run import check_machine
from polybench.runner.sweep import job_of, read_jobs
from polybench.runner.tables import Entry

BUSY = 60.0
DURATION, KERNEL = "gpu__time_duration.sum", "Kernel Name"
_PEAK = ".avg.pct_of_peak_sustained_elapsed"
UNITS = {
    "DRAM": (f"dram__cycles_active{_PEAK}",),
    "L2": (f"lts__t_sectors{_PEAK}", f"lts__xbar2lts_cycles_active{_PEAK}", f"lts__lts2xbar_cycles_active{_PEAK}"),
    "L1 and shared": (f"l1tex__data_pipe_lsu_wavefronts{_PEAK}", f"l1tex__lsu_writeback_active{_PEAK}"),
    "FP64": (f"sm__pipe_fp64_cycles_active{_PEAK}",),
    "FMA": (f"sm__pipe_fma_cycles_active{_PEAK}", f"sm__pipe_fmaheavy_cycles_active{_PEAK}"),
    "ALU": (f"sm__pipe_alu_cycles_active{_PEAK}",),
    "special functions": (f"sm__inst_executed_pipe_xu{_PEAK}",),
    "issue": (f"sm__issue_active{_PEAK}",),
}
WARPS = "sm__warps_active.avg.per_cycle_active"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = {
    "barriers": "barrier",
    "global or local memory": "long_scoreboard",
    "shared memory or shuffles": "short_scoreboard",
    "results of arithmetic": "wait",
    "a busy pipe": "math_pipe_throttle",
    "the queue of memory instructions": "lg_throttle",
    "the queue of shared memory": "mio_throttle",
    "instructions": "no_instruction",
    "dispatch": "dispatch_stall",
    "branches": "branch_resolving",
}
COLUMNS = ("program", "type", "kernel, us", *UNITS, "warps", "limited by")


def limits(chosen: argparse.Namespace, entries: Mapping[str, Entry]) -> int:
    """Profile all jobs and print a table; rows are appended to `--json`. The exit status is 1 when one failed."""
    wanted = read_jobs(chosen.file, entries)
    profiler = shutil.which("ncu")
    if profiler is None:
        raise RunnerError("Nsight Compute (ncu) was not found", status=EXIT_MACHINE)
    check_machine("gpu", metrics=False)
    with tempfile.TemporaryDirectory(prefix="polybench-") as folder:
        lock = Path(folder) / "gpu"
        work = [job_of(one, entries[one["program"]], chosen, lock) for one in wanted]
        with ThreadPoolExecutor(chosen.jobs) as threads:
            found = list(threads.map(lambda one: _profiled(profiler, one[0], one[1], chosen.timeout), work))
    if chosen.json is not None:
        append(chosen.json, found)
    show(table(found), chosen.markdown)
    failed = [row for row in found if "error" in row]
    for row in failed:
        print(f"{row['program']} {row['dtype']}: {row['error']}", file=sys.stderr)
    return EXIT_FAILED if failed else 0


METRICS = (DURATION, WARPS, *(name for names in UNITS.values() for name in names), *map(_STALL.format, STALLS.values()))


def _profiled(profiler: str, head: Row, job: Row, timeout: float) -> Row:
    page = ("--csv", "--page", "raw", "--metrics", ",".join(METRICS))
    kernels = ("--clock-control", "none", "-k", "regex:_scop", "-c", "3", "--kill", "yes")
    command = [profiler, *page, *kernels, sys.executable, "-m", "polybench.runner.profiled"]
    try:
        done = subprocess.run(
            [*command, json.dumps(job)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=of_children(),
        )
    except subprocess.TimeoutExpired:
        return {**head, "error": f"timeout: did not end within {timeout:g} s"}
    try:
        return {**head, **longest(read_raw_page(done.stdout))}
    except RunnerError as error:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return {**head, "error": ": ".join([str(error), *said])}


def read_raw_page(text: str) -> list[dict[str, str]]:
    """Read the launches of `ncu --csv --page raw`: metric -> value, without the row of units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    found = [row for row in rows if row.get("ID", "").isdigit()]
    if not found:
        raise RunnerError("no kernel was profiled")
    return found


def longest(launches: Sequence[Mapping[str, str]]) -> Row:
    """Return percent of the time that each unit is busy in the longest launch, its warps, and what limits it."""
    one = max(launches, key=lambda launch: _number(launch, DURATION))
    busy = {unit: max(_number(one, name) for name in names) for unit, names in UNITS.items()}
    stalls = {reason: _number(one, _STALL.format(name)) for reason, name in STALLS.items()}
    unit, reason = max(busy, key=lambda name: busy[name]), max(stalls, key=lambda name: stalls[name])
    return {
        "kernel": one[KERNEL],
        "kernel_us": _number(one, DURATION) / 1000,
        "busy": busy,
        "warps": _number(one, WARPS),
        "stalls": stalls,
        "limit": unit if busy[unit] >= BUSY else f"latency: {reason}",
    }


def _number(launch: Mapping[str, str], name: str) -> float:
    try:
        return float(launch[name].replace(",", ""))
    except (KeyError, ValueError):
        return 0.0


def table(found: Sequence[Row]) -> str:
    """Print Markdown, a line for each profiled program."""
    lines = [COLUMNS, ("---",) * 2 + ("---:",) * (len(COLUMNS) - 3) + ("---",)]
    for row in (row for row in found if "error" not in row):
        busy = (f"{row['busy'][unit]:.0f}" for unit in UNITS)
        cells = (row["program"], row["dtype"], f"{row['kernel_us']:.0f}", *busy, f"{row['warps']:.0f}", row["limit"])
        lines.append(cells)
    return "\n".join(map(table_line, lines))
