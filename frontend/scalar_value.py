"""An integer variable of a SCoP and what it stands for: constants, sizes and iterators of the loops around, combined.

before: j = 2 * i + lo;  a[j] = 0;       followed statement by statement (induction_substitution.py)
after:  a[2 * i + lo] = 0;               each leaf in the type of j, so that no sum overflows in a narrower one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.constants import constant_type
from polytile.frontend.conversions import declared
from polytile.frontend.normalise import base_node
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import address_taken, substituted, variables_in, written_name
from polytile.frontend.trip_counts import Count, count_of
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import CType
from polytile.ir.name_supply import fresh


class UnknownValueError(Exception):
    """A value that is needed is not known."""


@dataclass(slots=True)
class ScalarValue:
    """A variable, and what is known of names where its value is asked for; a value of None is an unknown one."""

    name: str
    type: CType
    shape: Shape
    scope: Scope
    changing: frozenset[str]  # names that do not have one value in all of the statements
    taken: set[str]
    outer: bool  # declared outside the statements
    inner: Mapping[str, Sequence[Any]]  # the declarations in the statements, by name
    loops: list[tuple[str, CType]] = field(default_factory=list)  # the iterators of the loops around

    @classmethod
    def of(cls, name: str, body: Sequence[c_ast.Node], scope: Scope, *, unsigned: bool = False) -> Self:
        nodes = [n for node in body for n in nodes_below(node)]
        own = [n for n in nodes if isinstance(n, c_ast.Decl) and n.name == name]
        binding = scope.lookup(name)
        if len(own) > 1 or (own and binding is not None) or any(address_taken(n) == name for n in nodes):
            raise UnknownValueError
        if binding is not None and (binding.level == "global" or binding.static or binding.kind == "function"):
            raise UnknownValueError
        shape = scope.shape(own[0].type) if own else binding.shape if binding is not None else None
        if shape is None or not _is_counter(shape, unsigned=unsigned) or (own and own[0].storage):
            raise UnknownValueError
        assert shape.base is not None
        changed = {n for node in nodes if (n := written_name(node) or address_taken(node)) is not None}
        changed |= {str(n.name) for n in nodes if isinstance(n, c_ast.Decl) and n.name}
        taken = {str(n.name) for n in nodes if isinstance(n, c_ast.ID | c_ast.Decl) and n.name}
        taken |= {b.name for b in scope.bindings()}
        inner: dict[str, list[Any]] = {}
        for node in (n for n in nodes if isinstance(n, c_ast.Decl) and n.name):
            inner.setdefault(str(node.name), []).append(node)
        return cls(name, shape.base, shape, scope, frozenset(changed), taken, not own, inner)

    # Values ---------------------------------------------------------------------------------------------------------
    def _needed(self, value: c_ast.Node | None) -> c_ast.Node:
        if value is None:
            raise UnknownValueError
        return value

    def _with(self, node: Any, value: c_ast.Node | None) -> Any:
        """An expression or a simple statement with the variable's value in its place."""
        if not self._mentions(node):
            return node
        if self._writes(node):
            raise UnknownValueError
        return substituted(node, {self.name: self._needed(value)})

    def _known(self, node: Any) -> c_ast.Node:
        """A value in the type of the variable; made of constants, sizes, and iterators of the loops around."""
        match node:
            case c_ast.Constant():
                return self._converted(node, constant_type(node))
            case c_ast.ID():
                return self._converted(node, self._type_of(str(node.name)))
            case c_ast.UnaryOp(op="-" | "+" | "!"):
                node.expr = self._known(node.expr)
                return node
            case c_ast.BinaryOp(
                op="+" | "-" | "*" | "/" | "%" | "<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||" | "&"
            ):
                node.left, node.right = self._known(node.left), self._known(node.right)
                return node
            case c_ast.TernaryOp():
                node.cond, node.iftrue = self._known(node.cond), self._known(node.iftrue)
                node.iffalse = self._known(node.iffalse)
                return node
            case c_ast.Cast(expr=c_ast.ID() | c_ast.Constant()) if self._is_own_type(node.to_type):
                return self._known(node.expr)
        raise UnknownValueError

    def _is_own_type(self, node: c_ast.Node) -> bool:
        shape = self.scope.shape(node)
        return not shape.layers and shape.base == self.type

    def _converted(self, node: c_ast.Node, kind: CType | None) -> c_ast.Node:
        """A leaf of a value in the type of the variable, so that no sum or product overflows in a narrower one."""
        if kind == self.type:
            return node
        if kind is None or kind.size > self.type.size or (kind.size == self.type.size and not kind.signed):
            raise UnknownValueError
        declarator = c_ast.TypeDecl(None, [], None, base_node(self.shape, node.coord), node.coord)
        return c_ast.Cast(c_ast.Typename(None, [], None, declarator, node.coord), node, node.coord)

    def _type_of(self, name: str) -> CType | None:
        """The type of what has one value here, else None."""
        for loop, kind in reversed(self.loops):
            if loop == name:
                return kind
        binding = self.scope.lookup(name)
        if name == self.name:
            return self.type
        if binding is None or name in self.changing or binding.level == "global" or binding.static:
            return None
        plain = not binding.shape.layers and binding.shape.base is not None and binding.shape.base.kind == "int"
        return binding.shape.base if plain else None

    def _iterator_type(self, loop: Any, count: Count) -> CType:
        if count.declared:
            shape = self.scope.shape(loop.init.decls[0].type)
        else:
            binding = self.scope.lookup(count.name)
            inside = self.inner.get(count.name, ())
            if (binding is None and len(inside) != 1) or (binding is not None and inside):
                raise UnknownValueError  # of several variables of the name
            shape = binding.shape if binding is not None else self.scope.shape(inside[0].type)
        if shape.layers or shape.base is None or shape.base.kind != "int":
            raise UnknownValueError
        return shape.base

    # Questions ------------------------------------------------------------------------------------------------------
    def _mentions(self, node: c_ast.Node | None) -> bool:
        return any(isinstance(n, c_ast.ID | c_ast.Decl) and n.name == self.name for n in nodes_below(node))

    def _writes(self, node: c_ast.Node | None) -> bool:
        return changes(node, self.name)

    def _renamed(self, node: Any) -> Any:
        """The statement with another iterator in each loop that counts with the variable, which it declares."""
        for loop in [n for n in nodes_below(node) if isinstance(n, c_ast.For)]:
            count = count_of(loop)
            if count is not None and count.name == self.name and not count.declared:
                name = fresh(self.name, self.taken)
                start, other = loop.init.rvalue, {self.name: c_ast.ID(name, loop.coord)}
                loop.cond, loop.next = substituted(loop.cond, other), substituted(loop.next, other)
                loop.stmt = substituted(loop.stmt, other)
                loop.init = c_ast.DeclList([declared(name, start, self.shape, loop.coord)], loop.coord)
        return node


def _is_counter(shape: Shape, *, unsigned: bool) -> bool:
    base = shape.base
    return (
        not shape.layers
        and not shape.const
        and base is not None
        and base.kind == "int"
        and (base.signed or unsigned)
        and (base.size >= 4)
    )


def names(node: c_ast.Node) -> set[str]:
    return {str(use.name) for use in variables_in(node)}


def changes(node: c_ast.Node | None, name: str) -> bool:
    """Whether a statement sets a variable, other than by declaring another one of its name."""
    return any(written_name(n) == name or (isinstance(n, c_ast.Decl) and n.name == name) for n in nodes_below(node))
