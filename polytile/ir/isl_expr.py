"""isl's expressions, as our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polytile.diagnostics import InternalError
from polytile.ir.expr import INT, Binary, Call, CType, Expr, Literal, Name, Ternary, Unary
from polytile.ir.isl_util import CONTEXT

OP = isl.ast_expr_op_type
# By name: islpy's stubs leave these two out.
AND, OR = isl.ast_expr_op_type["and_"], isl.ast_expr_op_type["or_"]
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
    AND: "&&",
    OP.and_then: "&&",
    OR: "||",
    OP.or_else: "||",
}


def expression(expr: isl.AstExpr, integer: CType = INT) -> Expr:
    """Convert an isl AST expression over names and integers.

    Raises InternalError for an operation that isl should not make here.
    """
    kind = expr.get_type()
    if kind == isl.ast_expr_type.int:
        value = expr.get_val().to_python()
        return Literal(str(value), integer) if value >= 0 else Unary("-", Literal(str(-value), integer), integer)
    if kind == isl.ast_expr_type.id:
        return Name(str(expr.get_id().get_name()), integer)
    op = OP(expr.get_op_type())  # the stubs call it an int
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


_LOGICAL = (OP.eq, OP.le, OP.lt, OP.ge, OP.gt, AND, OP.and_then, OR, OP.or_else)


@contextmanager
def ast_options() -> Iterator[None]:
    """Let isl print min and max instead of nested conditions; isl's context has its old option afterwards."""
    before = CONTEXT.get_ast_build_detect_min_max()
    CONTEXT.set_ast_build_detect_min_max(1)
    try:
        yield
    finally:
        CONTEXT.set_ast_build_detect_min_max(before)


def parameter_expression(value: isl.PwAff, context: isl.Set, integer: CType) -> Expr:
    """Convert a piecewise quasi-affine expression over the parameters alone."""
    with ast_options():
        build = isl.AstBuild.from_context(context)
        return expression(build.expr_from_pw_aff(value), integer)
