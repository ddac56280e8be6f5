"""Constants without a suffix as `float`, as with gcc's -fsingle-precision-constant.

before: y[i] = x[i] * 0.1 + 0x1p-3;    after: y[i] = x[i] * 0.1f + 0x1p-3f;
"""

from __future__ import annotations

from pycparser import c_ast

from polytile.c_flags import single_constants
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.preprocess import is_shipped


def make_constants_single(file: ParsedFile) -> None:
    """Give each floating-point constant without a suffix an `f`, where the flags of the file say so.

    The declarations of polytile's own headers stay as they are: files share them.
    """
    if not single_constants(file.source.cflags):
        return
    own = (n for n in file.tree.ext if not is_shipped(location_of(n).file))
    for node in (below for declaration in own for below in nodes_below(declaration)):
        if isinstance(node, c_ast.Constant) and node.type == "double":
            node.type, node.value = "float", f"{node.value}f"
