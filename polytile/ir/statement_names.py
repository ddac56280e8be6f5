"""Statements in messages: their text in place of their names, which only schedules and certificates have."""

from __future__ import annotations

import re

from polytile.ir.scop import Scop, Statement

MOST_CHARACTERS = 60


def in_source_words(message: str, scop: Scop) -> str:
    """Return a message with the text of statements in place of their names, where they came from C.

    before: S0 depends on itself through A
    after:  `A[i][j] -= A[i][k] * A[k][j]` depends on itself through A
    """
    texts = {s.name: quoted(s) for s in scop.statements}
    names = "|".join(sorted(map(re.escape, texts), key=len, reverse=True))
    return re.sub(rf"\b(?:{names})\b", lambda found: texts[found[0]], message) if names else message


def quoted(statement: Statement) -> str:
    """Return the first line of a statement's text in quotes, or its name where it has none."""
    if not statement.location.line or not statement.text:
        return statement.name
    text = statement.text.partition("\n")[0].rstrip(";")
    return f"`{text}`" if len(text) <= MOST_CHARACTERS else f"`{text[: MOST_CHARACTERS - 4].rstrip()} ...`"
