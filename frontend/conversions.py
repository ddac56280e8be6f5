"""The types of C expressions, as far as inlining needs them to leave out casts that change nothing."""

from __future__ import annotations

from pycparser import c_ast

from polytile.frontend.constants import constant_type
from polytile.frontend.normalise import base_node
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied
from polytile.frontend.type_shapes import Shape, is_complex
from polytile.ir.expr import DOUBLE, FLOAT, INT, CType

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


def type_of(node: c_ast.Node, scope: Scope) -> CType | None:
    """The arithmetic type of an expression, or None when it is not known."""
    match node:
        case c_ast.Constant():
            return _literal_type(node)
        case c_ast.ID(name=name):
            binding = scope.lookup(name)
            return None if binding is None or binding.shape.layers else binding.shape.base
        case c_ast.ArrayRef():
            return _element_type(node, scope)
        case c_ast.StructRef(name=inner, field=member):
            return _field_type(inner, str(member.name), scope)
        case c_ast.FuncCall(name=c_ast.ID(name=name)):
            return _result_type(name, scope)
        case c_ast.Cast(to_type=to_type):
            shape = scope.shape(to_type)
            return None if shape.layers else shape.base
        case c_ast.UnaryOp(op="+" | "-" | "~", expr=operand):
            return _promoted(type_of(operand, scope))
        case c_ast.UnaryOp(op="!"):
            return INT
        case c_ast.BinaryOp(op=op) if op in _COMPARISONS:
            return INT
        case c_ast.BinaryOp(op="<<" | ">>", left=left):
            return _promoted(type_of(left, scope))
        case c_ast.BinaryOp(left=left, right=right) | c_ast.TernaryOp(iftrue=left, iffalse=right):
            return _common(type_of(left, scope), type_of(right, scope))
    return None


def _literal_type(node: c_ast.Constant) -> CType | None:
    if node.type in ("float", "double"):
        return FLOAT if node.value[-1] in "fF" and not node.value.lower().startswith("0x") else DOUBLE
    return constant_type(node)


def _element(node: c_ast.Node, scope: Scope) -> Shape | None:
    """The shape of `a[i][j]` or `a[i].v[j]`, when `a` or `v` has that rank."""
    depth = 0
    while isinstance(node, c_ast.ArrayRef):
        node, depth = node.name, depth + 1
    if isinstance(node, c_ast.StructRef):
        shape = _member(node.name, str(node.field.name), scope)
    else:
        binding = scope.lookup(node.name) if isinstance(node, c_ast.ID) else None
        shape = None if binding is None else binding.shape
    return shape if shape is not None and len(shape.layers) == depth else None


def _element_type(node: c_ast.Node, scope: Scope) -> CType | None:
    shape = _element(node, scope)
    return None if shape is None else shape.base


def _field_type(node: c_ast.Node, member: str, scope: Scope) -> CType | None:
    shape = _member(node, member, scope)
    return None if shape is None or shape.layers else shape.base


def _member(node: c_ast.Node, member: str, scope: Scope) -> Shape | None:
    shape = _element(node, scope)
    members = () if shape is None or shape.struct is None else shape.struct.members
    return next((m.shape for m in members if m.name == member), None)


def _result_type(name: str, scope: Scope) -> CType | None:
    binding = scope.lookup(name)
    if binding is None or binding.kind != "function" or not isinstance(binding.node.type, c_ast.FuncDecl):
        return None
    shape = scope.shape(binding.node.type.type)
    return None if shape.layers else shape.base


def _promoted(ctype: CType | None) -> CType | None:
    return INT if ctype is not None and ctype.kind == "int" and ctype.size < INT.size else ctype


def _common(left: CType | None, right: CType | None) -> CType | None:
    a, b = _promoted(left), _promoted(right)
    if a is None or b is None or "struct" in (a.kind, b.kind):
        return None
    if "float" in (a.kind, b.kind):
        return DOUBLE if DOUBLE in (a, b) else FLOAT
    return a if a == b else None


def cast_to(shape: Shape, value: c_ast.Node, scope: Scope) -> c_ast.Node:
    """`(T) value`, or the value itself when it has that type."""
    whole = shape.base is None or (shape.base.kind == "struct" and not is_complex(shape))
    if whole or type_of(value, scope) == shape.base:
        return copied(value)
    typename = c_ast.Typename(
        None, [], None, c_ast.TypeDecl(None, [], None, base_node(shape, value.coord)), value.coord
    )
    return c_ast.Cast(typename, copied(value), value.coord)


def declared(name: str, value: c_ast.Node | None, shape: Shape, coord: object) -> c_ast.Decl:
    """The declaration of a scalar with a resolved type."""
    declarator = c_ast.TypeDecl(name, [], None, base_node(shape, coord), coord)
    return c_ast.Decl(name, [], [], [], [], declarator, None if value is None else copied(value), None, coord)
