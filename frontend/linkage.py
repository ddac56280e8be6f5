"""What the linker sees of a file, and names for its functions that no other file of the program has."""

from __future__ import annotations

import hashlib

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.parse import ParsedFile

_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Linkage:
    """Which functions of a file other files may have too, under the same name, and what marks those of this file.

    Two files of one program may each have a `static void smooth()`, but what they define for the linker differs: the
    names of these definitions make the mark. A program has one `main`, so the file that defines it needs no mark. An
    `inline` function may stand in many files as well.
    """

    shared: frozenset[str]
    mark: str

    @classmethod
    def of(cls, file: ParsedFile) -> Linkage:
        functions = [item.decl for item in file.tree.ext if isinstance(item, c_ast.FuncDef)]
        declared = [item for item in file.tree.ext if isinstance(item, c_ast.Decl) and item.name]
        shared = frozenset(str(d.name) for d in (*functions, *declared) if "static" in d.storage or _inline(d))
        variables = [d for d in declared if not isinstance(d.type, c_ast.FuncDecl) and "extern" not in d.storage]
        defined = {str(d.name) for d in (*functions, *variables)} - shared
        if "main" in defined:
            return cls(frozenset(), "")
        text = "\n".join(sorted(defined)) or file.source.raw
        return cls(shared, hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS])

    def unique(self, function: str) -> str:
        """A name for what is made of `function`: `smooth`, or `smooth_3fa81c0d` where other files may have one too."""
        return f"{function}_{self.mark}" if function in self.shared else function


def _inline(declaration: c_ast.Decl) -> bool:
    return "inline" in (declaration.funcspec or ())
