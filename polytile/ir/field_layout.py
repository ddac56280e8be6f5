"""Where the numbers of a struct's element lie, in bytes: what an access to `w[i].v[j][k]` runs over in memory.

Access relations count the numbers of an element (polytile/ir/struct_fields.py); memory has them at offsets, which grow
with each subscript inside the struct by a pitch of its own.
"""

from __future__ import annotations

from fractions import Fraction

from polytile.dataclass import dataclass
from polytile.ir.scop import Array
from polytile.ir.struct_fields import offsets, positions, way_of


def field_bytes(array: Array, number: int | None) -> tuple[int, int]:
    """Return (offset, size) in bytes of a field of a struct's element; of the whole element without a number."""
    if number is None or not array.fields:
        return 0, array.element.size
    name, kind = array.fields[number]
    members = array.members or array.fields
    found = array.offsets or offsets([(name, kind.size) for name, kind in members])[0]
    return found[[member for member, _ in members].index(name)], kind.size


@dataclass(frozen=True, slots=True)
class NumbersInside:
    """The numbers that one way through a struct leads to, `cells[].v[]`: the `first` of them, their size in bytes, and
    for each subscript on the way, outermost first, how many numbers and how many bytes it moves by."""

    first: int
    size: int
    steps: tuple[tuple[int, int], ...]

    def elements(self, numbers: int | Fraction) -> int | Fraction:
        """Return the distance in memory, in elements, of two numbers that are `numbers` apart in the struct.

        before: 7 numbers in { struct { char t; double v[4]; } cells[3]; }, which are cells[1].v[2] from cells[0].v[0]
        after:  7 doubles: 40 bytes for the cell, 16 in it
        """
        sign = 1 if numbers >= 0 else -1
        rest, bytes_apart = Fraction(sign * numbers), 0
        for count, pitch in self.steps:
            if count:
                whole, rest = divmod(rest, count)
                bytes_apart += int(whole) * pitch
        far = Fraction(sign * bytes_apart, self.size)
        return int(far) if far.denominator == 1 else far


def numbers_inside(array: Array, number: int) -> NumbersInside:
    """Return the numbers that the way of one of them leads to."""
    first, inside = positions(array.fields, way_of(array.fields[number][0]))
    start, size = field_bytes(array, first)
    steps = ((stride, field_bytes(array, first + stride)[0] - start) for _, stride in inside)
    return NumbersInside(first, size, tuple(steps))
