"""Where an array's elements lie: sizes in bytes, and the pitches of its dimensions as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping

from polytile.ir.expr import Binary, Cast, Expr, Literal, Name, Unary
from polytile.ir.integer_constants import literal_value
from polytile.ir.scop import Array
from polytile.ir.struct_fields import offsets


def element_size(array: Array) -> int:
    """Bytes from one element to the next."""
    return array.element.size


def field_bytes(array: Array, number: int | None) -> tuple[int, int]:
    """(offset, size) in bytes of a field of a struct's element; of the whole element without a number."""
    if number is None or not array.fields:
        return 0, array.element.size
    name, kind = array.fields[number]
    members = array.members or array.fields
    found = array.offsets or offsets([(name, kind.size) for name, kind in members])[0]
    return found[[member for member, _ in members].index(name)], kind.size


def pitches(array: Array, parameters: Mapping[str, int]) -> tuple[int | None, ...]:
    """For each dimension the bytes from one subscript to the next, None where an extent inside is unknown."""
    found: list[int | None] = []
    pitch: int | None = element_size(array)
    for extent in reversed(array.extents):
        found.append(pitch)
        size = None if extent is None else constant(extent, parameters)
        pitch = None if pitch is None or size is None else pitch * size
    return tuple(reversed(found))


def constant(expression: Expr, parameters: Mapping[str, int]) -> int | None:
    """The value of an extent, None where it is not known."""
    match expression:
        case Literal():
            return literal_value(expression.text)
        case Name():
            return parameters.get(expression.name)
        case Cast():
            return constant(expression.operand, parameters)
        case Unary(op="-"):
            value = constant(expression.operand, parameters)
            return None if value is None else -value
        case Binary(op="+" | "-" | "*" | "/"):
            left, right = constant(expression.left, parameters), constant(expression.right, parameters)
            return None if left is None or right is None else _apply(expression.op, left, right)
    return None


def _apply(op: str, left: int, right: int) -> int | None:
    if op == "/":
        return left // right if right > 0 and left >= 0 else None
    return {"+": left + right, "-": left - right, "*": left * right}[op]
