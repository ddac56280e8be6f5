"""The values of the scalars that a block declares, followed statement by statement.

before: double t = x[i]; t *= 2; if (t < 1) t = -t;
after:  t is (double)((double)(x[i] * 2) < 1 ? -(double)(x[i] * 2) : (double)(x[i] * 2)), each in the type of t
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import type_of
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import changed_variables, changes_nothing_else
from polytile.frontend.trees import block_items, copied, substituted, written_name

_MOST = 100  # nodes of a value


@dataclass(slots=True)
class BlockValues:
    """Hold what is known behind the statements that were followed: values of what is outside of the block, which these
    statements may have changed."""

    types: dict[str, str] = field(default_factory=dict)  # of the scalars that the block declares; "" for what is none
    values: dict[str, c_ast.Node] = field(default_factory=dict)

    def used_in(self, item: c_ast.Node) -> c_ast.Node:
        """Return a copy of a statement with values in the place of scalars."""
        made: c_ast.Node = substituted(copied(item), self.values)
        return made

    def follow(self, item: c_ast.Node) -> bool:
        """Take a statement into account; False where it changes anything else than these scalars."""
        if isinstance(item, c_ast.Decl):
            plain = isinstance(item.type, c_ast.TypeDecl)
            self.types[str(item.name)] = type_of(item) if plain else ""
            self._set(str(item.name), item.init)
            return item.init is None or changes_nothing_else(item.init)
        changed = changed_variables(item)
        if not changed <= self.types.keys():
            self._forget(changed)
            return False
        if isinstance(item, c_ast.If):
            self._choose(item, changed)
        elif isinstance(item, c_ast.Assignment) and written_name(item) is not None:
            value = item.rvalue
            if item.op != "=":
                value = c_ast.BinaryOp(item.op[:-1], copied(item.lvalue), value, item.coord)
            self._set(str(written_name(item)), value)
        else:
            self._forget(changed)
        return True

    def _choose(self, node: c_ast.If, changed: Iterable[str]) -> None:
        """`t = a; if (c) t = b;` is `c ? b : a`."""
        ends = [BlockValues(dict(self.types), dict(self.values)) for _ in range(2)]
        simple = changes_nothing_else(node.cond)
        for end, branch in zip(ends, (node.iftrue, node.iffalse), strict=True):
            simple = simple and all(isinstance(n, c_ast.Assignment) and end.follow(n) for n in block_items(branch))
        condition = self.used_in(node.cond)
        for name in changed:
            then, other = (end.values.pop(name, None) for end in ends)
            if simple and then is not None and other is not None:
                self._keep(name, c_ast.TernaryOp(copied(condition), then, other, node.coord))
            else:
                self._forget((name,))

    def _set(self, name: str, value: c_ast.Node | None) -> None:
        if (
            value is None
            or not self.types[name]
            or isinstance(value, c_ast.InitList)
            or not changes_nothing_else(value)
        ):
            self._forget((name,))
            return
        declarator = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(self.types[name].split()))
        self._keep(name, c_ast.Cast(c_ast.Typename(None, [], None, declarator), self.used_in(value), value.coord))

    def _keep(self, name: str, value: c_ast.Node) -> None:
        if sum(1 for _ in nodes_below(value)) <= _MOST:
            self.values[name] = value
        else:
            self._forget((name,))

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.values.pop(name, None)
