"""isl's AST, as our own trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from polytile.ir.expr import INT, CType, Expr, For, If, Name, Stmt, rewrite
from polytile.ir.isl_expr import expression
from polytile.ir.substitute import with_values

# By name: islpy's stubs leave these two out.
FOR, IF = isl.ast_node_type["for_"], isl.ast_node_type["if_"]


@dataclass(frozen=True, slots=True)
class Instance(Stmt):
    """The instance of `statement` whose iterators have these values."""

    statement: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class GridRange:
    """The block coordinates of one launch along one axis: the first, the last, and how many there are, over the host's
    iterators and the parameters."""

    first: Expr
    last: Expr
    count: Expr


@dataclass(frozen=True, slots=True)
class Marked(Stmt):
    """The part of the tree under the mark `name`; `grid` has a range for each block coordinate of a kernel."""

    name: str
    grid: tuple[GridRange, ...]
    body: tuple[Stmt, ...]


def statements(node: isl.AstNode, integer: CType = INT) -> tuple[Stmt, ...]:
    """An isl AST as a statement tree of For, If, Instance and Marked."""
    kind = node.get_type()
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return tuple(s for i in range(children.n_ast_node()) for s in statements(children.get_at(i), integer))
    if kind == FOR:
        return _loop(node, integer)
    if kind == IF:
        otherwise = statements(node.if_get_else_node(), integer) if node.if_has_else_node() else ()
        condition = expression(node.if_get_cond(), integer)
        return (If(condition, statements(node.if_get_then_node(), integer), otherwise),)
    if kind == isl.ast_node_type.mark:
        return statements(node.mark_get_node(), integer)
    call = node.user_get_expr()
    name = str(call.get_op_arg(0).get_id().get_name())
    return (Instance(name, tuple(expression(call.get_op_arg(i), integer) for i in range(1, call.get_op_n_arg()))),)


def _loop(node: isl.AstNode, integer: CType) -> tuple[Stmt, ...]:
    iterator = expression(node.for_get_iterator(), integer)
    assert isinstance(iterator, Name)
    body = statements(node.for_get_body(), integer)
    lower = expression(node.for_get_init(), integer)
    if node.for_is_degenerate():
        return tuple(substitute(s, iterator.name, lower) for s in body)
    condition = expression(node.for_get_cond(), integer)
    step = node.for_get_inc().get_val().to_python()
    return (For(iterator.name, lower, condition, step, body, integer),)


def substitute(stmt: Stmt, name: str, value: Expr) -> Stmt:
    """Replace a name by a value in all expressions of a tree of For, If, Instance and Marked."""
    values = {name: value}

    def in_grid(node: Any) -> Any:
        if not isinstance(node, Marked):
            return node
        ends = ([with_values(e, values) for e in (g.first, g.last, g.count)] for g in node.grid)
        return replace(node, grid=tuple(GridRange(*e) for e in ends))

    result: Stmt = rewrite(with_values(stmt, values), in_grid)
    return result
