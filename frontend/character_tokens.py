r"""Character constants as the numbers that they are in C, before anything else sees them.

before: b[i - 'a'] = '\xff';  case L'x':  sizeof u'x'       1'000
after:  b[i - 97] = (-1);     case 120:   sizeof ((unsigned short)120)   1000

One of which compilers make different values, or whose characters are not ASCII, stays as it is, and is refused where a
SCoP reads it.
"""

from __future__ import annotations

from pycparser.c_lexer import Token

from polytile.frontend.preprocess import Preprocessed
from polytile.ir.integer_constants import character_value

_KINDS = frozenset(("CHAR_CONST", "WCHAR_CONST", "U8CHAR_CONST", "U16CHAR_CONST", "U32CHAR_CONST", "INT_CONST_CHAR"))
_CAST = {"u": ("SHORT", "short"), "u8": ("CHAR", "char")}


def chars_are_unsigned(source: Preprocessed) -> bool:
    """Whether a plain `char` is unsigned, as compilers tell by a macro."""
    return "__CHAR_UNSIGNED__" in source.macros


def as_numbers(token: Token, *, unsigned_char: bool) -> list[Token]:
    """The tokens that the parser reads in place of one."""
    if token.type not in _KINDS:
        if token.type.startswith("INT_CONST"):
            token.value = token.value.replace("'", "")
        return [token]
    found = character_value(token.value, unsigned_char=unsigned_char)
    if found is None:
        return [token]
    prefix, value = found

    def made(kind: str, text: str) -> Token:
        return Token(kind, text, token.lineno, token.column, token.filename)

    number = made("INT_CONST_DEC", f"{abs(value)}{'U' if prefix == 'U' else ''}")
    opened, closed = made("LPAREN", "("), made("RPAREN", ")")
    if prefix in _CAST:
        return [opened, opened, made("UNSIGNED", "unsigned"), made(*_CAST[prefix]), closed, number, closed]
    return [opened, made("MINUS", "-"), number, closed] if value < 0 else [number]
