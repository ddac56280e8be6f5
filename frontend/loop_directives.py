"""Directives in front of loops, such as `#pragma omp parallel for` and promises of independence: they belong to the
loop, which a SCoP replaces together with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.tokens import Token, blank_comments, tokenize

_DIRECTIVE = re.compile(r"^[ \t]*(#[ \t]*pragma\b(?:\\\r?\n|[^\n])*)", re.MULTILINE)
_MARKS = ("scop", "endscop")  # never part of a loop
_WORKSHARED = ("for", "loop", "sections", "workshare")  # `omp parallel for`: one loop is the whole region
_OPENING = {"{": 1, "}": -1}


@dataclass(frozen=True, slots=True)
class Directive:
    """A `#pragma`, at [start, end) of the text; `words` are those behind `pragma`."""

    start: int
    end: int
    words: tuple[str, ...]


@lru_cache(maxsize=4)
def _plain(text: str) -> str:
    return blank_comments(text)


@lru_cache(maxsize=4)
def directives(text: str) -> tuple[Directive, ...]:
    """The directives of a file but the marks of SCoPs."""
    plain = _plain(text)
    found = []
    for match in _DIRECTIVE.finditer(plain):
        words = tuple(t.text for t in tokenize(match[1]))[2:]
        if words and words[0] not in _MARKS:
            found.append(Directive(match.start(1), match.end(1), words))
    return tuple(found)


def without_directives(text: str, tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a text that stand in no directive."""
    inside = [(d.start, d.end) for d in directives(text)]
    if not inside:
        return list(tokens)
    return [t for t in tokens if not any(start <= t.offset < end for start, end in inside)]


def attached_to(text: str, offset: int) -> tuple[Directive, ...]:
    """The directives right in front of a loop, with nothing but blanks and comments between."""
    found: list[Directive] = []
    plain, start = _plain(text), offset
    for directive in reversed([d for d in directives(text) if d.end <= offset]):
        if plain[directive.end : start].strip():
            break
        found.insert(0, directive)
        start = directive.start
    return tuple(found)


def refuse_in_parallel(text: str, offset: int, location: Location) -> None:
    """Refuse a loop that each thread of an OpenMP team runs, or shares with the others: each would run the kernel."""
    shares = any(d.words[:1] == ("omp",) and d.words[1:2] in (("for",), ("loop",)) for d in attached_to(text, offset))
    if shares or any(start <= offset < end for start, end in _parallel_regions(text)):
        raise UserError(
            "this loop is in a parallel region of OpenMP, each thread of which would run its kernel",
            location=location,
            hint="give it a directive of its own, `#pragma omp parallel for`, or mark it with `#pragma scop`",
        )


@lru_cache(maxsize=4)
def _parallel_regions(text: str) -> tuple[tuple[int, int], ...]:
    """The blocks behind `#pragma omp parallel`, as offsets."""
    found = []
    for directive in directives(text):
        alone = directive.words[2:3] and directive.words[2] in _WORKSHARED
        if alone or directive.words[:2] != ("omp", "parallel"):
            continue
        depth = 0
        for token in tokenize(text, directive.end):
            depth += _OPENING.get(token.text, 0) if token.kind == "punct" else 0
            if depth <= 0:
                found.append((directive.end, token.offset))
                break
    return tuple(found)
