"""What `gnu_c.py` writes for types of expressions and conditions without a middle, as nodes of C99.

before: enum { __polytile_typeof = sizeof (a[0]) } y = a[0];    after: double y = a[0];
before: x ? __polytile_condition : 5                            after: x ? x : 5

Types that are not known are spelt `__typeof__(...)`, as a name that no type has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polytile.dataclass import dataclass
from polytile.frontend.builtin_functions import calls
from polytile.frontend.c_types import literal_type, promote, usual
from polytile.frontend.find_scops import parameter_scope
from polytile.frontend.gnu_c import CONDITION, TYPEOF, stands_for
from polytile.frontend.must_reads import shape_of
from polytile.frontend.normalise import declarator
from polytile.frontend.parse import ParsedFile, nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import WRITING, copied
from polytile.frontend.type_shapes import Layer, Shape
from polytile.frontend.unreadable import Unreadable
from polytile.ir.expr import INT

_EXPECT = "__builtin_expect"
_COMPARISONS = ("<", ">", "<=", ">=", "==", "!=", "&&", "||")


def with_c99_nodes(file: ParsedFile) -> ParsedFile:
    """Give a file the nodes that other words stand for, in place."""
    if _EXPECT in file.names:
        for node in nodes_below(file.tree):
            _without_expectations(node)
    if file.reworded:
        walk, scope = _Walk(), Scope(facts=file.types)
        for item in file.tree.ext:
            walk.visit(item, scope)
    return file


def _without_expectations(node: Any) -> None:
    """Let conditions be what they are, wherever the compiler is told which way is likely, in place.

    before: if (__builtin_expect(x < y, 0))    after: if (x < y)
    """
    match node:
        case c_ast.If() | c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.TernaryOp():
            node.cond = _expected(node.cond)
        case c_ast.BinaryOp(op="&&" | "||"):
            node.left, node.right = _expected(node.left), _expected(node.right)
        case c_ast.UnaryOp(op="!"):
            node.expr = _expected(node.expr)


def _expected(node: Any) -> Any:
    """What a promise about a truth value is made of."""
    if not (calls(node, (_EXPECT,)) and node.args is not None and len(node.args.exprs) == 2):
        return node
    first = node.args.exprs[0]
    inner = _expected(first)
    truth = isinstance(inner, c_ast.BinaryOp | c_ast.UnaryOp) and inner.op in (*_COMPARISONS, "!")
    return inner if truth else node


def _is_marked(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.TernaryOp) and isinstance(node.iftrue, c_ast.ID) and node.iftrue.name == CONDITION


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk over declarations and statements, with C's scopes."""

    def visit(self, node: Any, scope: Scope) -> None:
        inner = scope
        match node:
            case c_ast.FuncDef():
                self.visit(node.decl, scope)
                for parameter in node.param_decls or ():
                    self._declare(parameter, scope)
                self.visit(node.body, parameter_scope(node, scope))
                return
            case c_ast.Compound() | c_ast.For():
                inner = scope.child()
            case c_ast.Decl() | c_ast.Typedef() | c_ast.Typename():
                self._declare(node, scope)
        declared = node.type if isinstance(node, c_ast.Decl | c_ast.Typedef | c_ast.Typename) else None
        for child in node:
            if child is not declared:
                self.visit(child, inner)
        if isinstance(node, c_ast.Decl | c_ast.Typedef | Unreadable):
            scope.bind(node)
        if _is_marked(node) and _is_pure(node.cond):
            node.iftrue = copied(node.cond)

    def _declare(self, node: Any, scope: Scope) -> None:
        """The types in a declarator, from the innermost one on."""
        outer, inner = node, node.type
        while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.FuncDecl):
            if isinstance(inner, c_ast.FuncDecl) and inner.args is not None:
                parameters = scope.child("parameter")
                for parameter in inner.args.params:
                    self.visit(parameter, parameters)
            elif isinstance(inner, c_ast.ArrayDecl) and inner.dim is not None:
                self.visit(inner.dim, scope)
            outer, inner = inner, inner.type
        base = inner.type if isinstance(inner, c_ast.TypeDecl) else inner
        if isinstance(base, c_ast.Struct | c_ast.Union):
            for member in base.decls or ():
                if isinstance(member, c_ast.Decl):
                    self._declare(member, scope)
        elif stands_for(base):
            outer.type = self._known(inner, base, getattr(node, "init", None), scope)

    def _known(self, inner: c_ast.TypeDecl, base: c_ast.Enum, init: c_ast.Node | None, scope: Scope) -> c_ast.Node:
        """The declarator with the type that it has."""
        if stands_for(base) == TYPEOF:
            operand = base.values.enumerators[0].value.expr
            self.visit(operand, scope)
            shape, text = _type_of(operand, scope), f"__typeof__({CGenerator().visit(operand)})"
        else:
            shape, text = None if init is None else _type_of(init, scope), "__auto_type"
            shape = None if shape is None else _decayed(shape)
        quals = list(inner.quals or ())
        if shape is None or shape.base is None or not set(quals) <= {"const"} or not _is_fixed(shape, scope):
            names = c_ast.IdentifierType([text], base.coord)
            return c_ast.TypeDecl(inner.declname, quals, inner.align, names, inner.coord)
        if quals and not shape.layers:
            shape = replace(shape, const=True)
        return declarator(inner, shape, inner.declname)


