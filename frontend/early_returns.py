"""Functions that return in several places, as statements and one value, so that they can be inlined."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polytile.frontend.conversions import cast_to, declared
from polytile.frontend.jump_elimination import LOOPS, MOST_COPIES, jumps, rewritten
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, copied, map_children
from polytile.frontend.type_shapes import Shape
from polytile.ir.name_supply import fresh


def with_one_value(
    body: list[c_ast.Node], function: str, scope: Scope, result: Shape
) -> tuple[list[c_ast.Node], c_ast.Node | None]:
    """The steps and the value of a function that returns in several places.

    before: { if (x < 0) return 0; return x; }        { int k = g(x); if (k < 0) return 0; k *= 2; return k; }
    after:  x < 0 ? 0 : x                             { int r; int k = g(x); if (k < 0) r = 0; else { ...; r = k; } } r
    """
    if result.void:
        return _with_one_return(body, None, scope) or body, None
    value = _choice(body, scope, result)
    if value is not None:
        return [], value
    taken = {str(n.name) for item in body for n in nodes_below(item) if isinstance(n, c_ast.ID | c_ast.Decl)}
    name = fresh(f"{function}_result", taken | {b.name for b in scope.bindings()})
    made = _with_one_return(body, name, scope)
    if made is None:
        return body, None
    return [declared(name, None, result, body[0].coord), *made], c_ast.ID(name, body[0].coord)


def _choice(body: list[c_ast.Node], scope: Scope, result: Shape) -> c_ast.Node | None:
    """What statements return that do nothing but choose."""
    if not body:
        return None
    first, rest = body[0], body[1:]
    match first:
        case c_ast.Return(expr=value) if value is not None:
            return cast_to(result, _without_count(copied(value), scope), scope)
        case c_ast.Compound():
            return _choice([*block_items(first), *rest], scope, result)
        case c_ast.If():
            then = _choice([*block_items(first.iftrue), *rest], scope, result)
            otherwise = _choice([*block_items(first.iffalse), *rest], scope, result)
            if then is not None and otherwise is not None:
                return c_ast.TernaryOp(copied(first.cond), then, otherwise, first.coord)
    return None


def _with_one_return(body: list[c_ast.Node], result: str | None, scope: Scope) -> list[c_ast.Node] | None:
    """The statements of a function that leaves what it returns in `result`; None where a loop is left on the way, or
    too much would be written down twice.

    before: if (c) return a; S; return b;    after: if (c) result = a; else { S; result = b; }
    """
    loops = [n for node in body for n in nodes_below(node) if isinstance(n, LOOPS)]
    if any(isinstance(n, c_ast.Return) for loop in loops for n in nodes_below(loop)):
        return None
    room = [MOST_COPIES]
    made = rewritten([_leaving(copied(node), result, scope) for node in body], room)
    return made if room[0] >= 0 and not any(map(jumps, made)) else None


def _leaving(node: Any, result: str | None, scope: Scope) -> Any:
    """A statement that goes on with the next iteration, as it were, where it returned."""
    if isinstance(node, c_ast.Return):
        ends: list[c_ast.Node] = [c_ast.Continue(node.coord)]
        if node.expr is not None and result is not None:
            value = _without_count(node.expr, scope)
            ends.insert(0, c_ast.Assignment("=", c_ast.ID(result, node.coord), value, node.coord))
        return c_ast.Compound(ends, node.coord)
    return node if isinstance(node, LOOPS) else map_children(node, lambda child: _leaving(child, result, scope))


def _without_count(value: c_ast.Node, scope: Scope) -> c_ast.Node:
    """`return k++;` returns k: nobody sees that a variable of the function counts once more."""
    if isinstance(value, c_ast.UnaryOp) and value.op in ("p++", "p--") and isinstance(value.expr, c_ast.ID):
        binding = scope.lookup(value.expr.name)
        if binding is None or (binding.kind == "parameter" and not binding.shape.layers):
            return value.expr
    return value
