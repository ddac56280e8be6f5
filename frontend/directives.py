"""Preprocessor directives inside the lines of a SCoP: those lines are replaced, so directives must not reach out."""

from __future__ import annotations

import re

from polytile.diagnostics import Location, UserError
from polytile.frontend.tokens import blank_comments, tokenize
from polytile.ir.source_span import Span

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*([a-z]+)\b[ \t]*(\w*)")


def check_directives(text: str, span: Span, file: str) -> None:
    """Refuse a SCoP with an `#if` that crosses its border, or a `#define` that is needed after it."""
    plain = blank_comments(text)
    lines = plain.split("\n")
    depth: list[int] = []
    for number in range(span.first_line, span.last_line + 1):
        found = _DIRECTIVE.match(lines[number - 1])
        word, name = found.groups() if found else ("", "")
        if word in ("if", "ifdef", "ifndef"):
            depth.append(number)
        elif word in ("else", "elif", "endif") and not depth:
            raise _crossing(word, Location(file, number))
        elif word == "endif":
            depth.pop()
        elif word in ("define", "undef") and any(t.text == name for t in tokenize(plain, span.end)):
            raise UserError(
                f"the macro '{name}' changes inside the SCoP and is used after it",
                location=Location(file, number),
                hint=f"move the '#{word}' before '#pragma scop'",
            )
    if depth:
        raise _crossing("if", Location(file, depth[-1]))


def _crossing(word: str, location: Location) -> UserError:
    return UserError(
        f"this '#{word}' and the directives it belongs to are not all inside the SCoP",
        location=location,
        hint="put the whole '#if ... #endif' inside the SCoP, or all of it outside",
    )
