"""Which line of the user's C each line of generated text computes.

before: printed lines, some of which end with a mark        C[i] = 0;<mark 3>
after:  the text without marks, and its lines' locations    C[i] = 0;               {12: gemm.c:46}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.ir.expr import Access, Assign, Declare, Expr, For, If, Invoke, Stmt, While
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import AsyncCopy, Atomic, Load, MultiplyAccumulate, Store

_MARK = "\x1e"
_MARKED = re.compile(rf"{_MARK}(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LocatedText:
    """Generated text; `lines` maps its 1-based lines to the user's source where they come from it."""

    text: str
    lines: Mapping[int, Location]


@dataclass(slots=True)
class Marks:
    """Hands out the marks of one text, and reads them back from it."""

    locations: list[Location] = field(default_factory=list)

    def on(self, lines: list[str], stmt: Stmt) -> list[str]:
        """Mark the lines of a statement that are not marked yet; they keep what comments at their ends say."""
        location = _location(stmt)
        if location is None:
            return lines
        self.locations.append(location)
        mark = f"{_MARK}{len(self.locations) - 1}"
        return [line if _MARK in line else line + mark for line in lines]

    def including(self, text: str, own: Marks) -> str:
        """Include a text with marks of its own as a part of this one."""
        first = len(self.locations)
        self.locations += own.locations
        return _MARKED.sub(lambda mark: f"{_MARK}{first + int(mark[1])}", text)

    def read(self, text: str) -> LocatedText:
        """Take the marks out of a text."""
        plain, lines = [], {}
        for number, line in enumerate(text.split("\n"), 1):
            match = _MARKED.search(line)
            if match:
                lines[number] = self.locations[int(match[1])]
            plain.append(line if match is None else line[: match.start()])
        return LocatedText("\n".join(plain), lines)


def _location(stmt: Stmt) -> Location | None:
    """Return where a statement comes from: its own location, or that of the first element it accesses."""
    match stmt:
        case Assign(location=location) | Declare(location=location) | Invoke(location=location) if location.line:
            return location
        case Load(location=location) | Store(location=location) | Atomic(location=location) if location.line:
            return location
        case AsyncCopy(location=location) | MultiplyAccumulate(location=location) if location.line:
            return location
        case If(location=location, condition=condition) | For(location=location, condition=condition):
            return location if location.line else _first(condition)
        case While(location=location, condition=condition):
            return location if location.line else _first(condition)
        case Assign(value=Expr() as value) | Declare(value=Expr() as value):
            return _first(value)
        case Load(source=value) | AsyncCopy(source=value) | Store(target=value) | Atomic(target=value):
            return _first(value)
    return None


def _first(expr: Expr) -> Location | None:
    return next((n.location for n in walk(expr) if isinstance(n, Access) and n.location.line), None)
