"""Calls of functions with access summaries: as statements, and what they do to memory.

before: f(n, A[i], &b[i]);                         reads(a[0:n]) writes(b[0])
after:  f(n, &A[i][0], &b[i]), which accesses what { for (k < n) ... = A[i][k]; b[i] = ...; } does
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from pycparser import c_ast

from polytile.diagnostics import UserError
from polytile.frontend.access_summaries import AccessSummary, Formal, Section
from polytile.frontend.c_types import literal_type, promote, usual, where
from polytile.frontend.expressions import Translator
from polytile.ir.expr import (
    INT,
    Access,
    Address,
    Assign,
    Binary,
    Declare,
    Expr,
    For,
    Invoke,
    Literal,
    Name,
    Stmt,
    Unary,
    While,
)

_ZERO, _ONE = Literal("0", INT), Literal("1", INT)


def invocation(
    call: c_ast.FuncCall, summary: AccessSummary, target: c_ast.Node | None, translator: Translator
) -> Invoke:
    """The statement that a call is; its value goes to `target`."""
    given = call.args.exprs if call.args is not None else []
    if len(given) != len(summary.parameters):
        raise UserError(
            f"`{summary.name}` takes {len(summary.parameters)} arguments, but {len(given)} are given",
            location=where(call),
            hint="call it as it is declared",
        )
    if target is not None and summary.result is None:
        raise UserError(f"`{summary.name}` gives no value", location=where(call), hint="call it alone")
    pairs = zip(summary.parameters, given, strict=True)
    arguments = tuple(_argument(formal, node, summary, translator) for formal, node in pairs)
    result = None if target is None else translator.target(target)
    return Invoke(summary.name, arguments, result, where(call))


def _argument(formal: Formal, node: c_ast.Node, summary: AccessSummary, translator: Translator) -> Expr:
    if not formal.pointer:
        return translator.value(node)
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        element = node.expr
    else:
        element = c_ast.ArrayRef(node, c_ast.Constant("int", "0", node.coord), node.coord)
    target = translator.value(element)
    if not isinstance(target, Access) or target.field is not None:
        raise UserError(
            f"`{summary.name}` gets the address of something else than a variable or an element of an array",
            location=where(node),
            hint="pass `a`, `&a[i]`, a row `A[i]`, or `&x`",
        )
    if not target.subscripts and not summary.writes(formal.name):
        raise UserError(
            f"`{summary.name}` only reads `{target.array}`, and gets its address",
            location=where(node),
            hint="let it take the value, or pass an array of one element",
        )
    if target.type != formal.type:
        raise UserError(
            f"`{summary.name}` takes elements of type {formal.type} here, not {target.type}",
            location=where(node),
            hint="pass an array of that type",
        )
    return Address(target, summary.writes(formal.name), formal.const)


def effects(call: Invoke, summary: AccessSummary, counter: str) -> Iterator[Stmt]:
    """Statements that access what a call may access, reads first; loops count by a name that is free."""
    given = dict(zip((p.name for p in summary.parameters), call.arguments, strict=True))
    for section in summary.sections["reads"]:
        yield _over(section, given, counter, partial(_read, call))
    for section in summary.sections["writes"]:
        yield _over(section, given, counter, partial(_written, call))
    for section in summary.sections["may_write"]:
        yield While(_ONE, (_over(section, given, counter, partial(_written, call)),), call.location)


def _read(call: Invoke, element: Access) -> Stmt:
    return Declare(element.array, element.type, element, call.location)


def _written(call: Invoke, element: Access) -> Stmt:
    return Assign(element, "", _ZERO, call.location)


def _over(section: Section, given: Mapping[str, Expr], name: str, access: Callable[[Access], Stmt]) -> Stmt:
    """`access` of each element of a section."""
    address = given[section.parameter]
    assert isinstance(address, Address)
    first = _value(section.first, given)
    count = None if section.count is None else _value(section.count, given)
    if not address.target.subscripts:
        if first != _ZERO or count not in (None, _ONE):
            raise UserError(
                f"`{address.target.array}` is one number",
                location=address.target.location,
                hint="pass an array, or let the summary say that one element is accessed: `x[0]`",
            )
        return access(address.target)
    if count is None:
        return access(_element(address.target, first))
    counter = Name(name, usual(promote(first.type), promote(count.type)))
    made = access(_element(address.target, _plus(first, counter)))
    location = address.target.location
    return For(counter.name, _ZERO, Binary("<", counter, count, INT), 1, (made,), counter.type, location)


def _element(base: Access, offset: Expr) -> Access:
    *outer, last = base.subscripts
    return replace(base, subscripts=(*outer, _plus(last, offset)))


def _plus(left: Expr, right: Expr) -> Expr:
    if left == _ZERO or right == _ZERO:
        return right if left == _ZERO else left
    return Binary("+", left, right, usual(left.type, right.type))


def _value(node: c_ast.Node, given: Mapping[str, Expr]) -> Expr:
    """An expression of a summary with the arguments in place of the parameters."""
    match node:
        case c_ast.ID(name=name) if name in given:
            return given[name]
        case c_ast.Constant(value=text) if (ctype := literal_type(text)) is not None:
            return Literal(text, ctype)
        case c_ast.UnaryOp(op="+" | "-" as op, expr=operand):
            value = _value(operand, given)
            return Unary(op, value, promote(value.type))
        case c_ast.BinaryOp(op="+" | "-" | "*" | "/" | "%" as op, left=left, right=right):
            a, b = _value(left, given), _value(right, given)
            return Binary(op, a, b, usual(a.type, b.type))
    raise UserError(
        "an access summary has sections of constants and integer parameters alone",
        location=where(node),
        hint="use +, -, *, / and %",
    )
