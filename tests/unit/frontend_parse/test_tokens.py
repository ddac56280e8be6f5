"""Those who ask for names or comments alone find what the tokenizer finds."""

from __future__ import annotations

import random
import re

from polytile.frontend.tokens import _TOKEN, blank_comments, name_tokens

PIECES = (
    *('"', "'", "/", "*", "//", "/*", "*/", "\\", "\n", "\r\n", "\\\n", "u8", "L", "U", 'u8"', "L'", "a", "x1"),
    *("0x1p", "1e+", "3.", ".", " ", "#", "$", "_", "é", "\t", "1e-3u", ".5f", "..."),
)


def names(text: str) -> list[str]:
    return [m.group() for m in _TOKEN.finditer(text) if m.lastgroup == "name"]


def blanked(text: str) -> str:
    found = ((m.group(), m.lastgroup == "comment") for m in _TOKEN.finditer(text))
    return "".join(re.sub(r"[^\n]", " ", part) if comment else part for part, comment in found)


def test_names_and_comments_are_those_of_the_tokens() -> None:
    draw = random.Random(1)
    for _ in range(20_000):
        text = "".join(draw.choices(PIECES, k=draw.randint(1, 14)))
        assert list(name_tokens(text)) == names(text), text
        assert blank_comments(text) == blanked(text), text
