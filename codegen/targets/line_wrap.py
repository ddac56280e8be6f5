"""Lines of code of a readable width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

INDENT = "    "
WIDTH = 110


def indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line if line else line for line in lines]


def broken(line: str) -> list[str]:
    """Cut a line of code that is too long, at the outermost operators in the second half of the width."""
    lines = []
    while len(line) > WIDTH and (cuts := list(_cuts(line))):
        cut = -min(cuts)[-1]
        lines.append(line[:cut])
        line = INDENT * 2 + line[cut + 1 :]
    return [*lines, line]


def _cuts(line: str) -> Iterator[tuple[int, bool, int]]:
    """Yield where a line may be cut: the depth in parentheses, whether inside a product, minus the position."""
    depth = 0
    for position, character in enumerate(line[:WIDTH]):
        depth += (character in "([") - (character in ")]")
        before = line[position - 1]
        if character == " " and position > WIDTH // 2 and before in "+-*/%&|<>=,?:;^":
            yield depth, before in "*/%", -position


def wrapped(start: str, parts: Iterable[str], end: str) -> list[str]:
    """Print `start` + comma-separated parts + `end`, broken into lines indented below the first."""
    lines, line = [], start
    texts = list(parts)
    for position, part in enumerate(texts):
        piece = part + ("," if position + 1 < len(texts) else end)
        glue = "" if line.endswith("(") or line == INDENT * 2 else " "
        if len(line) + len(glue) + len(piece) > WIDTH and line.strip():
            lines.append(line)
            line, glue = INDENT * 2, ""
        line += glue + piece
    return [*lines, line if texts else start + end]
