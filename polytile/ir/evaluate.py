"""The values of integer expressions, with C's meaning of every operator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from polytile.diagnostics import InternalError, UserError
from polytile.ir.expr import Binary, Call, Cast, CType, Expr, Literal, Name, Ternary, Unary
from polytile.ir.integer_constants import literal_value


def _divide(a: int, b: int) -> int:
    """C's division, which truncates."""
    if b == 0:
        raise UserError("a size or bound divides by zero for these parameters")
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _remainder(a: int, b: int) -> int:
    return a - _divide(a, b) * b


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "min": min,
    "max": max,
    "floord": operator.floordiv,
    "pmod()": operator.mod,
}


def wrap(value: int, ctype: CType) -> int:
    """`value` converted to the integer type `ctype`, modulo its range."""
    if ctype.name == "_Bool":
        return int(value != 0)
    bits = 8 * ctype.size
    value &= (1 << bits) - 1
    return value - (1 << bits) if ctype.signed and value >> (bits - 1) else value


def integer_range(ctype: CType) -> tuple[int, int]:
    """The least and the largest value of an integer type."""
    if ctype.name == "_Bool":
        return 0, 1
    bits = 8 * ctype.size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ctype.signed else (0, (1 << bits) - 1)


def evaluate(expr: Expr, values: Mapping[str, int]) -> int:
    """The integer value of an expression over `values`."""
    match expr:
        case Literal(text=text, type=ctype) if ctype.kind == "int":
            if (value := literal_value(text)) is None:
                raise InternalError(f"not an integer constant: {text}")
            return value
        case Name(name=name):
            if name not in values:
                raise InternalError(f"{name} has no value in a host expression")
            return values[name]
        case Unary(op=op, operand=x):
            return int(_UNARY[op](evaluate(x, values)))
        case Binary(op="&&", left=a, right=b):
            return int(evaluate(a, values) != 0 and evaluate(b, values) != 0)
        case Binary(op="||", left=a, right=b):
            return int(evaluate(a, values) != 0 or evaluate(b, values) != 0)
        case Binary(op=op, left=a, right=b):
            return int(_BINARY[op](evaluate(a, values), evaluate(b, values)))
        case Ternary(condition=c, then=a, otherwise=b):
            return evaluate(a if evaluate(c, values) else b, values)
        case Cast(type=ctype, operand=x) if ctype.kind == "int":
            return wrap(evaluate(x, values), ctype)
        case Call(function=f, arguments=(a, b)) if f in _FUNCTIONS:
            return _FUNCTIONS[f](evaluate(a, values), evaluate(b, values))
    raise InternalError(f"not an index expression: {expr}")
