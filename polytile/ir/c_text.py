"""Text that comes from outside, such as the name of a file, where it can do no harm in C: in strings and comments."""

from __future__ import annotations

import re

_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_ESCAPED = re.compile(r'[\\"?\x00-\x1f\x7f]')


def c_string(text: str) -> str:
    """Return a string literal of C for `text`: `a"b` is `"a\\"b"`; no trigraph and no end of line remains in it."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return f"\\{ord(character):03o}" if character < " " or character == "\x7f" else f"\\{character}"


def c_unescaped(text: str) -> str:
    """Return the text between the quotes of a string literal, as preprocessors write names of files, unescaped."""
    found = re.sub(rb"\\([0-7]{3}|.)", _unescape, text.encode("utf-8", "surrogateescape"), flags=re.DOTALL)
    return found.decode("utf-8", "surrogateescape")


def _unescape(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8) & 255]) if len(found[1]) == 3 else _LETTERS.get(found[1], found[1])


def one_line(text: str) -> str:
    """Return `text` made safe after `//`: one line, whose end joins it to no other."""
    flat = " ".join(text.replace("\0", " ").split()).replace("??/", "?? /")
    return flat.rstrip("\\ ")


def in_comment(text: str) -> str:
    """Return `text` made safe between `/*` and `*/`."""
    return one_line(text).replace("*/", "* /").replace("/*", "/ *")
