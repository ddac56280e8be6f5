"""`import`: the results of an exported folder, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from polybench.runner import rows
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.export import KIND, MANIFEST
from polybench.runner.rows import FORMAT, Row
from polybench.runner.show import line

RESULTS = "results.jsonl"


def import_results(folder: Path, target: Path | None, files: Sequence[Path] = ()) -> int:
    """Print the rows and append them to `target`; the exit status is 1 when one failed or is missing."""
    found = collect(folder, files)
    if target is not None:
        if target.exists():
            rows.read(target)
        rows.append(target, found)
    for row in found:
        print(line(row))
    failed = sum(map(rows.failed, found))
    print(f"{len(found) - failed} of {len(found)} passed")
    return EXIT_FAILED if failed else 0


def collect(folder: Path, files: Sequence[Path] = ()) -> list[Row]:
    """Collect a row for every program of the export; one that has no result failed.

    The results are in the folder, or in `files` where that was run elsewhere. Of several runs of a program, the last
    one that passed counts; one without a validation has not passed.
    """
    expected = _manifest(folder)
    places = list(files) or [p for p in (folder / RESULTS,) if p.exists()]
    found = [_held_to_its_validation(row) for place in places for row in rows.read(place)]
    results = rows.latest(found) | rows.latest(row for row in found if not rows.failed(row))
    if not results:
        raise RunnerError(f"{folder} has no results yet: run {folder}/run.sh on a machine with nvcc")
    return [_row(head, results.get(rows.key(head))) for head in expected]


def _held_to_its_validation(row: Row) -> Row:
    """Mark the row as failed where no array was compared: the drivers compare before they measure."""
    if rows.failed(row) or row.get("validated"):
        return row
    return {**row, "error": "not validated: no array was compared with the sequential C"}


def _row(head: Row, result: Row | None) -> Row:
    if rows.failed(head):
        return head
    if result is None:
        return {**head, "error": "no result: run.sh did not come to it"}
    if "first_s" in result:
        parts = (result.get(name, 0.0) for name in ("compile_s", "nvcc_s", "first_s"))
        return {**result, "cold_s": round(sum(parts), 3)}
    return result


def _manifest(folder: Path) -> list[Row]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text())
    except OSError as error:
        raise RunnerError(f"{folder} is no exported folder: {path.name}: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunnerError(f"{path}: broken JSON") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise RunnerError(f"{path} is no manifest of an export")
    if manifest.get("format") != FORMAT:
        theirs = f"format {manifest.get('format', 'none')}, polytile {manifest.get('polytile', 'unknown')}"
        raise RunnerError(f"{folder} was exported by another version ({theirs}; this is {FORMAT}): export it again")
    return [rows.parse(json.dumps(row), str(path)) for row in manifest["rows"]]
