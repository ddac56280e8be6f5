"""From a place in preprocessed text back to the place in the user's file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.frontend.tokens import Token, tokenize
from polytile.ir.c_text import c_unescaped

_MARKER = re.compile(r'\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:\\.|[^"\\])*)")?[\s\d]*$')

_LONG = 1_000_000  # pairs of tokens beyond which a macro's expansion is only known to start where the macro stands


@dataclass(frozen=True, slots=True)
class LineMap:
    """`origins[k]` is the (file, line) of line k + 1 of the preprocessed text."""

    lines: tuple[str, ...]
    origins: tuple[tuple[str, int], ...]
    raw_lines: Callable[[str], tuple[str, ...]]
    _pieces: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    _columns: dict[tuple[str, int], dict[tuple[int, int], int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for k, origin in enumerate(self.origins):
            if self.lines[k].strip():
                self._pieces.setdefault(origin, []).append(k)

    def location(self, line: int, column: int | None) -> Location:
        """The user's place of the token at `line`, `column` of the preprocessed text."""
        if not self.origins:
            return Location("<empty>", 1)
        origin = self.origins[min(max(line, 1), len(self.origins)) - 1]
        if column and self._pieces.get(origin) == [line - 1] and self.lines[line - 1] == self.raw_line(origin):
            return Location(*origin, column)  # nothing was expanded
        if origin not in self._columns:
            self._columns[origin] = self._align(origin)
        found = self._columns[origin].get((line - 1, (column or 1) - 1))
        return Location(*origin, self._first_column(origin) if found is None else found + 1)

    def with_lines(self, lines: Sequence[str]) -> LineMap:
        """The same for lines with other words in them."""
        return LineMap(tuple(lines), self.origins, self.raw_lines)

    def raw_line(self, origin: tuple[str, int]) -> str:
        lines = self.raw_lines(origin[0])
        return lines[origin[1] - 1] if 0 < origin[1] <= len(lines) else ""

    def _first_column(self, origin: tuple[str, int]) -> int:
        raw = self.raw_line(origin)
        return len(raw) - len(raw.lstrip()) + 1

    def _align(self, origin: tuple[str, int]) -> dict[tuple[int, int], int]:
        """Column in the raw line of each token of the preprocessed line; a macro's expansion is at its name."""
        raw = _after_comment(list(tokenize(self.raw_line(origin))))
        placed = [(k, t) for k in self._pieces.get(origin, []) for t in tokenize(self.lines[k])]
        columns: dict[tuple[int, int], int] = {}
        for n, source in enumerate(_sources([t.text for t in raw], [t.text for _, t in placed])):
            if source < len(raw):
                k, token = placed[n]
                columns[k, token.offset] = raw[source].offset
        return _at_macro_names(columns, raw)


def _sources(raw: list[str], expanded: list[str]) -> list[int]:
    """For each token of the expanded line the position of the raw token that it is or comes from."""
    common = min(len(raw), len(expanded))
    head = next((k for k in range(common) if raw[k] != expanded[k]), common)
    tail = next((k for k in range(common - head) if raw[-1 - k] != expanded[-1 - k]), common - head)
    middle, inner = raw[head : len(raw) - tail], expanded[head : len(expanded) - tail]
    found = list(range(head))
    if len(middle) * len(inner) > _LONG:
        found += [head] * len(inner)
    else:
        for tag, start, _, low, high in SequenceMatcher(None, middle, inner, autojunk=False).get_opcodes():
            found += [head + start + (k if tag == "equal" else 0) for k in range(high - low)]
    return found + [len(raw) - tail + k for k in range(tail)]


def _at_macro_names(columns: dict[tuple[int, int], int], raw: list[Token]) -> dict[tuple[int, int], int]:
    """Move what landed on the `(` of a macro call to the macro's name, which no token of the expansion matches."""
    matched = set(columns.values())
    moved = {
        paren.offset: name.offset
        for name, paren in pairwise(raw)
        if paren.text == "(" and name.kind == "name" and name.offset not in matched
    }
    return {place: moved.get(column, column) for place, column in columns.items()}


def _after_comment(tokens: list[Token]) -> list[Token]:
    """Drop what stands before a `*/` that closes a comment opened on an earlier line."""
    for n in range(len(tokens) - 1):
        star, slash = tokens[n], tokens[n + 1]
        if star.text == "*" and slash.text == "/" and slash.offset == star.offset + 1:
            return tokens[n + 2 :]
    return tokens


def marked_files(text: str) -> list[str]:
    """The files that line markers in preprocessor output name, in the order of their names."""
    markers = (_MARKER.match(line) for line in text.split("\n") if "#" in line and '"' in line)
    return sorted({c_unescaped(found[2]) for found in markers if found is not None and found[2] is not None})


def split_markers(text: str, name: str, rename: Callable[[str], str]) -> tuple[list[str], list[tuple[str, int]]]:
    """Blank the line markers of preprocessor output and return its lines with the (file, line) of each."""
    lines: list[str] = []
    origins: list[tuple[str, int]] = []
    file, number = name, 1
    display = cache(lambda marked: rename(c_unescaped(marked)))  # few files have many markers
    for line in text.split("\n"):
        marker = _MARKER.match(line) if "#" in line else None
        if marker is None:
            lines.append(line)
            origins.append((file, number))
            number += 1
            continue
        lines.append("")
        origins.append((file, number))
        number = int(marker.group(1))
        if marker.group(2) is not None:
            file = display(marker.group(2))
    return lines, origins
