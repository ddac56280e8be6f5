"""Elements that a block has just set, as what they were set to: what decides which elements are used need not be read.

before: q[i] = p[i] / 2; y[i] = x[q[i]];
after:  int v = p[i] / 2; q[i] = v; y[i] = x[v];

That is store-to-load forwarding along the syntax tree: it ends where a statement may change the element, or another
one of its array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import declared, unused
from polytile.frontend.trees import copied, map_children, map_statements, text_of, variables_in
from polytile.frontend.written_names import may_change
from polytile.ir.expr import CType


def with_forwarded_elements(
    body: Sequence[c_ast.Node], kind: Callable[[str], CType | None], taken: set[str]
) -> tuple[c_ast.Node, ...]:
    """A copy of statements; `kind` is the type of an array's elements, None where they are no integers, and `taken` are
    the names that others have."""
    return tuple(_Forwarding(kind, set(taken)).block([copied(node) for node in body]))


@dataclass(frozen=True, slots=True)
class _Forwarding:
    kind: Callable[[str], CType | None]
    taken: set[str]

    def block(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        done: list[c_ast.Node] = []
        left = [self._visit(item) for item in items]
        while left:
            item, *left = left
            made = self._forwarded(item, left)
            if made is None:
                done.append(item)
                continue
            first, left = made
            done += first
        return done

    def _visit(self, node: Any) -> Any:
        if isinstance(node, c_ast.Compound):
            node.block_items = self.block(node.block_items or ())
            return node
        return map_statements(node, self._visit)

    def _forwarded(self, item: c_ast.Node, left: list[c_ast.Node]) -> tuple[list[c_ast.Node], list[c_ast.Node]] | None:
        """The statement with its value in a variable, and those behind it that use this; None where none does."""
        match item:
            case c_ast.Assignment(op="=", lvalue=c_ast.ArrayRef(name=c_ast.ID(name=array)) as target, rvalue=value):
                kind = self.kind(str(array))
            case _:
                return None
        if kind is None:
            return None
        text, parts = text_of(target), {str(use.name) for use in variables_in(target)}
        name = unused(f"{array}_value", self.taken)
        later, uses = _replaced(left, text, parts, name)
        if not uses:
            return None
        self.taken.add(name)
        set_first = c_ast.Assignment("=", target, c_ast.ID(name, item.coord), item.coord)
        return [declared(name, kind.name, value), set_first], later


def _replaced(items: list[c_ast.Node], text: str, parts: set[str], name: str) -> tuple[list[c_ast.Node], int]:
    """Statements with a variable in the place of an element, up to the first that may change it; and how many uses that
    are. What is assigned is computed before it changes anything."""
    uses = 0

    def change(node: Any) -> Any:
        nonlocal uses
        if isinstance(node, c_ast.ArrayRef) and text_of(node) == text:
            uses += 1
            return c_ast.ID(name, node.coord)
        return map_children(node, change)

    for k, item in enumerate(items):
        if not may_change(item) & parts:
            items[k] = change(item)
            continue
        if isinstance(item, c_ast.Assignment) and not may_change(item.rvalue):
            item.rvalue = change(item.rvalue)
        break
    return items, uses
