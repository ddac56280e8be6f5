"""A tokenizer for C text that keeps offsets: for columns, for spans, never for meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v\n]|\\\r?\n)+)
  | (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>[uUL]?'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<name>[A-Za-z_$][\w$]*)
  | (?P<punct>\.\.\.|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^!=<>]=|<<|>>|<:|:>|<%|%>|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)
DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}"}
_COMMENT = r"//(?:\\\r?\n|[^\n])*|/\*.*?\*/"
_NUMBER = r"\.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])*"  # with the digit separators of C23
_STRING, _CHAR = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'"
# For those who ask a whole file for one kind of token, in which the others need not be told apart.
_NAMES = re.compile(
    rf"{_COMMENT}|(?:u8|[uUL])?{_STRING}|[uUL]?{_CHAR}|{_NUMBER}|([A-Za-z_$][\w$]*)", re.DOTALL
)
_COMMENTS = re.compile(rf"(?P<comment>{_COMMENT})|{_STRING}|(?<![\w$]){_NUMBER}|{_CHAR}", re.DOTALL)


class Token(NamedTuple):
    """`kind` is "string", "char", "number", "name" or "punct"; `offset` counts characters from 0."""

    kind: str
    text: str
    offset: int


def tokenize(text: str, start: int = 0) -> Iterator[Token]:
    """The tokens of `text` from offset `start`, without blanks and comments."""
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup
        if kind is not None and kind not in ("space", "comment"):
            yield Token(kind, match.group(), match.start())


def name_tokens(text: str) -> Iterator[str]:
    """The names among the tokens."""
    return filter(None, _NAMES.findall(text))


def blank_comments(text: str) -> str:
    """`text` with each comment replaced by blanks of the same length and the same line ends."""
    return _COMMENTS.sub(lambda m: m[0] if m["comment"] is None else re.sub(r"[^\n]", " ", m[0]), text)