def _is_fixed(shape: Shape, scope: Scope) -> bool:
    """Whether no extent of a type may have changed since."""
    return all(layer.extent is None or scope.constant(layer.extent) is not None for layer in shape.layers)


def _decayed(shape: Shape) -> Shape:
    if not shape.layers or shape.layers[0].pointer:
        return replace(shape, const=False) if not shape.layers else shape
    return replace(shape, layers=(Layer(True), *shape.layers[1:]))


def _type_of(node: c_ast.Node, scope: Scope) -> Shape | None:
    """The type of an expression, as far as its parts say it; of a type name, that type."""
    match node:
        case c_ast.Typename():
            return scope.shape(node)
        case c_ast.Cast():
            return scope.shape(node.to_type)
        case c_ast.Constant():
            kind = None if node.type == "string" else literal_type(node.value)
            return None if kind is None else Shape(kind)
        case c_ast.ID():
            found = shape_of(node, scope)
            binding = scope.lookup(node.name)
            return _decayed(found) if found and found.layers and binding and binding.kind == "parameter" else found
        case c_ast.UnaryOp(op="&", expr=inner):
            found = shape_of(inner, scope)
            return None if found is None else replace(found, layers=(Layer(True), *found.layers))
        case c_ast.BinaryOp() | c_ast.TernaryOp() | c_ast.UnaryOp(op="-" | "+" | "~" | "!"):
            return _of_arithmetic(node, scope)
    return shape_of(node, scope)


def _of_arithmetic(node: c_ast.Node, scope: Scope) -> Shape | None:
    if getattr(node, "op", "") in (*_COMPARISONS, "!"):
        return Shape(INT)
    parts = (node.iftrue, node.iffalse) if isinstance(node, c_ast.TernaryOp) else tuple(node)
    kinds = [shape.base for part in parts if (shape := _type_of(part, scope)) and not shape.layers and not shape.struct]
    first = kinds[0] if len(kinds) == len(parts) else None
    if first is None or None in kinds:
        return None
    if len(parts) == 1 or getattr(node, "op", "") in ("<<", ">>"):
        return Shape(promote(first))
    return Shape(usual(first, kinds[1])) if kinds[1] is not None else None


def _is_pure(node: c_ast.Node) -> bool:
    """Whether an expression may be evaluated again."""
    calls = c_ast.FuncCall | c_ast.Assignment | c_ast.Compound
    nodes = list(nodes_below(node))
    return not any(isinstance(n, calls) or (isinstance(n, c_ast.UnaryOp) and n.op in WRITING) for n in nodes)
