"""Nodes of kernels as text, by classes and fields: for tests and for messages, never for compilers.

For iterator=i lower=0 condition=(i < n) step=1 unroll=0
  Load targets=(x[0], x[1]) source=a[(2 * i)] cache=streaming
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields

from polytile.diagnostics import Location
from polytile.ir.expr import Access, Binary, Call, Cast, Expr, Literal, Name, Node, Stmt, Ternary, Unary
from polytile.ir.gpu_ops import Aligned, Offset, Shuffle, WarpReduce
from polytile.ir.struct_fields import spelt
from polytile.machine import WARP_SIZE

INDENT = "  "


def node_text(node: Node) -> str:
    """Return one node on one line; of a statement, without the statements inside it."""
    return expression_text(node) if isinstance(node, Expr) else next(_lines(node))


def _lines(stmt: Node) -> Iterator[str]:
    """Yield the lines of a statement: its parts by name, defaults left out, and below it what it contains."""
    words, bodies = [type(stmt).__name__], []
    for field in fields(stmt):
        value = getattr(stmt, field.name)
        if isinstance(value, tuple) and value and isinstance(value[0], Stmt):
            bodies.append((field.name, value))
        elif not isinstance(value, Location) and not _is_default(field, value):
            words.append(f"{field.name}={_value(value)}")
    yield " ".join(words)
    for name, body in bodies:
        if name == "otherwise":
            yield "else"
        for inner in body:
            yield from (INDENT + line for line in _lines(inner))


def _is_default(field: Field[object], value: object) -> bool:
    return value in ((), None) or (field.default is not MISSING and value == field.default)


def _value(value: object) -> str:
    if isinstance(value, Expr):
        return expression_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(_value(v) for v in value)})"
    return f'"{value}"' if isinstance(value, str) and not value.isidentifier() else str(value)


def expression_text(expr: Expr) -> str:
    """Return the text of an expression with all its parentheses."""
    match expr:
        case Literal(text=text) | Name(name=text):
            return text
        case Access(array=array, subscripts=subscripts, field=part, inside=inside):
            at = "".join(f"[{expression_text(s)}]" for s in subscripts)
            return array + at + spelt(part or "", [expression_text(s) for s in inside])
        case Unary(op=op, operand=a):
            return f"{op}{expression_text(a)}"
        case Binary(op=op, left=a, right=b):
            return f"({expression_text(a)} {op} {expression_text(b)})"
        case Ternary(condition=c, then=a, otherwise=b):
            return f"({expression_text(c)} ? {expression_text(a)} : {expression_text(b)})"
        case Cast(type=ctype, operand=a):
            return f"({ctype}){expression_text(a)}"
        case Call(function=function, arguments=arguments):
            return _call(function, *arguments)
        case Shuffle(kind=kind, value=value, by=by, width=width):
            return _call(f"shuffle_{kind}", value, by, Literal(str(width)))
        case WarpReduce(op=op, value=value, width=width, more=more):
            return _call(f"warp_reduce {op} ", value, *more, *([] if width == WARP_SIZE else [Literal(str(width))]))
        case Aligned(addresses=addresses, bytes=size):
            return _call(f"aligned {size} ", *addresses)
        case Offset(base=base, by=by):
            return _call("offset", base, by)
    return type(expr).__name__


def _call(function: str, *arguments: Expr) -> str:
    return f"{function}({', '.join(expression_text(a) for a in arguments)})"
