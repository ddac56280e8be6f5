"""Boxes around the elements that a part of a kernel uses: corners that move with its place, and constant extents.

before: { [bi, ti] -> A[i, k] : floor(i/64) = bi and i mod 16 = ti and 0 <= k < 8 }
after:  corner [64 bi + ti, 0], strides (16, 1), extents (4, 8)

Verdoolaege et al., Polyhedral parallel code generation for CUDA (TACO 2013), section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import gcd, prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import constant_value

IN, OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of a box: the elements `corner + stride * [0, extent)`, whose corner is `offset` behind `origin`.
    Sides that were moved share their origin, so that their distance is known."""

    origin: isl.PwAff = field(compare=False)  # a function of the place
    stride: int
    extent: int
    offset: int = field(default=0, compare=False)

    @property
    def corner(self) -> isl.PwAff:
        """Return the corner as a function of the place."""
        return self.origin.add_constant_val(isl.Val(self.offset)) if self.offset else self.origin

    def __str__(self) -> str:
        step = f"{self.stride} * " if self.stride > 1 else ""
        return f"{str(self.corner).split('[(')[-1].split(')]')[0]} + {step}[0, {self.extent})"


@dataclass(frozen=True, slots=True)
class Box:
    """The elements of a `{ [place] -> A[..] }` space that are within all sides."""

    space: isl.Space = field(compare=False)
    sides: tuple[Side, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(side.extent for side in self.sides)

    @property
    def cells(self) -> int:
        return prod(self.extents)

    def moved(self, by: Sequence[int]) -> Box:
        """Return the box of elements that are so far away."""
        pairs = zip(self.sides, by, strict=True)
        return replace(self, sides=tuple(replace(side, offset=side.offset + more) for side, more in pairs))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.sides))}]"


def box_around(elements: isl.Map) -> Box | None:
    """Compute the box around what each place uses, `{ [place] -> A[..] }`; None where an extent is not constant."""
    sides = []
    for k in range(elements.dim(OUT)):
        side = _side_around(column(elements, k))
        if side is None:
            return None
        sides.append(side)
    return Box(elements.get_space(), tuple(sides))


def column(elements: isl.Map, k: int) -> isl.Map:
    """Return one subscript of the elements, `{ [place] -> [i] }`."""
    rank = elements.dim(OUT)
    return elements.project_out(OUT, k + 1, rank - k - 1).project_out(OUT, 0, k).coalesce()


@memoized
def _side_around(values: isl.Map) -> Side | None:
    """Compute the side around a subscript.

    Each piece of the least value is tried as the corner of all places.
    """
    if not values.wrap().dim_has_lower_bound(isl.dim_type.set, values.dim(IN)):
        return None
    for _, corner in values.dim_min(0).coalesce().get_pieces():
        side = _side_from(values, isl.PwAff.from_aff(corner))
        if side is not None:
            return side
    return None


def _side_from(values: isl.Map, corner: isl.PwAff) -> Side | None:
    distances = values.sum(isl.Map.from_pw_aff(corner.neg())).range()
    least, most = distances.dim_min_val(0), distances.dim_max_val(0)
    if not (least.is_int() and most.is_int() and int(least.to_python()) >= 0):
        return None
    stride = int(distances.get_stride(0).to_python()) if most.is_pos() else 1
    if int(least.to_python()) % stride:
        stride = gcd(stride, int(least.to_python()))
    return Side(corner, stride, int(most.to_python()) // stride + 1)


def united(a: Box, b: Box) -> Box | None:
    """Compute the box around two, or None where their corners are at no constant distance."""
    sides = []
    for one, other in zip(a.sides, b.sides, strict=True):
        distance = _distance(one, other)
        if distance is None:
            return None
        first, rest = (one, other) if distance >= 0 else (other, one)
        sides.append(_side_over(first, rest, abs(distance)))
    return Box(a.space, tuple(sides))


def _distance(one: Side, other: Side) -> int | None:
    """Return how far a corner is from another one, where that is the same at all places."""
    if one.origin is other.origin:
        return other.offset - one.offset
    return constant_value(other.corner.sub(one.corner).coalesce())


def _side_over(first: Side, rest: Side, distance: int) -> Side:
    strides = [side.stride for side in (first, rest) if side.extent > 1]
    stride = gcd(distance, *strides) or 1
    last = max((first.extent - 1) * first.stride, distance + (rest.extent - 1) * rest.stride)
    return Side(first.origin, stride, last // stride + 1, first.offset)


def box_elements(box: Box) -> isl.Map:
    """Return `{ [place] -> A[..] }`, all elements of the box at each place."""
    total = isl.Map.universe(box.space)
    for k, side in enumerate(box.sides):
        total = total.intersect(_along(side, box.space, k))
    return total


def _along(side: Side, space: isl.Space, k: int) -> isl.Map:
    """Return the elements of the space whose subscript k is within a side."""
    moves = isl.Map(f"{{ [c] -> [e] : exists (x : e = c + {side.stride} x and 0 <= x < {side.extent}) }}")
    alone = isl.Map.from_pw_aff(side.corner).apply_range(moves)
    rest = space.dim(OUT) - k - 1
    wide = alone.insert_dims(OUT, 1, rest).insert_dims(OUT, 0, k)
    return wide.set_tuple_name(OUT, space.get_tuple_name(OUT))


def cell_in(box: Box) -> isl.Map:
    """Return `{ [[place] -> A[..]] -> [..] }`: the cell of each element, (element - corner) / stride."""
    both = box.space.wrap()
    local = isl.LocalSpace.from_space(both)
    to_place = isl.PwMultiAff.from_map(isl.Map.universe(box.space).domain_map())
    total = isl.Map.universe(both.from_domain())
    for k, side in enumerate(box.sides):
        element = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, box.space.dim(IN) + k))
        corner = side.corner.pullback_pw_multi_aff(to_place)
        cell = element.sub(corner).scale_down_val(isl.Val(side.stride)).floor()
        total = total.flat_range_product(isl.Map.from_pw_aff(cell))
    return total
