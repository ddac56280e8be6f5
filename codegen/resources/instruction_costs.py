"""What operations cost on NVIDIA GPUs: instructions, and the registers of the functions behind some of them.

Measured with ptxas 13.0 for sm_90; additions that follow a product are part of it.
"""

from __future__ import annotations

from collections.abc import Hashable

from polytile.ir.expr import Binary, Call, Cast, CType, Expr, Literal, Ternary, Unary
from polytile.ir.gpu_ops import Offset, Shuffle, WarpReduce
from polytile.machine import WARP_SIZE

_TRUTHS = frozenset(("<", "<=", ">", ">=", "==", "!=", "&&", "||"))
_DIVISION, _ROOT = 40, 40
_FUNCTIONS = {"sqrt": _ROOT, "fabs": 1, "fma": 1, "min": 1, "max": 1, "floor": 1, "ceil": 1, "floord": 4, "pmod()": 5}
_FUNCTION = 120  # instructions of any other


def operation(expr: Expr) -> Hashable:
    """Return a key that distinguishes an operation from others on the same operands."""
    match expr:
        case Binary(op=op) | Unary(op=op) | WarpReduce(op=op):
            return type(expr).__name__, op, expr.type
        case Call(function=function):
            return function
        case Shuffle(kind=kind, width=segment):
            return kind, segment
    return type(expr).__name__, expr.type


def registers(expr: Expr) -> int:
    """Return the registers of the value: none of what a predicate holds."""
    truth = (isinstance(expr, Binary) and expr.op in _TRUTHS) or (isinstance(expr, Unary) and expr.op == "!")
    return 0 if truth else max(1, expr.type.size // 4)


def instructions(expr: Expr) -> int:
    """Return the number of instructions that compute a value from its operands."""
    words = max(1, expr.type.size // 4)
    match expr:
        case Binary(op="+" | "-", left=left, right=right) if expr.type.kind == "float":
            return 0 if _is_product(left) or _is_product(right) else 1
        case Binary(op="/", right=right) if expr.type.kind == "float":
            return _DIVISION if not isinstance(right, Literal) else _DIVISION // 2
        case Binary(op="/" | "%", right=Literal()):
            return 4 * words
        case Binary(op="/" | "%"):
            return 20 * words
        case Call(function=function):
            return _FUNCTIONS.get(function.removesuffix("f"), _FUNCTION)
        case Unary(op="-" | "+" | "!"):
            return 0
        case Cast(operand=operand):
            return int(operand.type.kind != expr.type.kind or expr.type.size != operand.type.size)
        case Ternary() | Shuffle():
            return words
        case WarpReduce(more=more):
            return 15 * words if not more else 4 * (len(more) + WARP_SIZE.bit_length()) * words
    return 1 if expr.type.kind == "float" else words


def helper_registers(expr: Expr) -> int:
    """Return the registers of the function that a value needs beyond those of its operands."""
    match expr:
        case Binary(op="/") if expr.type.kind == "float":
            return 12
        case Binary(op="/" | "%", right=right) if not isinstance(right, Literal):
            return 6
        case Call(function=function) if function.removesuffix("f") not in _FUNCTIONS or function == "sqrt":
            return 14
        case Cast(operand=Offset()):  # the addresses of several arrays, to which it is added
            return 16
    return 0


def _is_product(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op == "*"


def width(ctype: CType) -> int:
    """Return the registers of a value of this type."""
    return max(1, ctype.size // 4)
