"""The values of integer expressions, with C's meaning of every operator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from polytile.diagnostics import InternalError, UserError
from polytile.ir import chunk_length
from polytile.ir.expr import Binary, Call, Cast, CType, Expr, Literal, Name, Ternary, Unary
from polytile.ir.identity_key import remembered
from polytile.ir.integer_constants import literal_value


def _divide(a: int, b: int) -> int:
    """Return C's quotient, which truncates; raises UserError where the divisor is 0."""
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
    """Convert `value` to the integer type `ctype`, modulo its range."""
    if ctype.name == "_Bool":
        return int(value != 0)
    bits = 8 * ctype.size
    value &= (1 << bits) - 1
    return value - (1 << bits) if ctype.signed and value >> (bits - 1) else value


def integer_range(ctype: CType) -> tuple[int, int]:
    """Return the least and the largest value of an integer type."""
    if ctype.name == "_Bool":
        return 0, 1
    bits = 8 * ctype.size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ctype.signed else (0, (1 << bits) - 1)


Evaluator = Callable[[Mapping[str, int]], int]


def evaluate(expr: Expr, values: Mapping[str, int]) -> int:
    """Return the integer value of an expression over `values`."""
    return _evaluator_of(expr)(values)


def evaluator(expr: Expr) -> Evaluator:
    """Return a function that evaluates an expression for many values: the tree is walked once.

    What C does not evaluate, as the right side of a false `&&`, may be no index expression.
    """
    match expr:
        case Literal(text=text, type=ctype) if ctype.kind == "int":
            value = literal_value(text)
            return _failing(f"not an integer constant: {text}") if value is None else lambda _: value
        case Name(name=name):
            return _named(name)
        case Unary(op=op, operand=x) if op in _UNARY:
            change, operand = _UNARY[op], evaluator(x)
            return lambda values: int(change(operand(values)))
        case Binary(op="&&", left=a, right=b):
            left, right = evaluator(a), evaluator(b)
            return lambda values: int(left(values) != 0 and right(values) != 0)
        case Binary(op="||", left=a, right=b):
            left, right = evaluator(a), evaluator(b)
            return lambda values: int(left(values) != 0 or right(values) != 0)
        case Binary(op=op, left=a, right=b) if op in _BINARY:
            return _combined(_BINARY[op], a, b)
        case Ternary(condition=c, then=a, otherwise=b):
            holds, then, otherwise = evaluator(c), evaluator(a), evaluator(b)
            return lambda values: then(values) if holds(values) else otherwise(values)
        case Cast(type=ctype, operand=x) if ctype.kind == "int":
            operand = evaluator(x)
            return lambda values: wrap(operand(values), ctype)
        case Call(function=f, arguments=(a, b)) if f in _FUNCTIONS:
            return _combined(_FUNCTIONS[f], a, b)
        case Call(function=chunk_length.FUNCTION, arguments=arguments):
            evaluators = [evaluator(argument) for argument in arguments]
            return lambda values: chunk_length.chunk_length(*(each(values) for each in evaluators))
    return _failing(f"not an index expression: {expr}")


def _combined(operation: Callable[[int, int], int], a: Expr, b: Expr) -> Evaluator:
    left, right = evaluator(a), evaluator(b)
    return lambda values: int(operation(left(values), right(values)))


def _named(name: str) -> Evaluator:
    def value(values: Mapping[str, int]) -> int:
        if name not in values:
            raise InternalError(f"{name} has no value in a host expression")
        return values[name]

    return value


def _failing(message: str) -> Evaluator:
    def fail(_: Mapping[str, int]) -> int:
        raise InternalError(message)

    return fail


_evaluator_of = remembered(evaluator)
