"""The time of the sequential C: the program itself, compiled by the host compiler with its own instruments."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from polybench.runner.errors import RunnerError
from polybench.runner.rows import Row
from polytile.runtime.compilers import c_compiler, check_command
from polytile.runtime.emulator.process import run_to_end

FLAGS = ("-std=c99", "-O3", "-march=native")
ENOUGH = 20.0  # seconds after which it is not run again


def time_sequential(path: Path, defines: Sequence[str], folder: Path, runs: int) -> Row:
    """Measure the median of up to `runs` runs of the SCoP on one core, and their spread."""
    executable = folder / "program"
    options = [*FLAGS, "-DPOLYBENCH_TIME", *(f"-D{define}" for define in defines)]
    command = [*c_compiler(), *options, str(path), "-o", str(executable), "-lm"]
    check_command(command, "compiling the sequential program")
    started, times = time.perf_counter(), [_run(executable)]
    while len(times) < runs and time.perf_counter() - started < ENOUGH:
        times.append(_run(executable))
    middle = median(times)
    return {
        "median_ms": round(1e3 * middle, 6),
        "spread": round((max(times) - min(times)) / middle, 4) if middle else 0.0,
        "runs": len(times),
        "compiler": " ".join([*c_compiler(), *FLAGS]),
    }


def _run(executable: Path) -> float:
    """Return the seconds of one run."""
    finished = run_to_end([str(executable)], timeout=1e6)
    if finished.status != 0:
        raise RunnerError(f"the sequential program ended with status {finished.status}")
    for line in finished.output.splitlines():  # the seconds, among the checksums
        try:
            return float(line)
        except ValueError:
            continue
    raise RunnerError("the sequential program does not print its time with -D POLYBENCH_TIME")
