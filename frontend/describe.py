"""Expressions as C text, for messages and for comparing them."""

from __future__ import annotations

from polytile.ir.expr import Access, Binary, Call, Cast, Expr, IteratorValue, Literal, Name, Ternary, Unary
from polytile.ir.struct_fields import spelt

_PRECEDENCE = {
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1,
}  # fmt: skip


def describe(expr: Expr, level: int = 0) -> str:
    """The C text of an expression, with the brackets it needs inside an operator of precedence `level`."""
    match expr:
        case Literal(text=text) | Name(name=text):
            return text
        case Access():
            subscripts = "".join(f"[{describe(s)}]" for s in expr.subscripts)
            return expr.array + subscripts + spelt(expr.field or "", [describe(s) for s in expr.inside])
        case Unary(op=op, operand=operand):
            return op + describe(operand, 11)
        case Cast(type=ctype, operand=operand):
            return f"({ctype}) {describe(operand, 11)}"
        case IteratorValue(called=called):
            return called
        case Binary(op=op, left=left, right=right):
            own = _PRECEDENCE[op]
            text = f"{describe(left, own)} {op} {describe(right, own + 1)}"
            return f"({text})" if own < level else text
        case Ternary(condition=c, then=a, otherwise=b):
            text = f"{describe(c, 1)} ? {describe(a)} : {describe(b)}"
            return f"({text})" if level else text
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(describe(a) for a in arguments)})"
    raise TypeError(f"not an expression: {expr}")
