"""The characters of loops in the user's file, found without trusting macros."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.line_directives import refuse_line_directives
from polytile.frontend.loop_directives import attached_to, refuse_in_parallel, without_directives
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.tokens import Token, tokenize
from polytile.ir.source_span import Span

_OPENING = {"(": ")", "[": "]", "{": "}"}
_WORDS = {c_ast.For: "for", c_ast.While: "while", c_ast.DoWhile: "do"}


def loops_span(text: str, file: str, loops: Sequence[c_ast.Node]) -> Span:
    """From the first loop's `for`, `while` or `do`, or the directives for it, to the last one's `}` or `;`; refused
    where the text does not show it plainly, and in parallel regions."""
    refuse_line_directives(file, text)
    lines = _line_starts(text)
    starts = [_offset(lines, location_of(loop)) for loop in loops]
    for loop, start in zip(loops, starts, strict=True):
        refuse_in_parallel(text, start, location_of(loop))
    scanner = _Scanner(without_directives(text, list(tokenize(text, starts[0]))), location_of(loops[0]))
    for loop, start in zip(loops, starts, strict=True):
        if location_of(loop).file != file or scanner.offset != start or scanner.text != _WORDS[type(loop)]:
            raise _unclear(location_of(loop))
        scanner.statement()
        _check_inside(text, file, loop, (start, scanner.end), lines)
    first = next((d.start for d in attached_to(text, starts[0])), starts[0])
    end = scanner.end
    return Span(first, end, text.count("\n", 0, first) + 1, text.count("\n", 0, end) + 1)


def _line_starts(text: str) -> list[int]:
    """Where each line starts, and where one behind the last would."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))


def _offset(lines: list[int], location: Location) -> int:
    return lines[min(location.line, len(lines)) - 1] + location.column - 1


def _check_inside(text: str, file: str, loop: c_ast.Node, span: tuple[int, int], lines: list[int]) -> None:
    """Everything that was parsed below the loop stands in its text, and no loop in its text is missing."""
    start, end = span
    places = (location_of(n) for n in nodes_below(loop) if n.coord is not None)
    inside = [t for t in without_directives(text, list(tokenize(text, start))) if t.offset < end]
    written = sum(t.text == "for" for t in inside)
    parsed = sum(isinstance(n, c_ast.For) for n in nodes_below(loop))
    if written != parsed or any(p.file == file and not start <= _offset(lines, p) < end for p in places):
        raise _unclear(location_of(loop))


def _unclear(location: Location) -> UserError:
    return UserError(
        "a macro or a directive hides where this loop starts or ends",
        location=location,
        hint="mark the loop with '#pragma scop' and '#pragma endscop'",
    )


@dataclass(slots=True)
class _Scanner:
    """Finds the end of a statement in a list of tokens."""

    tokens: list[Token]
    location: Location
    position: int = 0

    @property
    def text(self) -> str:
        if self.position >= len(self.tokens):
            raise _unclear(self.location)
        return self.tokens[self.position].text

    @property
    def offset(self) -> int:
        return self.tokens[self.position].offset if self.position < len(self.tokens) else -1

    @property
    def end(self) -> int:
        last = self.tokens[self.position - 1]
        return last.offset + len(last.text)

    def statement(self) -> None:
        word = self.text
        if word == "{":
            self._group()
        elif word in ("for", "while", "if", "switch"):
            self.position += 1
            self._group()
            self.statement()
            if word == "if" and self.position < len(self.tokens) and self.text == "else":
                self.position += 1
                self.statement()
        elif word == "do":
            self.position += 1
            self.statement()
            self._simple()
        else:
            self._simple()

    def _simple(self) -> None:
        while self.text != ";":
            if self.text in _OPENING:
                self._group()
            elif self.text in (")", "]", "}", "#"):
                raise _unclear(self.location)
            else:
                self.position += 1
        self.position += 1

    def _group(self) -> None:
        """A bracketed group with everything in it."""
        if self.text not in _OPENING:
            raise _unclear(self.location)
        expected: list[str] = []
        while True:
            word = self.text
            if word in _OPENING:
                expected.append(_OPENING[word])
            elif word in (")", "]", "}"):
                if not expected or expected.pop() != word:
                    raise _unclear(self.location)
            elif word == "#":
                raise _unclear(self.location)
            self.position += 1
            if not expected:
                return
