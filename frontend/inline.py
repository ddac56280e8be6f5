"""Inlining."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycparser import c_ast

from polytile.frontend.scope import Scope


@dataclass(frozen=True, slots=True)
class Inlined:
    """Statements after inlining, and the functions of the file that they still call."""

    body: tuple[c_ast.Node, ...]
    functions: Mapping[str, c_ast.FuncDef] = field(default_factory=dict)


def inlined(
    body: tuple[c_ast.Node, ...], scope: Scope, functions: Mapping[str, tuple[c_ast.FuncDef, Scope]]
) -> Inlined:
    return Inlined(body)
