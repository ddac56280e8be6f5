"""The lines of a text file that a user names, of JSON objects or of anything: RunnerErrors with a hint where it is
none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polybench.runner.errors import RunnerError


def lines_of(path: Path, hint: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that are not empty, each after its place, `FILE:LINE`.

    Raises RunnerError for a file that cannot be read, or is no text.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise RunnerError(f"{path} is no text", hint=hint) from error
    yield from ((f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line.strip())


def object_of(place: str, line: str, hint: str, *, key: str = "", otherwise: str) -> dict[str, Any]:
    """Parse the JSON object of a line.

    Raises RunnerError for broken JSON, and saying `otherwise` for what is no object, or does not have a key that is
    named.
    """
    try:
        found = json.loads(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise RunnerError(f"{place}: broken JSON ({reason})", hint=hint) from error
    except RecursionError as error:
        raise RunnerError(f"{place}: nested too deeply", hint=hint) from error
    if not isinstance(found, dict) or (key and key not in found):
        raise RunnerError(f"{place}: {otherwise}", hint=hint)
    return found
