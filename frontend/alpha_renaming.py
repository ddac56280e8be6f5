"""Alpha renaming: a name for each of several variables of one name, so that statements can be rewritten by name.

before: for (i = 0; i < n; i++) { a[c++] = b[i]; for (int i = 0; i < 4; i++) d[i] = 0; }
after:  for (i = 0; i < n; i++) { a[c++] = b[i]; for (int i_ = 0; i_ < 4; i_++) d[i_] = 0; }
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, declarations_of, free_variables_in, map_children, substituted
from polytile.ir.name_supply import fresh

_BLOCKS = (c_ast.Compound, c_ast.For, c_ast.If, c_ast.While, c_ast.DoWhile, c_ast.Switch)


def with_names_apart(body: Sequence[c_ast.Node], scope: Scope, wanted: Collection[str]) -> tuple[c_ast.Node, ...]:
    """Copies of the statements of a SCoP in `scope`, where no declaration hides a variable that they use, or one of
    their own around it, and the names in `wanted` are declared once."""
    copies = [copied(node) for node in body]
    nodes = [n for node in copies for n in nodes_below(node)]
    taken = {str(n.name) for n in nodes if isinstance(n, c_ast.ID | c_ast.Decl) and n.name}
    taken |= {b.name for b in scope.bindings()}
    outer = {str(use.name) for use in free_variables_in(copies)}
    bound = {name for name in wanted if scope.lookup(name) is not None}
    return tuple(_Renaming(frozenset(wanted), taken, set(bound)).items(copies, frozenset(outer)))


@dataclass(slots=True)
class _Renaming:
    """`taken` are names that are in use, `seen` those of the `wanted` that are declared already."""

    wanted: frozenset[str]
    taken: set[str]
    seen: set[str] = field(default_factory=set)

    def items(self, nodes: Sequence[c_ast.Node], around: frozenset[str]) -> list[c_ast.Node]:
        """The statements of a block, inside of declarations of the names `around`."""
        result: list[c_ast.Node] = []
        renamed: dict[str, c_ast.Node] = {}
        for node in nodes:
            for declaration in declarations_of(node):
                renamed.update(self._renamed(declaration, around))
            inside = around | {str(d.name) for d in declarations_of(node)}
            node = self._inside(node, inside)
            result.append(substituted(node, renamed) if renamed else node)
            around = inside
        return result

    def _renamed(self, declaration: Any, around: frozenset[str]) -> dict[str, c_ast.Node]:
        name = str(declaration.name)
        again = name in self.seen
        if name in self.wanted:
            self.seen.add(name)
        if name not in around and not again:
            return {}
        other = fresh(name, self.taken)
        self.taken.add(other)
        return {name: c_ast.ID(other, declaration.coord)}

    def _inside(self, node: Any, around: frozenset[str]) -> Any:
        """A statement with what is declared in it renamed, which is not yet what it declares itself."""
        match node:
            case c_ast.Compound():
                node.block_items = self.items(node.block_items or [], around)
                return node
            case c_ast.For(init=c_ast.DeclList() as init):
                parts = [init, *(p for p in (node.cond, node.next, node.stmt) if p is not None)]
                made = iter(self.items(parts, around))
                for slot in ("init", "cond", "next", "stmt"):
                    if getattr(node, slot) is not None:
                        setattr(node, slot, next(made))
                return node
        return map_children(node, lambda child: self._inside(child, around)) if isinstance(node, _BLOCKS) else node
