"""The values of C's integer and character constants, in all their spellings."""

from __future__ import annotations

import re

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27, "E": 27}
_ESCAPES |= {code: ord(code) for code in "\\'\"?"}
_CHARACTER = (
    r"(?s)\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]+)|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})|(?P<letter>.))"
    r"|(?P<plain>[^\\])"
)
_CONSTANT = re.compile(r"(?P<prefix>u8|[LuU])?'(?P<inside>(?:\\.|[^\\'\n])+)'", re.DOTALL)
_BYTES = {"L": 4, "U": 4, "u": 2, "u8": 1}  # of a character with a prefix
MOST_CHARACTERS = 4  # in an int


def integer_value(text: str) -> int | None:
    """Return the value of an integer constant, `10`, `0x1fUL`, `017`, `0b11`, `1'000`; None for another constant."""
    digits = text.replace("'", "").rstrip("uUlL")
    base = {"0x": 16, "0X": 16, "0b": 2, "0B": 2}.get(digits[:2], 8 if digits[:1] == "0" else 10)
    if not digits[:1].isdigit() or "_" in digits or text.startswith("'"):
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None


def literal_value(text: str) -> int | None:
    """Return the value of an integer literal of the IR, which may have a sign, or None."""
    value = integer_value(text.removeprefix("-"))
    return -value if value is not None and text.startswith("-") else value


def character_value(text: str, *, unsigned_char: bool = False) -> tuple[str, int] | None:
    r"""Return the prefix and the value of a character constant, or None.

    `'a'`, `'\n'`, `'\x41'`, `L'\u00e9'`, `'ab'` have the values that gcc and clang compute. Returns None for what is
    none, and for those of which compilers make different values.
    """
    constant = _CONSTANT.fullmatch(text)
    if constant is None:
        return None
    prefix = constant["prefix"] or ""
    codes = [_code(found, narrow=prefix in ("", "u8")) for found in re.finditer(_CHARACTER, constant["inside"])]
    if any(code is None or code >> 8 * _BYTES.get(prefix, 1) for code in codes):
        return None
    if len(codes) > (1 if prefix else MOST_CHARACTERS):
        return None
    value = 0
    for code in codes:
        value = value << 8 | (code or 0)
    bits = 32 if len(codes) > 1 or prefix == "L" else 8
    signed = prefix == "L" or (not prefix and (len(codes) > 1 or not unsigned_char))
    return prefix, value - (1 << bits) if signed and value >> bits - 1 else value


def _code(found: re.Match[str], *, narrow: bool) -> int | None:
    """Return the code of one character, or None: bytes of what is not ASCII depend on the compiler's character set."""
    if found["octal"] or found["hex"]:
        return int(found["octal"], 8) if found["octal"] else int(found["hex"], 16)
    if found["u"] or found["U"]:
        return None if narrow else int(found["u"] or found["U"], 16)
    if found["letter"]:
        return _ESCAPES.get(found["letter"])
    code = ord(found["plain"])
    return None if code >= 128 and (narrow or 0xD800 <= code < 0xE000) else code
