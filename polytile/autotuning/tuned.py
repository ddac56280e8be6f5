"""From what a search has found to the result file that `--tuned` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.tuner import Tuned
from polytile.autotuning.workload import Workload
from polytile.choices import Choices
from polytile.diagnostics import UsageError
from polytile.tuned_file import TunedFile, TunedMachine, TunedScop, read_tuned_file, tuned_scop


def tuned_entry(workload: Workload, choices: Choices, tuned: Tuned, record: Path) -> TunedScop:
    """Compile the winner of a search, whose `choices` are given, and return its entry in a result file.

    Raises UserError, UsageError or InternalError where the compiler refuses it now.
    """
    source = workload.read()
    found = source.compile(choices)
    return tuned_scop(
        source.scop,
        workload.options,
        found.saved_schedule,
        source.sizes,
        point=dict(tuned.winner.point),
        milliseconds=_finite(tuned.time(tuned.winner)),
        default_milliseconds=_finite(tuned.time(tuned.default)),
        evaluations=tuned.progress.told,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        record=record.name,
    )


def result_file(path: Path, entries: Sequence[TunedScop], conditions: Conditions, arch: str) -> TunedFile:
    """Return the result file with these entries, and those of other SCoPs that it has from this machine already."""
    machine = TunedMachine(arch, conditions.gpu, conditions.driver, conditions.compiler)
    made = TunedFile(machine, tuple(entries), str(path))
    try:
        before = read_tuned_file(path)
    except UsageError:  # there is none, or of something else: whoever writes it has asked for that
        return made
    if before.machine != machine:
        return made
    kept = (one for one in before.scops if made.scop(one.name) is None)
    return replace(made, scops=(*kept, *made.scops))


def _finite(time: float) -> float | None:
    return time if isfinite(time) else None
