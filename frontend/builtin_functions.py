"""Functions that need no declaration: what polyhedral tools and PENCIL write, and promises to compilers."""

from __future__ import annotations

from pycparser import c_ast

from polytile.frontend.math_functions import INDEX_HELPERS

PROMISES = ("__builtin_assume", "__pencil_assume")
NO_OPERATIONS = ("__pencil_assume", "__pencil_kill", "__pencil_use")
WITHOUT_EFFECT = (*PROMISES, *NO_OPERATIONS, "__builtin_expect")


def is_builtin(name: str) -> bool:
    """Whether a call of `name` needs no declaration."""
    return name.startswith("__builtin_") or name in INDEX_HELPERS or name in WITHOUT_EFFECT


def calls(node: c_ast.Node, names: tuple[str, ...]) -> bool:
    """Whether a node is a call of one of these functions."""
    return isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) and node.name.name in names
