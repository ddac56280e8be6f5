"""isl's AST, as our own trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import islpy as isl

from polytile.diagnostics import InternalError
from polytile.ir.expr import INT, Binary, Call, CType, Expr, For, If, Literal, Name, Stmt, Ternary, Unary, rewrite

OP = isl.ast_expr_op_type
BINARY_OPS = {
    OP.add: "+",
    OP.sub: "-",
    OP.mul: "*",
    OP.div: "/",  # exact
    OP.pdiv_q: "/",  # of a non-negative number
    OP.pdiv_r: "%",
    OP.zdiv_r: "%",  # only compared with 0
    OP.eq: "==",
    OP.le: "<=",
    OP.lt: "<",
    OP.ge: ">=",
    OP.gt: ">",
    OP.and_: "&&",
    OP.and_then: "&&",
    OP.or_: "||",
    OP.or_else: "||",
}


@dataclass(frozen=True, slots=True)
class Instance(Stmt):
    """The instance of `statement` whose iterators have these values."""

    statement: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Marked(Stmt):
    """The part of the tree under the mark `name`; `annotation` identifies this occurrence of it."""

    name: str
    annotation: str
    body: tuple[Stmt, ...]


def expression(expr: isl.AstExpr, integer: CType = INT) -> Expr:
    """An isl AST expression over names and integers."""
    kind = expr.get_type()
    if kind == isl.ast_expr_type.int:
        value = expr.get_val().to_python()
        return Literal(str(value), integer) if value >= 0 else Unary("-", Literal(str(-value), integer), integer)
    if kind == isl.ast_expr_type.id:
        return Name(str(expr.get_id().get_name()), integer)
    op = expr.get_op_type()
    arguments = [expression(expr.get_op_arg(i), integer) for i in range(expr.get_op_n_arg())]
    if op in (OP.max, OP.min):
        function = "max" if op == OP.max else "min"
        total = arguments[0]
        for argument in arguments[1:]:
            total = Call(function, (total, argument), integer)
        return total
    if op == OP.minus:
        return Unary("-", arguments[0], integer)
    if op == OP.fdiv_q:
        return Call("floord", tuple(arguments), integer)
    if op in (OP.cond, OP.select):
        return Ternary(arguments[0], arguments[1], arguments[2], integer)
    if op in BINARY_OPS:
        return Binary(BINARY_OPS[op], arguments[0], arguments[1], INT if op in _LOGICAL else integer)
    raise InternalError(f"an expression isl should not make here: {expr}")


_LOGICAL = (OP.eq, OP.le, OP.lt, OP.ge, OP.gt, OP.and_, OP.and_then, OP.or_, OP.or_else)


def statements(node: isl.AstNode, integer: CType = INT) -> tuple[Stmt, ...]:
    """An isl AST as a statement tree of For, If, Instance and Marked."""
    kind = node.get_type()
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return tuple(s for i in range(children.n_ast_node()) for s in statements(children.get_at(i), integer))
    if kind == isl.ast_node_type.for_:
        return _loop(node, integer)
    if kind == isl.ast_node_type.if_:
        otherwise = statements(node.if_get_else_node(), integer) if node.if_has_else_node() else ()
        condition = expression(node.if_get_cond(), integer)
        return (If(condition, statements(node.if_get_then_node(), integer), otherwise),)
    if kind == isl.ast_node_type.mark:
        annotation = node.get_annotation()
        tag = str(annotation.get_name()) if annotation is not None else ""
        return (Marked(str(node.mark_get_id().get_name()), tag, statements(node.mark_get_node(), integer)),)
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

    def change(expr: Expr) -> Expr:
        return value if isinstance(expr, Name) and expr.name == name else expr

    return map_expressions(stmt, change)


def map_expressions(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Rewrite the expressions (bottom-up) of a tree of For, If, Instance and Marked."""
    def many(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map_expressions(s, change) for s in body)

    match stmt:
        case For():
            lower, condition = rewrite(stmt.lower, change), rewrite(stmt.condition, change)
            return For(stmt.iterator, lower, condition, stmt.step, many(stmt.body), stmt.type, stmt.location)
        case If():
            return If(rewrite(stmt.condition, change), many(stmt.then), many(stmt.otherwise), stmt.location)
        case Instance():
            return Instance(stmt.statement, tuple(rewrite(v, change) for v in stmt.values))
        case Marked():
            return Marked(stmt.name, stmt.annotation, many(stmt.body))
    raise InternalError(f"unexpected in a generated tree: {stmt}")
