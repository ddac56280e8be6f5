"""`run`: every selected program in every type and schedule, one row each, kept as soon as it is known."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from polybench.runner import rows
from polybench.runner.compare import compare
from polybench.runner.errors import EXIT_FAILED, EXIT_MACHINE, RunnerError
from polybench.runner.pool import Pool
from polybench.runner.rows import Row
from polybench.runner.show import progress
from polybench.runner.tables import Entry


def run(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Run programs and show their rows.

    The exit status is 1 when a row failed, or when a figure is worse than in the results to compare with.
    """
    if not entries:
        raise RunnerError("there is no program to run")
    if chosen.sanitize and chosen.on != "emulator":
        raise RunnerError("--sanitize needs --on emulator")
    old = rows.read(chosen.compare) if chosen.compare else None
    if chosen.json is not None and chosen.json.exists():
        rows.read(chosen.json)  # rows are not appended to what could not be read again
    check_machine(chosen.on, metrics=chosen.metrics)
    done: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="polybench-") as folder:
        work = jobs(chosen, entries, Path(folder) / "gpu")
        with progress(len(work)) as shown:
            for row in Pool(chosen.jobs, chosen.timeout).run(work):
                done.append(row)
                if chosen.json is not None:
                    rows.append(chosen.json, [row])
                shown.row(row)
    failed = sum(map(rows.failed, done))
    print(f"{len(done) - failed} of {len(done)} passed")
    return _finish(old, done) or (EXIT_FAILED if failed else 0)


def jobs(chosen: argparse.Namespace, entries: Sequence[Entry], lock: Path) -> list[tuple[Row, Row]]:
    """List (head of the row, job for the child) of everything to do."""
    found = []
    for entry, dtype, schedule in product(entries, chosen.dtype, chosen.schedule):
        head = rows.head(entry.id, dtype, schedule, chosen.dataset, chosen.on)
        job = {
            "root": str(chosen.root),
            "file": entry.file,
            "defines": entry.defines(chosen.dataset, dtype),
            "parameters": entry.sizes(chosen.dataset),
            "schedule": schedule,
            "on": chosen.on,
            "metrics": chosen.metrics,
            "sanitize": chosen.sanitize or "",
            "runs": chosen.runs,
            "lock": str(lock),
        }
        found.append((head, job))
    return found


def _finish(old: Sequence[Row] | None, done: Sequence[Row]) -> int:
    if old is None:
        return 0
    compared = compare(old, done)
    print("\n".join(compared.lines))
    return EXIT_FAILED if compared.worse else 0


def check_machine(place: str, *, metrics: bool) -> None:
    """Check that this machine has what every row needs: one line now instead of as many failed rows."""
    from polytile.diagnostics import DeviceError
    from polytile.runtime.compilers import c_compiler
    from polytile.runtime.emulator.host_compiler import host_compiler
    from polytile.runtime.engine import on_gpu

    try:
        if place == "gpu":
            on_gpu("gpu")
        if place == "emulator":
            host_compiler()
        if not (place == "cpu" and metrics) and shutil.which(c_compiler()[0]) is None:
            raise RunnerError(f"the C compiler {c_compiler()[0]!r} was not found", status=EXIT_MACHINE)
    except DeviceError as error:
        reason = " ".join(str(error).removeprefix("polytile: error: ").split())
        raise RunnerError(reason, status=EXIT_MACHINE) from error
