"""`export`: a folder that builds, checks and times the programs on a machine with nvcc and no Python."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from polybench.runner import rows
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.pool import Pool
from polybench.runner.rows import FORMAT, Row
from polybench.runner.show import progress
from polybench.runner.tables import Entry

SUPPORT = Path(__file__).resolve().parent / "support"
KIND = "polytile benchmark export"
MANIFEST = "manifest.json"
TIMEOUT = 600.0


def export(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Write the folder; programs that cannot be compiled are failed rows of its manifest."""
    if not entries:
        raise RunnerError("there is no program to export")
    target = prepare(chosen.folder, chosen.root)
    done: list[Row] = []
    work = [
        _work(chosen, target, entry, dtype, schedule)
        for entry, dtype, schedule in product(entries, chosen.dtype, chosen.schedule)
    ]
    with progress(len(work)) as shown:
        for row in Pool(chosen.jobs, TIMEOUT).run(work):
            done.append(row)
            shown.row(row)
    import polytile

    manifest = {"kind": KIND, "format": FORMAT, "polytile": polytile.__version__, "rows": done}
    (target / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    failed = sum(map(rows.failed, done))
    print(f"{len(done) - failed} of {len(done)} programs are in {target}; run {target}/run.sh where nvcc is")
    return EXIT_FAILED if failed else 0


def prepare(folder: Path, root: Path) -> Path:
    """Create a new folder with what all programs share; raises RunnerError when it is not empty."""
    target = folder.resolve()
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise RunnerError(f"{folder} is not empty: export writes a new folder")
        for name in ("driver.h", "arrays.h", "tolerance.h", "Makefile", "run.sh"):
            shutil.copy(SUPPORT / name, target / name)
        for header in [*root.glob("*.h"), *root.glob("*/*.h")]:
            _copy(header, root, target)
    except OSError as error:
        raise RunnerError(f"{error.filename or folder}: {error.strerror}") from error
    return target


def _copy(path: Path, root: Path, target: Path) -> None:
    """Copy a file of a family to where the includes of the original programs find it."""
    place = target / "source" / path.relative_to(root)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)


def _work(chosen: argparse.Namespace, target: Path, entry: Entry, dtype: str, schedule: str) -> tuple[Row, Row]:
    _copy(entry.path, chosen.root, target)
    job = {
        "root": str(chosen.root),
        "file": entry.file,
        "defines": entry.defines(chosen.dataset, dtype),
        "parameters": entry.sizes(chosen.dataset),
        "schedule": schedule,
        "on": "export",
        "metrics": False,
        "runs": chosen.runs,
        "settings": {
            **({"parameters": entry.sizes(chosen.dataset)} if chosen.known_sizes else {}),
            **({"time_tile": chosen.time_tile} if chosen.time_tile else {}),
        },
        "data": dict(entry.data),
        "folder": str(target / f"{entry.family}-{entry.name}-{dtype}-{schedule}"),
        "head": rows.head(entry.id, dtype, schedule, chosen.dataset, "gpu"),
    }
    return job["head"], job


def export_program(program: Any, job: Mapping[str, Any], row: Row) -> None:
    """Write the folder of one compiled program; runs in the process of its job."""
    from polybench.runner.driver_text import driver, references

    folder = Path(job["folder"])
    text = driver(program, job["parameters"], job["runs"], job["data"])
    narrow, wide = references(program)
    folder.mkdir()
    program.write(folder)
    (folder / "reference.c").write_text(narrow)
    (folder / "wide.c").write_text(wide)
    (folder / "driver.cu").write_text(text)
    (folder / "head").write_text(json.dumps({**job["head"], **row}).removesuffix("}") + "\n")
