"""C and CUDA as lines of highlighted HTML.

before: a[i] = 0;  // why.c:4
after:  a[i] = <i class="n">0</i>;  <i class="c">// why.c:4</i>

A line is complete in itself: a comment over two lines is marked in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.c_like import CudaLexer
from pygments.token import Comment, Keyword, Literal, Name

# The kinds of words that have a look of their own, the special before the general; what is not here is plain.
_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment.Preproc, "p"),
    (Comment.PreprocFile, "s"),
    (Comment, "c"),
    (Keyword.Type, "t"),
    (Keyword, "k"),
    (Literal.String, "s"),
    (Literal.Number, "n"),
    (Name.Function, "f"),
    (Name.Builtin, "t"),
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")
_LATIN_1 = 0xDC00  # bytes that are no UTF-8 were read as this and their value
_FIRST_PRINTED = 0xA0  # of the upper half of Latin-1


def clean(text: str) -> str:
    """Make a text fit for a page of UTF-8: bytes that were no UTF-8 are shown as Latin-1 has them, what no page may
    hold as a replacement character."""
    return _UNSHOWN.sub(_shown, _LINE_END.sub("\n", text).replace("\f", " ").replace("\v", " "))


def _shown(found: re.Match[str]) -> str:
    value = ord(found[0]) - _LATIN_1
    return chr(value) if _FIRST_PRINTED <= value <= 0xFF else "\ufffd"


def lines_of(text: str) -> list[str]:
    """Split a text into lines as C and its compilers count them; a line end at the end begins none."""
    lines = _LINE_END.split(text)
    return lines[:-1] if lines and not lines[-1] else lines


def c_lines(text: str) -> list[Markup]:
    """Return the lines of C in colours."""
    return _highlighted(text, _lexer(CLexer))


def cuda_lines(text: str) -> list[Markup]:
    """Return the lines of CUDA in colours."""
    return _highlighted(text, _lexer(CudaLexer))


@lru_cache(maxsize=2)
def _lexer(kind: type[Lexer]) -> Lexer:
    return kind(stripnl=False, ensurenl=False)


def _highlighted(text: str, lexer: Lexer) -> list[Markup]:
    if not text:
        return []
    lines: list[list[str]] = [[]]
    for name, words in _joined(lexer.get_tokens(clean(text))):
        for number, part in enumerate(words.split("\n")):
            if number:
                lines.append([])
            if part:
                shown = escape(part)
                lines[-1].append(f'<i class="{name}">{shown}</i>' if name else str(shown))
    made = [Markup("".join(parts)) for parts in lines]
    return made[:-1] if not made[-1] else made


def _joined(tokens: Iterator[tuple[Any, str]]) -> Iterator[tuple[str, str]]:
    """Join neighbours of one class."""
    before, words = "", ""
    for token, text in tokens:
        name = _class_of(token)
        if name != before and words:
            yield before, words
            words = ""
        before = name
        words += text
    if words:
        yield before, words


@lru_cache(maxsize=256)
def _class_of(token: Any) -> str:
    return next((name for kind, name in _CLASSES if token in kind), "")


def cut(lines: Sequence[Markup], most: int) -> tuple[Sequence[Markup], int]:
    """Return the first lines, and how many more there are."""
    return lines[:most], max(len(lines) - most, 0)
