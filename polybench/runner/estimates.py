"""`estimates`: what the cost model says that programs take, beside what was measured.

A row of results names a program, its type, its data set and the settings that it was compiled with. The program is
compiled again for its sizes, and its estimate compared; where another schedule is chosen by now, the row says so and
does not count.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import polytile
from polybench.runner.errors import RunnerError
from polybench.runner.markdown import table_line
from polybench.runner.mispredictions import estimated_points, is_record, mispredictions
from polybench.runner.tables import DATASETS, ROOT, SIZES, Entry
from polybench.runner.text_lines import lines_of, object_of
from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError
from polytile.facts.kernel_facts import estimate_of

HINT = "name a record of `polytile tune`, or results of `python -m polybench sweep` (polybench/results has some)"
COLUMNS = ("program", "type", "settings", "measured, ms", "estimate, ms", "estimate / measured", "schedule")


@dataclass(frozen=True, slots=True)
class Compared:
    """A measured row, and its estimate in milliseconds; `now` is the schedule that is chosen, where it is another."""

    row: Mapping[str, Any]
    estimate: float
    now: str = ""

    @property
    def ratio(self) -> float:
        return self.estimate / float(self.row["median_ms"])

    def cells(self) -> tuple[str, ...]:
        row = self.row
        settings = " ".join(f"{name}={value}" for name, value in row["settings"].items())
        times = f"{row['median_ms']:.4g}", f"{self.estimate:.4g}", f"{self.ratio:.2f}"
        return row["program"], row["dtype"], settings, *times, f"now {self.now}" if self.now else row["strategy"]


def estimates(paths: Sequence[Path], entries: Mapping[str, Entry], wanted: Iterable[str]) -> int:
    """Print the table of the rows of these files that are of wanted programs, and how far off the estimates are. Of
    records of the tuner print what is mispredicted, by cause; these have estimates, and nothing is compiled."""
    records = [path for path in paths if is_record(path)]
    if records:
        print(mispredictions(estimated_points(records)))
        paths = [path for path in paths if path not in records]
        if not paths:
            return 0
    names = set(wanted)
    rows = [row for row in _rows(paths) if row["program"] in names]
    if not rows:
        raise RunnerError("there is no measured row with settings of these programs", hint=HINT)
    found = []
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    for row in rows:
        one = compared(row, entries[row["program"]])
        if one is not None:
            found.append(one)
            print(table_line(one.cells()), flush=True)
    print(summary(found))
    return 0


def _rows(paths: Sequence[Path]) -> list[Mapping[str, Any]]:
    """Read the last row of each program with its settings."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in paths:
        for place, line in lines_of(path, HINT):
            row = object_of(place, line, HINT, otherwise="no row of results")
            if {"settings", "median_ms", "strategy"} <= row.keys():
                parts = (row.get(name) for name in ("program", "dtype", "dataset", "sizes", "settings"))
                found[json.dumps(list(parts), sort_keys=True)] = _checked(row, place)
    return list(found.values())


def _checked(row: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """Check the row of a measurement; raises RunnerError where it lacks something, or has it in another form."""
    forms: Mapping[str, Any] = {"program": str, "strategy": str, "settings": dict, "median_ms": float | int}
    known = {"dtype": tuple(SIZES), "dataset": DATASETS}
    wrong = [name for name, form in forms.items() if not isinstance(row.get(name), form)]
    wrong += [name for name, values in known.items() if row.get(name) not in values]
    if not wrong and row["median_ms"] > 0:
        return row
    raise RunnerError(f"{place}: a row of a measurement has no {(wrong or ['median_ms above 0'])[0]}", hint=HINT)


def compared(row: Mapping[str, Any], entry: Entry) -> Compared | None:
    """Estimate a row's program, compiled for its sizes; None where it is refused, or stays on the host."""
    sizes = {**entry.sizes(row["dataset"]), **row.get("sizes", {})}
    settings = {**row["settings"], "parameters": sizes}
    defines = [*entry.defines(row["dataset"], row["dtype"]), *row.get("defines", ())]
    folder = Path.cwd()
    os.chdir(ROOT)
    try:
        program = polytile.compile(Path(entry.file), defines=defines, **settings)
    except PolytileError as error:
        print(f"{entry.id}: {error}", file=sys.stderr)
        return None
    finally:
        os.chdir(folder)
    states = [scop.compilation for scop in program.scops]
    times = [estimate_of(state) for state in states]
    if not times or any(time is None for time in times):
        return None
    total = sum(time.microseconds for time in times if time is not None) / 1000
    names = ", ".join(state.schedule.strategy for state in states if state.schedule is not None)
    same = names.split(" ")[0] == row["strategy"].split(" ")[0]
    return Compared(row, total, "" if same else names)


def summary(found: Sequence[Compared]) -> str:
    """Print how far off estimates of what was measured are."""
    errors = [log(one.ratio) for one in found if not one.now]
    if not errors:
        return "no row has the schedule that is chosen now"
    mean, spread = exp(fmean(errors)), exp(sqrt(fmean(e * e for e in errors)))
    twice = sum(abs(e) <= log(2) for e in errors)
    far = f"within a factor of {spread:.2f} (root mean square), {twice} within 2"
    return f"{len(errors)} rows: {mean:.2f} of what was measured, {far}"
