"""Types that C leaves to the compiler and its flags, written out.

before: char c[8]; y[i] = (c[i] > '\\377') * 0.1;    with -funsigned-char, or where `char` is unsigned anyway,
after:  unsigned char c[8]; y[i] = (c[i] > 255) * 0.1f;                      and -fsingle-precision-constant
"""

from __future__ import annotations

import re
from collections.abc import Collection

from pycparser import c_ast

from polytile.c_flags import of_values, single_constants
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.preprocess import is_shipped

_GIVEN_UNSIGNED = frozenset(("-funsigned-char", "-fno-signed-char"))
_GIVEN_SIGNED = frozenset(("-fsigned-char", "-fno-unsigned-char"))
_ESCAPE = re.compile(r"'\\(?:x([0-9a-fA-F]{1,2})|([0-3]?[0-7]{1,2}))'")
_UNSIGNED = "__CHAR_UNSIGNED__"  # compilers define it where `char` is unsigned


def write_out_types(file: ParsedFile) -> None:
    """Give `char` its sign where that is not the usual one, and constants without a suffix their type.

    The declarations of polytile's own headers stay as they are: files share them.
    """
    flags = of_values(file.source.cflags)
    character = _character(file, flags)
    single = single_constants(flags)
    own = (n for n in file.tree.ext if not is_shipped(location_of(n).file)) if character or single else ()
    for node in (below for declaration in own for below in nodes_below(declaration)):
        match node:
            case c_ast.IdentifierType(names=["char"]) if character:
                node.names = list(character)
            case c_ast.Constant(type="char", value=value) if character and (escape := _ESCAPE.fullmatch(value)):
                code = int(escape[1] or escape[2], 16 if escape[1] else 8)
                node.type, node.value = "int", str(code if character[0] == "unsigned" or code < 128 else code - 256)
            case c_ast.Constant(type="double", value=value) if single:
                node.type, node.value = "float", f"{value}f"


def _character(file: ParsedFile, flags: Collection[str]) -> list[str] | None:
    """What `char` is: as the compiler says; where none was asked, as its flags do; None for what it is on x86-64."""
    if _UNSIGNED in file.source.macros or not _GIVEN_UNSIGNED.isdisjoint(flags):
        return ["unsigned", "char"]
    return None if _GIVEN_SIGNED.isdisjoint(flags) else ["signed", "char"]
