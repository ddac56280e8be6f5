"""Pointers that a SCoP sets: the array that each points into, and how far behind its first element.

before: double *p = a + k; for (i < n) { *p = b[i]; p++; }
after:  long p_at = k; for (i < n) { a[p_at] = b[i]; p_at += 1; }

A pointer is taken so where all that it is set to lies in one array of one dimension, where it is set before it is used,
and where nobody asks for it behind the SCoP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.alpha_renaming import with_names_apart
from polytile.frontend.ast_builders import declared, names_in, unused
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, copied, map_children, variables_in, written_name
from polytile.frontend.type_shapes import Shape

_STEPS = {"++": "+=", "p++": "+=", "--": "-=", "p--": "-="}


def with_pointer_offsets(
    body: Sequence[c_ast.Node], scope: Scope, live_after: Callable[[str], bool]
) -> tuple[tuple[c_ast.Node, ...], frozenset[str]]:
    """The statements of a SCoP, whose types are spelt out, with offsets in the place of pointers that they set; and
    these pointers."""
    index = NodeIndex.of(body)
    own = {str(n.name) for n in index.all(c_ast.Decl) if _declares_pointer(n)}
    if not own and not any(_is_pointer_in(scope, name) for name in index.written):
        return tuple(body), frozenset()
    apart = with_names_apart(body, scope, own)
    found = _Pointers.of(apart, scope, live_after)
    if not found.bases:
        return tuple(body), frozenset()
    taken = names_in(apart)
    offsets = {name: unused(f"{name}_at", taken) for name in found.bases}
    return tuple(_Rewriting(found.bases, offsets).items(apart)), frozenset(found.bases)


def _is_pointer_in(scope: Scope, name: str) -> bool:
    binding = scope.lookup(name)
    return binding is not None and _is_pointer(binding.shape)


def _declares_pointer(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl)


@dataclass(slots=True)
class _Pointers:
    """What is known of the pointers that statements set: the array that each points into."""

    scope: Scope
    shapes: dict[str, Shape]
    bases: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Sequence[c_ast.Node], scope: Scope, live_after: Callable[[str], bool]) -> _Pointers:
        nodes = [n for item in body for n in nodes_below(item)]
        made = cls(scope, {})
        for node in filter(_declares_pointer, nodes):
            made.shapes[str(node.name)] = scope.shape(node.type)
        own = set(made.shapes)
        set_ = {name for n in nodes if (name := written_name(n)) is not None}
        for name in set_ - own:
            binding = scope.lookup(name)
            if binding is not None and _is_pointer(binding.shape) and not live_after(name):
                made.shapes[name] = binding.shape
        values = [(n.name, n.init) for n in nodes if isinstance(n, c_ast.Decl) and n.name in made.shapes and n.init]
        values += [
            (written_name(n) or "", n.rvalue)
            for n in nodes
            if isinstance(n, c_ast.Assignment) and n.op == "=" and written_name(n) in made.shapes
        ]
        made._find(values)
        for name in list(made.bases):
            base = scope.lookup(made.bases[name])
            fits = base is not None and len(base.shape.layers) == 1 and base.shape.base == made.shapes[name].base
            whole = len(made.shapes[name].layers) == 1 and made.bases[name] not in set_
            if not (fits and whole and _set_before_used(name, body)):
                del made.bases[name]
        while lost := [name for name, value in values if made._strays(name, value)]:
            for name in lost:
                made.bases.pop(name, None)
        return made

    def _strays(self, name: str, value: c_ast.Node) -> bool:
        """Whether a pointer is set to something that lies in another array."""
        return name in self.bases and _offset(value, self.bases, self.bases[name]) is None

    def _find(self, values: Sequence[tuple[str, c_ast.Node]]) -> None:
        """The array of each pointer, by what it is set to; pointers stand for that of theirs."""
        for _ in range(len(values) + 1):
            for name, value in values:
                root = _root(value)
                root = self.bases.get(root, root)
                if root and root not in self.shapes:
                    self.bases.setdefault(name, root)


def _is_pointer(shape: Shape) -> bool:
    return len(shape.layers) == 1 and shape.layers[0].pointer


def _root(value: c_ast.Node) -> str:
    """a of `a`, `a + i`, `&a[i]`, `(double *)a`; nothing for other values."""
    match value:
        case c_ast.ID(name=name):
            return str(name)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=c_ast.ID(name=name))):
            return str(name)
        case c_ast.BinaryOp(op="+" | "-", left=left):
            return _root(left)
    return ""


def _offset(value: c_ast.Node, bases: dict[str, str], base: str) -> c_ast.Node | None:
    """How far behind the first element of `base` a value points; pointers are left as they are. None: it does not."""
    match value:
        case c_ast.ID(name=name):
            if name == base:
                return c_ast.Constant("int", "0")
            return value if bases.get(name) == base else None
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=inner, subscript=subscript)):
            return _offset(c_ast.BinaryOp("+", inner, subscript), bases, base)
        case c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right):
            first = _offset(left, bases, base)
            pointers = any(use.name == base or use.name in bases for use in _plain_uses(right))
            return None if first is None or pointers else c_ast.BinaryOp(op, first, right)
    return None


def _plain_uses(node: c_ast.Node) -> Iterator[c_ast.ID]:
    """The variables of an expression whose elements it does not use."""
    if isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ID):
        yield from _plain_uses(node.subscript)
    elif isinstance(node, c_ast.ID):
        yield node
    else:
        for _, child in node.children():
            yield from _plain_uses(child)


def _set_before_used(name: str, body: Sequence[c_ast.Node]) -> bool:
    """Whether all mentions of a variable stand behind a statement of the same block that sets it, or inside."""
    items = list(body)
    while True:
        holding = [k for k, item in enumerate(items) if _mentions(item, name)]
        if not holding:
            return False
        first = items[holding[0]]
        if isinstance(first, c_ast.Decl) and first.name == name:
            return first.init is not None or _set_before_used(name, items[holding[0] + 1 :])
        if isinstance(first, c_ast.Assignment) and first.op == "=" and written_name(first) == name:
            return not any(use.name == name for use in variables_in(first.rvalue))
        if len(holding) > 1 or isinstance(first, c_ast.If | c_ast.DeclList):
            return False
        if not isinstance(first, c_ast.Compound | c_ast.For | c_ast.While | c_ast.DoWhile):
            return False
        headers = [getattr(first, slot, None) for slot in ("init", "cond", "next")]
        if any(_mentions(h, name) for h in headers if h is not None):
            return False
        items = block_items(first if isinstance(first, c_ast.Compound) else first.stmt)


def _mentions(node: c_ast.Node, name: str) -> bool:
    return any(isinstance(n, c_ast.ID | c_ast.Decl) and n.name == name for n in nodes_below(node))


@dataclass(slots=True)
class _Rewriting:
    bases: dict[str, str]
    offsets: dict[str, str]
    declared: set[str] = field(default_factory=set)

    def items(self, nodes: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        made = []
        for node in nodes:
            new = self._first(node) or self._visit(node)
            for part in nodes_below(new):
                part.coord = part.coord or node.coord
            made.append(new)
        return made

    def _first(self, node: c_ast.Node) -> c_ast.Node | None:
        """The statement that declares an offset: the first that sets the pointer, or its own declaration."""
        name = node.name if isinstance(node, c_ast.Decl) else written_name(node)
        if name not in self.bases or name in self.declared:
            return None
        self.declared.add(name)
        value = node.init if isinstance(node, c_ast.Decl) else node.rvalue
        return declared(self.offsets[name], "long", None if value is None else self._value(value, name))

    def _value(self, value: c_ast.Node, name: str) -> Any:
        offset = _offset(value, self.bases, self.bases[name])
        assert offset is not None
        return self._plain(copied(offset))

    def _plain(self, node: Any) -> Any:
        """An offset in which pointers are their offsets."""
        if isinstance(node, c_ast.ID):
            return c_ast.ID(self.offsets.get(node.name, node.name), node.coord)
        if isinstance(node, c_ast.BinaryOp):
            node.left, node.right = self._plain(node.left), self._visit(node.right)
            return node
        return self._visit(node)

    def _visit(self, node: Any) -> Any:
        name = written_name(node)
        if name in self.bases:
            target = c_ast.ID(self.offsets[name], node.coord)
            if isinstance(node, c_ast.UnaryOp):
                return c_ast.Assignment(_STEPS[node.op], target, c_ast.Constant("int", "1"), node.coord)
            value = self._value(node.rvalue, name) if node.op == "=" else self._visit(node.rvalue)
            return c_ast.Assignment(node.op, target, value, node.coord)
        match node:
            case c_ast.Compound():
                node.block_items = self.items(node.block_items or [])
                return node
            case c_ast.ArrayRef(name=c_ast.ID(name=name), subscript=subscript) if name in self.bases:
                return self._element(name, self._visit(subscript), node)
            case c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op=step, expr=c_ast.ID(name=name))) if (
                step in _STEPS and name in self.bases
            ):
                moved = c_ast.UnaryOp(step, c_ast.ID(self.offsets[name], node.coord), node.coord)
                return c_ast.ArrayRef(c_ast.ID(self.bases[name], node.coord), moved, node.coord)
            case c_ast.UnaryOp(op="*", expr=inner) if (root := _root(inner)) in self.bases:
                return c_ast.ArrayRef(c_ast.ID(self.bases[root], node.coord), self._value(inner, root), node.coord)
            case c_ast.StructRef(name=c_ast.ID(name=name), type="->") if name in self.bases:
                return c_ast.StructRef(self._element(name, None, node), ".", node.field, node.coord)
            case c_ast.ID(name=name) if name in self.bases:
                offset = c_ast.ID(self.offsets[name], node.coord)
                return c_ast.BinaryOp("+", c_ast.ID(self.bases[name], node.coord), offset, node.coord)
        return map_children(node, self._visit)

    def _element(self, name: str, subscript: c_ast.Node | None, node: c_ast.Node) -> c_ast.ArrayRef:
        at: c_ast.Node = c_ast.ID(self.offsets[name], node.coord)
        at = at if subscript is None else c_ast.BinaryOp("+", at, subscript, node.coord)
        return c_ast.ArrayRef(c_ast.ID(self.bases[name], node.coord), at, node.coord)
