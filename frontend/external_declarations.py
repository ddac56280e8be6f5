"""The external declarations of a preprocessed text, by its brackets alone: what can be read apart from what cannot.

before: int a[4]; static int f(int x) { return x; } struct s { int n; } t;
after:  int a[4];    static int f(int x) { return x; }    struct s { int n; } t;
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from polytile.dataclass import dataclass
from polytile.frontend.tokens import DIGRAPHS, Token, tokenize

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TAGGED = frozenset(("struct", "union", "enum"))
_MOST_LISTED = 32  # declarations of old-style parameters in front of a body
_WORD = r"[A-Za-z_$][\w$]*"


@dataclass(frozen=True, slots=True)
class ExternalDeclaration:
    """A stretch of a text, which begins `before` the directives in front of it; `name` is that of a function that it
    defines, else empty; `outer` are the tokens that stand in no bracket of it, `inner` is a name in `(*name`, if there
    is one."""

    before: int
    start: int
    end: int
    name: str
    outer: tuple[Token, ...]
    inner: str = ""

    @property
    def types(self) -> frozenset[str]:
        """The names that a `typedef` may declare, and those of types that it is made of: all outside of brackets but
        tags."""
        if not any(t.text == "typedef" for t in self.outer):
            return frozenset()
        pairs = pairwise((Token("punct", "", 0), *self.outer))
        names = (t.text for last, t in pairs if t.kind == "name" and last.text not in _TAGGED)
        return frozenset((*names, self.inner)) - {""}


def external_declarations(text: str) -> list[ExternalDeclaration] | None:
    """Those of a text, in order; None where its brackets do not match, or its last one does not end."""
    found: list[ExternalDeclaration] = []
    outer: list[Token] = []
    expected: list[str] = []
    start, body, inner = -1, False, ""
    last = ["", ""]
    for token in without_directives(text):
        word = DIGRAPHS.get(token.text, token.text)
        if token.kind == "name" and last == ["(", "*"] and len(expected) == 1 and not inner:
            inner = word
        last = [last[1], word]
        start = token.offset if start < 0 else start
        if word in _CLOSING:
            if not expected:
                body = word == "{" and _is_body(outer)
                outer.append(token)
            expected.append(_CLOSING[word])
            continue
        if word in (")", "]", "}") and (not expected or expected.pop() != word):
            return None
        if expected:
            continue
        outer.append(token)
        if word == ";" or (word == "}" and body):
            name = (inner or _function_name(outer)) if word == "}" else ""
            before, end = found[-1].end if found else 0, token.offset + len(word)
            found.append(ExternalDeclaration(before, start, end, name, tuple(outer), inner))
            if outer[0].text == "{":
                _join_old_style(found)
            start, body, inner, outer = -1, False, "", []
    return found if start < 0 else None


def without_directives(text: str) -> Iterator[Token]:
    """The tokens that are on no line of a directive."""
    end = 0
    for token in tokenize(text):
        if token.offset < end:
            continue
        if token.text == "#" and not text[text.rfind("\n", 0, token.offset) + 1 : token.offset].strip():
            end = text.find("\n", token.offset) % (len(text) + 1)
            continue
        yield token


def _is_body(outer: Sequence[Token]) -> bool:
    """Whether a brace behind these tokens opens the body of a function, and not a type or a list of values."""
    if not outer:
        return True  # behind the parameters of an old-style definition
    words = [t.text for t in outer]
    if words[-1] in _TAGGED or (len(words) > 1 and words[-2] in _TAGGED and outer[-1].kind == "name"):
        return False
    return ")" in words and "=" not in words


def _function_name(outer: Sequence[Token]) -> str:
    """The name in front of the first bracket that has one in front, as parameters have."""
    return next((one.text for one, other in pairwise(outer) if one.kind == "name" and other.text == "("), "")


def _join_old_style(found: list[ExternalDeclaration]) -> None:
    """before: int f(a) int a;    { return a; }
    after:  int f(a) int a; { return a; }
    """
    for back in range(2, min(_MOST_LISTED, len(found)) + 1):
        first = found[-back]
        words = [t.text for t in first.outer]
        if ")" in words[:-2]:
            outer = tuple(t for each in found[-back:] for t in each.outer)
            name = first.inner or _function_name(outer)
            found[-back:] = [replace(first, end=found[-1].end, name=name, outer=outer)]
            return


def words_in(text: str) -> frozenset[str]:
    """All words of a text, those in strings too: inline assembly names variables there."""
    return frozenset(re.findall(_WORD, text))
