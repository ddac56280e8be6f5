"""Declarations without a type, which C before C99 took for `int`.

before: static n; f(a, k) double *a; { ... }
after:  static int n; int f(a, k) double *a; int k; { ... }
"""

from __future__ import annotations

import re

from pycparser import c_ast

_MISSING_TYPE = "missing type in declaration"
_NO_DECLARATION = "invalid function definition"  # so the parser calls whatever starts with a name at the file's level
_DECLARED = r"[A-Za-z_]\w*\s*(?:[;,=\[]|\([^(){}]*\)\s*(?:[;,{]|[^{}]*;\s*\{))"
_NAME = r"(?:[\s*(]|(?:const|volatile|restrict|static|register)\b)*([A-Za-z_]\w*)"


def lacks_only_a_type(message: str, rest: str) -> bool:
    """Whether a syntax error may be that of a declaration without a type; `rest` is the text from its place on."""
    message = message.lower()
    return message == _MISSING_TYPE or (message == _NO_DECLARATION and re.match(_DECLARED, rest) is not None)


def declared_name(rest: str) -> str:
    """What a declaration without a type declares; `rest` is the text from its place on."""
    found = re.match(_NAME, rest)
    return found[1] if found else ""


def declare_listed_parameters(tree: c_ast.FileAST) -> None:
    """Let old-style definitions declare all parameters that they list, in place."""
    for function in tree.ext:
        if not isinstance(function, c_ast.FuncDef):
            continue
        declarator = function.decl.type
        while isinstance(declarator, c_ast.PtrDecl | c_ast.ArrayDecl):
            declarator = declarator.type
        listed = [n for n in (declarator.args.params if declarator.args else ()) if isinstance(n, c_ast.ID)]
        declared = {node.name for node in function.param_decls or () if isinstance(node, c_ast.Decl)}
        added = [_int(node) for node in listed if node.name not in declared]
        if added:
            function.param_decls = [*(function.param_decls or ()), *added]


def _int(node: c_ast.ID) -> c_ast.Decl:
    kind = c_ast.TypeDecl(node.name, [], None, c_ast.IdentifierType(["int"], node.coord), node.coord)
    return c_ast.Decl(node.name, [], [], [], [], kind, None, None, node.coord)
