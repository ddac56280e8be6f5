"""Where an array's elements lie: sizes in bytes, and the pitches of its dimensions as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from polytile.ir.expr import Binary, Cast, Expr, Literal, Name, Unary
from polytile.ir.field_layout import field_bytes
from polytile.ir.integer_constants import literal_value
from polytile.ir.scop import Array
from polytile.scheduling.analysis.affine_references import Number, Reference


def element_size(array: Array) -> int:
    """Return the bytes from one element to the next."""
    return array.element.size


def last_pitch(reference: Reference) -> int:
    """Return the bytes from one value of an access's last subscript to the next: those of a number where that is in a
    struct."""
    return field_bytes(reference.array, reference.field)[1] if reference.moves_inside else element_size(reference.array)


def access_pitches(reference: Reference, parameters: Mapping[str, int]) -> tuple[int | None, ...]:
    """Return for each subscript of an access the bytes from one value to the next, None where an extent inside is
    unknown."""
    inside = (last_pitch(reference),) if reference.moves_inside else ()
    return (*pitches(reference.array, parameters), *inside)


def stride(reference: Reference, step: Sequence[int]) -> Number | None:
    """Return how many elements of its size an access moves by when the iterators take a step; None where it goes to
    another row of its array."""
    moves = [None if form is None else form.along(step) for form in reference.subscripts]
    rows = max(0, reference.array.rank - 1)
    if None in moves or any(moves[:rows]):
        return None
    last = zip(moves[rows:], access_pitches(reference, {})[rows:], strict=True)
    apart = sum((Fraction(move or 0) * (pitch or 0) for move, pitch in last), Fraction(0))
    return apart / field_bytes(reference.array, reference.field)[1]


def pitches(array: Array, parameters: Mapping[str, int]) -> tuple[int | None, ...]:
    """Return for each dimension the bytes from one subscript to the next, None where an extent inside is unknown."""
    found: list[int | None] = []
    pitch: int | None = element_size(array)
    for extent in reversed(array.extents):
        found.append(pitch)
        size = None if extent is None else constant(extent, parameters)
        pitch = None if pitch is None or size is None else pitch * size
    return tuple(reversed(found))


def constant(expression: Expr, parameters: Mapping[str, int]) -> int | None:
    """Return the value of an extent, or None where it is not known."""
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
