"""What statements may change, by name."""

from __future__ import annotations

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import WRITING, possible_bases, variables_in


def may_change(item: c_ast.Node) -> set[str]:
    """The variables, arrays and structs that a statement may change or declare."""
    names = {str(n.name) for n in nodes_below(item) if isinstance(n, c_ast.Decl)}
    for node in nodes_below(item):
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in (*WRITING, "&"):
            target = node.expr
        if target is not None:
            names |= {str(base.name) for base in possible_bases(target)} or {str(u.name) for u in variables_in(target)}
    return names
