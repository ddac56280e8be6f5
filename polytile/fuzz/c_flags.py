"""Random programs for flags of the C compiler: unsigned types become those that the flags make of other ones.

before: unsigned char x[n]; x[i] += 3u * y[i];
after:  char x[n]; ...          with -funsigned-char
        enum small x[n]; ...    with -fshort-enums
        unsigned char x[n]; x[i] += 3 * y[i]; and `int y[n]`, which wraps around, with -fwrapv
"""

from __future__ import annotations

import re

FLAGS = ("-funsigned-char", "-fwrapv", "-fshort-enums", "-fsingle-precision-constant")
_CHARACTER = re.compile(r"\bunsigned char\b")
_INTEGER = re.compile(r"\bunsigned\b(?! (?:char|short|int|long))")
_CONSTANT = re.compile(r"\b(0x[0-9a-f]+|[0-9]+)u\b")
_SMALL = "enum small { LEAST, MOST = 255 };\n"


def respelt(text: str, cflags: tuple[str, ...]) -> str:
    """Return a program with the types that are to be tried with these flags; its values are as defined as before."""
    if "-funsigned-char" in cflags:
        return _CHARACTER.sub("char", text)
    if "-fshort-enums" in cflags and _CHARACTER.search(text):
        return _SMALL + _CHARACTER.sub("enum small", text)
    if "-fwrapv" in cflags:
        return _CONSTANT.sub(r"\1", _INTEGER.sub("int", text))
    return text
