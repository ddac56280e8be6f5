"""Generated code for a page: kernels and entry points line by line, each line with the way to the line of the C that it
computes; and the call in the host file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from markupsafe import Markup

from polytile.dataclass import dataclass
from polytile.facts import CodePart, CodePartKind, ScopFacts
from polytile.report.highlight import c_lines, cuda_lines, lines_of
from polytile.report.words import short_names

MOST_LINES = 2000  # of a kernel
_SEQUENTIAL = re.compile(r"^\s*if \((?:0|!\(.*)\) \{")  # behind the call: the user's own C


@dataclass(frozen=True, slots=True)
class CodeLine:
    """`origin` is the line of the file that it computes, 0 where there is none."""

    number: int
    html: Markup
    origin: int = 0


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A function; `left_out` lines of it are not here."""

    name: str
    title: str
    lines: tuple[CodeLine, ...]
    left_out: int = 0

    @property
    def count(self) -> int:
        return len(self.lines) + self.left_out


def kernels(scop: ScopFacts, path: str, linked: Collection[int], most: int) -> list[CodeBlock]:
    """Return the kernels; `linked` are the lines of the file that links lead to."""
    return list(_blocks(scop, path, linked, CodePartKind.KERNEL, most))


def entries(scop: ScopFacts, most: int) -> list[CodeBlock]:
    """Return what the host calls: copies and launches."""
    return list(_blocks(scop, "", (), CodePartKind.ENTRY, most))


def _blocks(scop: ScopFacts, path: str, linked: Collection[int], kind: CodePartKind, most: int) -> Iterator[CodeBlock]:
    texts, names = scop.cuda.split("\n"), short_names(scop)
    origins = {o.line: o.source_line for o in scop.origins if o.file == path and o.source_line in linked}
    for part in scop.parts:
        if part.kind is kind:
            yield _block(part, texts, names[part.name], origins, most)


def _block(part: CodePart, texts: list[str], title: str, origins: dict[int, int], most: int) -> CodeBlock:
    last = min(part.last_line, part.first_line - 1 + most)
    shown = cuda_lines("\n".join(texts[part.first_line - 1 : last]) + "\n")
    lines = (CodeLine(number, html, origins.get(number, 0)) for number, html in enumerate(shown, part.first_line))
    return CodeBlock(part.name, title, tuple(lines), part.last_line - last)


def host_call(scop: ScopFacts, host: str) -> CodeBlock | None:
    """Return the block of the host file that calls the kernels, up to the user's own C after it; None where there is
    none."""
    texts = lines_of(host)
    entry = next((part.name for part in scop.parts if part.kind is CodePartKind.ENTRY), "")
    declared = re.compile(rf"\bextern int {re.escape(entry)}\(")
    at = next((k for k, line in enumerate(texts) if declared.search(line)), -1) if entry else -1
    if at < 0:
        return None
    first = next((k for k in range(at, -1, -1) if " runs on the GPU, compiled by polytile */" in texts[k]), at)
    own = list(islice(_before_sequential(texts[first:]), MOST_LINES))
    lines = (CodeLine(number, html) for number, html in enumerate(c_lines("\n".join(own) + "\n"), first + 1))
    return CodeBlock(entry, "the call", tuple(lines))


def _before_sequential(texts: list[str]) -> Iterator[str]:
    for line in texts:
        if _SEQUENTIAL.match(line):
            return
        yield line
