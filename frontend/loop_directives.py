"""Directives in front of loops, such as `#pragma omp parallel for` and promises of independence: they belong to the
loop, which a SCoP replaces together with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.tokens import Token, blank_comments, tokenize

_DIRECTIVE = re.compile(r"^[ \t]*(#[ \t]*pragma\b(?:\\\r?\n|[^\n])*)", re.MULTILINE)
_MARKS = ("scop", "endscop")  # never part of a loop
# The words of OpenMP's names of constructs. `parallel` and `teams` are regions that each thread runs, but for those in
# which a loop is the whole region, `parallel for`; what others in front of a loop say is of the threads of a region.
_EACH_THREAD = frozenset(("parallel", "teams"))
_SHARED_OUT = frozenset(("for", "loop", "sections", "workshare", "taskloop", "distribute"))
_CONSTRUCTS = _EACH_THREAD | _SHARED_OUT | {"target", "simd", "master", "masked"}
_OF_A_TEAM = _SHARED_OUT | {"single", "master", "masked", "task", "critical", "ordered", "section", "scope"}
# What a thread does with others that may run the same loop.
_SYNCHRONISED = frozenset(("atomic", "critical", "ordered", "flush", "barrier"))
_SEVERAL = frozenset(("collapse", "tile"))
_OPENING = {"{": 1, "(": 1, "}": -1, ")": -1}
_HEADED = frozenset(("for", "while", "if", "switch"))


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
    """Refuse a loop that each thread of an OpenMP team runs, or shares with the others: each would run the kernel; and
    one inside of a nest that a directive takes as a whole, which has to stay a nest."""
    names = [d.words[1:2] for d in attached_to(text, offset) if d.words[:1] == ("omp",)]
    shares = any(not _OF_A_TEAM.isdisjoint(name) for name in names)
    if shares or any(start <= offset < end for start, end in _parallel_regions(text)):
        raise UserError(
            "this loop is in a parallel region of OpenMP, each thread of which would run its kernel",
            location=location,
            hint="give it a directive of its own, `#pragma omp parallel for`, or mark it with `#pragma scop`",
        )
    outer = next((d for d, end in _nests(text) if d.end <= offset < end), None)
    if outer is not None and outer not in attached_to(text, offset):
        raise UserError(
            f"this loop is in a nest that `#pragma omp {outer.words[1]}` takes as a whole",
            location=location,
            hint="mark the whole nest with `#pragma scop`, or this loop",
        )
    other = _synchronised(text, offset)
    if other is not None:
        raise UserError(
            f"this loop asks for other threads, `#pragma omp {other.words[1]}`, each of which may run its kernel",
            location=location,
            hint="give the loop a directive of its own, `#pragma omp parallel for`, or mark it with `#pragma scop`",
        )


def _synchronised(text: str, offset: int) -> Directive | None:
    """A directive in a loop that orders what its threads do, where these are not the loop's own: the function may be
    called by several, each of which would run the kernels on arrays that they share."""
    inside = [d for d in directives(text) if d.start > offset and d.words[:1] == ("omp",)]
    asking = [d for d in inside if not _SYNCHRONISED.isdisjoint(d.words[1:2]) or "in_reduction" in d.words]
    if not asking:
        return None
    end = _end_behind(text, offset)
    own = [(offset, end) for d in attached_to(text, offset) if _forks(d)]
    own += [(fork.end, _end_behind(text, fork.end)) for fork in filter(_forks, inside)]
    return next((d for d in asking if d.end <= end and not any(a <= d.start < b for a, b in own)), None)


def _forks(directive: Directive) -> bool:
    """Whether it starts threads: `#pragma omp target teams distribute parallel for`."""
    return not _EACH_THREAD.isdisjoint(takewhile(_CONSTRUCTS.__contains__, directive.words[1:]))


@lru_cache(maxsize=4)
def _parallel_regions(text: str) -> tuple[tuple[int, int], ...]:
    """The statements that each thread runs, behind `#pragma omp parallel` and the like, as offsets."""
    found = []
    for directive in directives(text):
        name = set(takewhile(_CONSTRUCTS.__contains__, directive.words[1:]))
        if directive.words[:1] == ("omp",) and name & _EACH_THREAD and not name & _SHARED_OUT:
            found.append((directive.end, _end_behind(text, directive.end)))
    return tuple(found)


@lru_cache(maxsize=4)
def _nests(text: str) -> tuple[tuple[Directive, int], ...]:
    """Directives for several loops within each other, `collapse(2)`, and where their nests end."""
    several = (d for d in directives(text) if d.words[:1] == ("omp",) and not _SEVERAL.isdisjoint(d.words))
    return tuple((d, _end_behind(text, d.end)) for d in several)


def _end_behind(text: str, offset: int) -> int:
    """Where the statement behind an offset ends, between directives."""
    return _end_of_statement(without_directives(text, list(tokenize(text, offset))))


def _end_of_statement(tokens: Sequence[Token]) -> int:
    """Where the statement that the tokens begin with ends: behind a block, or behind the `;` of what is below loops and
    conditions."""
    depth, headed = 0, False
    for number, token in enumerate(tokens):
        before, depth = depth, depth + _OPENING.get(token.text, 0) if token.kind == "punct" else depth
        if depth == 0 and token.text in _HEADED:
            headed = True
        elif depth == 0 and before == 1 and headed and token.text == ")":
            headed = False
        elif depth <= 0 and token.text in (";", "}"):
            following = tokens[number + 1].text if number + 1 < len(tokens) else ""
            if following not in ("else", "while") or depth < 0:
                return token.offset + 1
    return tokens[-1].offset + 1 if tokens else 0
