"""`sweep`: one program compiled with many settings, each timed on the GPU and compared with the classic schedule.

A file of jobs has a JSON object a line:

    {"program": "an5d/star3d1r", "dtype": "double", "settings": {"schedule": "overlapped", "tile": [48, 32]}}

`program` is FAMILY/NAME. The other fields may be left out: `dtype` (double), `dataset` (extralarge), `sizes` (values of
parameters in place of the data set's), `settings` (arguments of `polytile.compile`), `defines` (macros beside those of
the data set), `known` (true: compile for the sizes; false: for any), and `label`, which is kept as it is.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from polybench.runner import rows
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.pool import Pool
from polybench.runner.rows import Row
from polybench.runner.run import check_machine
from polybench.runner.show import progress
from polybench.runner.tables import DATASETS, SIZES, Entry
from polybench.runner.text_lines import lines_of, object_of

HINT = "name a file with a job a line, as `python -m polybench ablation --write` makes them (polybench/README.md)"
FIELDS = ("program", "dtype", "dataset", "sizes", "settings", "defines", "known", "label")


def sweep(chosen: argparse.Namespace, entries: Mapping[str, Entry]) -> int:
    """Run all jobs and append their rows to `--json` as they become known; the exit status is 1 when one failed."""
    wanted = read_jobs(chosen.file, entries)
    check_machine("gpu", metrics=False)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="polybench-") as folder:
        lock = chosen.lock or Path(folder) / "gpu"
        work = [job_of(one, entries[one["program"]], chosen, lock) for one in wanted]
        with progress(len(work)) as shown:
            for row in Pool(chosen.jobs, chosen.timeout).run(work):
                failed += rows.failed(row)
                if chosen.json is not None:
                    rows.append(chosen.json, [{**row, "date": date.today().isoformat()}])
                shown.row(row)
    print(f"{len(work) - failed} of {len(work)} passed")
    return EXIT_FAILED if failed else 0


def read_jobs(path: Path, entries: Mapping[str, Entry]) -> list[Row]:
    """Read the jobs of a file, with what they leave out filled in; raises RunnerError with the line that is wrong."""
    found = [_parse(line, place, entries) for place, line in lines_of(path, HINT)]
    if not found:
        raise RunnerError(f"{path}: there is no job", hint=HINT)
    return found


def _parse(line: str, place: str, entries: Mapping[str, Entry]) -> Row:
    given = object_of(place, line, HINT, key="program", otherwise="a job is an object with a 'program'")
    if unknown := [name for name in given if name not in FIELDS]:
        raise RunnerError(f"{place}: unknown field {unknown[0]!r}: one of {', '.join(FIELDS)}")
    defaults = {"dtype": "double", "dataset": "extralarge", "sizes": {}, "settings": {}, "defines": [], "known": True}
    job = {**defaults, "label": "", **given}
    if job["program"] not in entries:
        raise RunnerError(f"{place}: there is no program {job['program']!r}; `python -m polybench list` shows them all")
    for name, allowed in (("dtype", tuple(SIZES)), ("dataset", DATASETS)):
        if job[name] not in allowed:
            raise RunnerError(f"{place}: {name} {job[name]!r}: one of {', '.join(allowed)}")
    if entries[job["program"]].data:
        raise RunnerError(f"{place}: {job['program']} needs data of its own, which `run --on gpu` makes")
    return job


def job_of(one: Row, entry: Entry, chosen: argparse.Namespace, lock: Path) -> tuple[Row, Row]:
    """Return (head of the row, job for the child)."""
    sizes: dict[str, Any] = {**entry.sizes(one["dataset"]), **one["sizes"]}
    settings = {"schedule": "auto", **one["settings"]}
    head = rows.head(entry.id, one["dtype"], settings["schedule"], one["dataset"], "gpu")
    about = {"sizes": one["sizes"], "known_sizes": one["known"], "settings": settings, "label": one["label"]}
    about |= {"defines": one["defines"]} if one["defines"] else {}
    job = {
        "root": str(chosen.root),
        "file": entry.file,
        "defines": [*entry.defines(one["dataset"], one["dtype"]), *one["defines"]],
        "parameters": sizes,
        "schedule": settings["schedule"],
        "settings": {
            **{name: value for name, value in settings.items() if name != "schedule"},
            **({"parameters": sizes} if one["known"] else {}),
        },
        "on": "resident",
        "metrics": False,
        "runs": chosen.runs,
        "lock": str(lock),
    }
    return {**head, **about}, job

