"""Tables in Markdown, and how commands show and save what they found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from polybench.runner.errors import RunnerError


def table_line(cells: Iterable[object]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table_head(columns: Sequence[str], left: int) -> list[str]:
    """Return the head of a table; the first `left` columns are words, the others numbers."""
    return [table_line(columns), table_line("---" if i < left else "---:" for i in range(len(columns)))]


def grid(columns: Sequence[str], body: Iterable[Iterable[object]], left: int) -> str:
    """Return a whole table."""
    return "\n".join([*table_head(columns, left), *map(table_line, body)])


def show(text: str, path: Path | None) -> None:
    """Print a text, and write it to a file where one is asked for; raises RunnerError where that fails."""
    text = text and text.rstrip("\n") + "\n"
    print(text, end="")
    if path is None:
        return
    try:
        path.write_text(text)
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}") from error
