"""Addresses of single variables, elements and fields that functions get, which the function's text then names itself.

before: static void half(double *x) { *x = *x / 2; }      half(&t);  half(&p[i].mass);
after:                                                    t = t / 2; p[i].mass = p[i].mass / 2;
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polytile.frontend.callees import Callee
from polytile.frontend.must_reads import shape_of
from polytile.frontend.scope import Scope
from polytile.frontend.trees import map_children


def address_of_one(name: str, argument: c_ast.Node, callee: Callee, scope: Scope) -> c_ast.Node | None:
    """The argument `&x`, where the parameter has the type of its address and the function uses it as `*p`, `p->f` and
    `p[0]` alone, or hands it on; None otherwise."""
    if not (isinstance(argument, c_ast.UnaryOp) and argument.op == "&"):
        return None
    shape, wanted = shape_of(argument.expr, scope), callee.scope.names[name].shape
    if shape is None or shape.layers or shape.base is None or shape.base != wanted.base or len(wanted.layers) != 1:
        return None
    parts = [*(callee.steps or ()), *([] if callee.value is None else [callee.value])]
    return None if callee.writes(name) or any(_as_array(part, name) for part in parts) else argument


def _as_array(node: Any, name: str) -> bool:
    """Whether a pointer is more than the place that it points to: compared, moved, indexed."""
    match node:
        case c_ast.ID():
            return bool(node.name == name)
        case c_ast.UnaryOp(op="*", expr=c_ast.ID()) | c_ast.StructRef(name=c_ast.ID(), type="->"):
            return False
        case c_ast.ArrayRef(name=c_ast.ID(name=array), subscript=c_ast.Constant(value="0")) if array == name:
            return False
        case c_ast.StructRef():
            return _as_array(node.name, name)
        case c_ast.FuncCall():
            given = [] if node.args is None else node.args.exprs
            return any(_as_array(a, name) for a in given if not isinstance(a, c_ast.ID))
    return any(_as_array(child, name) for _, child in node.children())


def without_addresses(node: Any) -> Any:
    """A tree, in place, with x for `*&x` and `(&x)[0]`, and x.f for `(&x)->f`."""
    map_children(node, without_addresses)
    match node:
        case c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op="&", expr=place)):
            return place
        case c_ast.ArrayRef(name=c_ast.UnaryOp(op="&", expr=place), subscript=c_ast.Constant(value="0")):
            return place
        case c_ast.StructRef(name=c_ast.UnaryOp(op="&", expr=place), type="->"):
            return c_ast.StructRef(place, ".", node.field, node.coord)
    return node
