r"""Constants whose values and types the compiler's flags choose, written out.

before: y[i] = (c[i] > '\377') * 0.1;    with -funsigned-char, or where `char` is unsigned anyway,
after:  y[i] = (c[i] > 255) * 0.1f;                             and -fsingle-precision-constant
"""

from __future__ import annotations

import re

from pycparser import c_ast

from polytile.c_flags import single_constants
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.preprocess import is_shipped

_ESCAPE = re.compile(r"'\\(?:x([0-9a-fA-F]{1,2})|([0-3]?[0-7]{1,2}))'")
_UNSIGNED = "__CHAR_UNSIGNED__"  # compilers define it where `char` is unsigned


def write_out_constants(file: ParsedFile) -> None:
    """Give characters beyond 127 their sign, and constants without a suffix their type.

    The declarations of polytile's own headers stay as they are: files share them.
    """
    unsigned, single = _UNSIGNED in file.source.macros, single_constants(file.source.cflags)
    own = (n for n in file.tree.ext if not is_shipped(location_of(n).file)) if unsigned or single else ()
    for node in (below for declaration in own for below in nodes_below(declaration)):
        match node:
            case c_ast.Constant(type="char", value=value) if unsigned and (escape := _ESCAPE.fullmatch(value)):
                node.type, node.value = "int", str(int(escape[1] or escape[2], 16 if escape[1] else 8))
            case c_ast.Constant(type="double", value=value) if single:
                node.type, node.value = "float", f"{value}f"
