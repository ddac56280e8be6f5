"""Functions of headers that nothing of a file leads to: most of the thousands of <immintrin.h>.

before: static inline int used(int x) { return x; } static inline int unused(int x) { return x; }    in x.h
after:  static inline int used(int x) { return x; }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from polytile.frontend.external_declarations import ExternalDeclaration, external_declarations, words_in
from polytile.frontend.preprocess import Preprocessed
from polytile.frontend.tokens import name_tokens


def without_unused_functions(source: Preprocessed, first: int) -> tuple[Preprocessed, frozenset[str]]:
    """The text with blanks in place of these behind the `first` lines, and the words in them, which may be addresses of
    variables; the text as it is where brackets do not tell declarations apart."""
    lines = source.lines.lines
    text = "\n".join(lines[first:])
    found = external_declarations(text) if len({file for file, _ in source.lines.origins}) > 1 else None
    if found is None:
        return source, frozenset()
    unused = _unused(text, _of_headers(source, first, text, found), found)
    made, at, words = [], 0, set[str]()
    for one in unused:
        body = text[one.start : one.end]
        words |= words_in(body)
        made += [text[at : one.start], re.sub(r"[^\n]", " ", body)]
        at = one.end
    kept = (*lines[:first], *"".join((*made, text[at:])).split("\n"))
    return replace(source, text="\n".join(kept), lines=source.lines.with_lines(kept)), frozenset(words)


def _of_headers(
    source: Preprocessed, first: int, text: str, found: Sequence[ExternalDeclaration]
) -> list[ExternalDeclaration]:
    """The functions that other files define than the one that is compiled."""
    line, at, made = first, 0, []
    for one in found:
        line += text.count("\n", at, one.start)
        at = one.start
        if one.name and source.lines.origins[line][0] != source.path:
            made.append(one)
    return made


def _unused(
    text: str, functions: Sequence[ExternalDeclaration], found: Sequence[ExternalDeclaration]
) -> list[ExternalDeclaration]:
    """Those that are not named by what stands outside of all of them, or in others that are."""
    by_name: dict[str, list[ExternalDeclaration]] = {}
    for one in functions:
        by_name.setdefault(one.name, []).append(one)
    starts = {one.start for one in functions}
    waiting = [one for one in found if one.start not in starts]
    names: set[str] = set()
    while waiting:
        one = waiting.pop()
        new = set(name_tokens(text[one.before : one.end])) - names
        names |= new
        waiting += [each for name in new for each in by_name.get(name, ())]
    return [one for one in functions if one.name not in names]
