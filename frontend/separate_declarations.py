"""The declarations of a file one by one, so that what cannot be read costs no others.

before: void f(void) { goto *p; }    void g(int n, int *a) { for (int i = 0; i < n; i++) a[i] = i; }
after:  Unreadable({f})              void g(int n, int *a) { for (int i = 0; i < n; i++) a[i] = i; }
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import accumulate

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.external_declarations import ExternalDeclaration, external_declarations, words_in
from polytile.frontend.gnu_c import PlainC, plain_c
from polytile.frontend.preprocess import Preprocessed
from polytile.frontend.syntax import Piece, read_piece
from polytile.frontend.tokens import name_tokens
from polytile.frontend.unreadable import Unread, Unreadable

_MARK = r"(?m)^[ \t]*#[ \t]*pragma[ \t]+scop\b"
_LOOP = r"\b(?:for|while)\b"
_LABELLED = "the assembler knows it by another name, which may be that of another variable"


@dataclass(frozen=True, slots=True)
class Separate:
    """What was read; `hidden` says of which names declarations say too little,
    `unread` is what of the user's file cannot be read, `mentioned` are words of all that is not."""

    hidden: list[Unreadable]
    nodes: list[c_ast.Node]
    unread: tuple[Unread, ...]
    mentioned: frozenset[str]


def read_separately(
    source: Preprocessed,
    first: int,
    names: Mapping[str, bool],
    place: Callable[[c_ast.FileAST, Preprocessed], None],
) -> Separate | None:
    """Read the declarations of a text behind its `first` lines; None where brackets do not tell them apart. `names` are
    those of these lines, which are types (true) or not; `place` moves nodes to places of the user's."""
    plain = plain_c(source, first)
    text = "\n".join(plain.source.lines.lines[first:])
    declarations = external_declarations(text)
    if declarations is None:
        return None
    reading = _Reading(plain, first, text, dict(names), place)
    for declaration in declarations:
        reading.read(declaration)
    reading.read_directives(declarations[-1].end if declarations else 0)
    hidden = [Unreadable(plain.labelled, _LABELLED, certain=True), *reading.hidden]
    return Separate(hidden, reading.nodes, tuple(reading.unread), frozenset(reading.mentioned))


@dataclass(slots=True)
class _Reading:
    plain: PlainC
    first: int
    text: str
    names: dict[str, bool]
    place: Callable[[c_ast.FileAST, Preprocessed], None]
    nodes: list[c_ast.Node] = field(default_factory=list)
    hidden: list[Unreadable] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)
    lines: list[int] = field(default_factory=list)  # where each starts

    def __post_init__(self) -> None:
        self.mentioned |= self.plain.mentioned
        self.lines = list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    def text_of(self, declaration: ExternalDeclaration) -> str:
        return self.text[declaration.start : declaration.end]

    def is_own(self, declaration: ExternalDeclaration) -> bool:
        """Whether it stands in the file that is compiled, and not in one that this includes."""
        line, _ = self._line(declaration.start)
        return self.plain.source.lines.origins[line - 1][0] == self.plain.source.path

    def read(self, declaration: ExternalDeclaration) -> None:
        try:
            self._read(declaration.before, self.text[declaration.before : declaration.end])
        except UserError as error:
            if not self._read_declarator(declaration):
                self._leave_out(declaration, error)

    def read_directives(self, start: int) -> None:
        """Read those behind all declarations."""
        self._read(start, self.text[start:])

    def _read(self, start: int, text: str) -> None:
        behind = text.lstrip()
        line, column = self._line(start + len(text) - len(behind))
        nodes, names = read_piece(self.plain.source, Piece(behind, line, column, whole=False), self.names)
        tree = c_ast.FileAST(nodes)
        self.place(tree, self.plain.source)
        self.nodes += nodes
        self.names.update(names)

    def _read_declarator(self, declaration: ExternalDeclaration) -> bool:
        """Read a function of which the user says what it accesses, without its body."""
        if not declaration.name or not _said(self.text, declaration.name):
            return False
        body = next(t.offset for t in reversed(declaration.outer) if t.text in ("{", "<%"))
        self.mentioned |= words_in(self.text_of(declaration))
        try:
            self._read(declaration.before, f"{self.text[declaration.before : body]};")
        except UserError:
            return False
        return True

    def _leave_out(self, declaration: ExternalDeclaration, error: UserError) -> None:
        text = self.text_of(declaration)
        self.mentioned |= words_in(text)
        self.names.update(dict.fromkeys(declaration.types, True))
        start = self._location(declaration.start)
        function = bool(declaration.name)
        names = frozenset({declaration.name}) if function else frozenset(name_tokens(text))
        reason = f"polytile cannot read its declaration at line {start.line}: {error.message}"
        node = Unreadable(names, reason, start, certain=function)
        (self.hidden if function else self.nodes).append(node)
        if self.is_own(declaration):
            marks = tuple(self._location(declaration.start + m.end() - 1) for m in re.finditer(_MARK, text))
            self.unread.append(Unread(error, declaration.name, start, marks, loops=re.search(_LOOP, text) is not None))

    def _line(self, offset: int) -> tuple[int, int]:
        """The line and the column of the preprocessed text."""
        number = bisect_right(self.lines, offset)
        return self.first + number, offset - self.lines[number - 1] + 1

    def _location(self, offset: int) -> Location:
        return self.plain.source.lines.location(*self._line(offset))


def _said(text: str, function: str) -> bool:
    return re.search(rf"#[ \t]*pragma[ \t]+polytile[ \t]+access[ \t]*\([ \t]*{re.escape(function)}\b", text) is not None
