"""Results: JSON lines, one row for each (program, type, schedule, data set, place), appended as they become known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polybench.runner.errors import RunnerError
from polybench.runner.text_lines import lines_of, object_of

FORMAT = 1
Row = dict[str, Any]
Key = tuple[str, str, str, str, str]
_KEYS = ("program", "dtype", "schedule", "dataset", "on")


def key(row: Row) -> Key:
    """Return what a row is about."""
    program, dtype, schedule, dataset, on = (str(row[name]) for name in _KEYS)
    return program, dtype, schedule, dataset, on


def head(program: str, dtype: str, schedule: str, dataset: str, on: str) -> Row:
    """Return the beginning of every row."""
    return {"format": FORMAT, **dict(zip(_KEYS, (program, dtype, schedule, dataset, on), strict=True))}


def failed(row: Row) -> bool:
    return "error" in row


def append(path: Path, rows: Iterable[Row]) -> None:
    """Add rows to a file of results, which is created if need be."""
    try:
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}") from error


def read(path: Path) -> list[Row]:
    """Read the rows of a file; raises RunnerError with the line that is broken or of another version."""
    return [parse(line, place) for place, line in lines_of(path, "name a file that `run` or `sweep` wrote by --json")]


def parse(line: str, place: str) -> Row:
    """Parse one row; `place` is where it stands, for the message."""
    hint = "remove this line to keep the others"
    row = object_of(place, line, hint, key="program", otherwise="no result of this runner")
    if row.get("format") != FORMAT:
        raise RunnerError(f"{place}: format {row.get('format', 'none')}, this version reads {FORMAT}; measure again")
    missing = [name for name in _KEYS if name not in row]
    if missing:
        raise RunnerError(f"{place}: the row has no {missing[0]!r}", hint=hint)
    return row


def latest(rows: Iterable[Row]) -> dict[Key, Row]:
    """Return the last row for each key: a repeated measurement replaces the one before."""
    return {key(row): row for row in rows}


def read_all(paths: Sequence[Path]) -> list[Row]:
    """Read the rows of several files, the last of each key."""
    rows = latest(row for path in paths for row in read(path))
    if not rows:
        raise RunnerError(f"{', '.join(map(str, paths))}: no results", hint="measure some: `python -m polybench run`")
    return list(rows.values())
