"""Partial results of a reduction: where they are, and what the statements do that make and combine them.

A key is a group and its chunks, `[i, c]`. The array of partial results is laid out as [c][i][l]: chunks first, so that
chunks of one block are apart from those of another, lanes last. An iterator that is mapped to blocks becomes two
dimensions, of which a block needs the second alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import (
    INT,
    LONG,
    Access,
    Assign,
    Binary,
    Call,
    Cast,
    Expr,
    Literal,
    Scope,
    Stmt,
)
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.isl_util import constant_value
from polytile.ir.partial_results import Combination
from polytile.ir.reductions import Accumulation, fold, identity

Tiles = tuple[int, ...]  # sizes, each a divisor of the one before


@dataclass(frozen=True, slots=True)
class Quotient:
    """floor(i / size) and i mod size of iterators that may or may not be negative."""

    natural: bool

    def chunk(self, value: Expr, size: int) -> Expr:
        divisor = Literal(str(size))
        return Binary("/", value, divisor) if self.natural else Call("floord", (value, divisor), INT)

    def lane(self, value: Expr, size: int) -> Expr:
        divisor = Literal(str(size))
        return Binary("%", value, divisor) if self.natural else Call("pmod()", (value, divisor), INT)


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a layout: element `position` of the key, minus `first`; several of them where it is in `tiles`,
    of these sizes, each within the one before: the number of the tile, the place in the innermost one, and then the
    numbers of those between, so that threads that have an innermost tile each are neighbours.

    `shifted`: tiles begin at `first`, which depends on parameters, so that there is one division and not two.
    """

    position: int
    tiles: Tiles
    first: isl.PwAff = field(compare=False)  # over the parameters
    offset: Expr
    extent: Expr
    natural: bool
    shifted: bool

    def subscripts(self, key: Sequence[Expr]) -> tuple[Expr, ...]:
        value, quotient = key[self.position], Quotient(self.natural)
        if not self.tiles:
            return (_minus(value, self.offset),)
        if self.shifted:
            value = _minus(value, self.offset)
        outer = quotient.chunk(value, self.tiles[0])
        inside = [quotient.lane(value, tile) for tile in self.tiles]
        within = [Quotient(True).chunk(v, tile) for v, tile in zip(inside, self.tiles[1:], strict=False)]
        return outer if self.shifted else _minus(outer, self.offset), inside[-1], *within

    def columns(self, keys: isl.Set) -> list[isl.Map]:
        space = isl.LocalSpace.from_space(keys.get_space())
        value = isl.Aff.var_on_domain(space, isl.dim_type.set, self.position)
        first = self.first.insert_domain(keys.get_space())
        behind = isl.PwAff.from_aff(value).sub(first)
        if not self.tiles:
            return [isl.Map.from_pw_aff(behind)]
        counted = behind if self.shifted else isl.PwAff.from_aff(value)
        sizes = [isl.Val(tile) for tile in self.tiles]
        outer = counted.scale_down_val(sizes[0]).floor()
        inside = [counted.mod_val(size) for size in sizes]
        within = [v.scale_down_val(size).floor() for v, size in zip(inside, sizes[1:], strict=False)]
        found = [outer if self.shifted else outer.sub(first), inside[-1], *within]
        return [isl.Map.from_pw_aff(v) for v in found]

    @property
    def inner_extents(self) -> tuple[int, ...]:
        """Return how many elements the dimensions after the first have."""
        return (*self.tiles[-1:], *(size // next_size for size, next_size in pairwise(self.tiles)))


@dataclass(frozen=True, slots=True)
class PartialLayout:
    """Where a key's element is in an array, before the lanes."""

    dimensions: tuple[Dimension, ...]

    @property
    def extents(self) -> tuple[Expr, ...]:
        inner = (tuple(Literal(str(size)) for size in d.inner_extents) for d in self.dimensions)
        return tuple(e for d, own in zip(self.dimensions, inner, strict=True) for e in (d.extent, *own))

    def subscripts(self, key: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(s for d in self.dimensions for s in d.subscripts(key))

    def relation(self, keys: isl.Set) -> isl.Map:
        """Return the relation from keys to the leading subscripts, a tuple without a name."""
        total = isl.Map.from_domain(keys)
        for dimension in self.dimensions:
            for column in dimension.columns(keys):
                total = total.flat_range_product(column)
        return total


def layout(keys: isl.Set, order: Sequence[int], blocked: Mapping[int, Tiles], context: isl.Set) -> PartialLayout:
    """Choose a layout of the keys with the given positions in this order; `blocked` are tiles by position."""
    known = keys.intersect_params(context)
    return PartialLayout(tuple(_dimension(known, k, blocked.get(k, ()), context) for k in order))


def _dimension(keys: isl.Set, position: int, tiles: Tiles, context: isl.Set) -> Dimension:
    least, most = keys.dim_min(position).coalesce(), keys.dim_max(position).coalesce()
    natural = bool(keys.is_subset(keys.lower_bound_val(isl.dim_type.set, position, isl.Val(0))))
    constant = constant_value(least)
    if constant is None and natural:
        constant = 0
    if constant is not None:
        least = isl.PwAff.val_on_domain(context.params(), isl.Val(constant))
    shifted = bool(tiles) and constant is None
    if tiles and not shifted:
        least, most = (v.scale_down_val(isl.Val(tiles[0])).floor() for v in (least, most))
    last = most.sub(least)
    if tiles and shifted:
        last = last.scale_down_val(isl.Val(tiles[0])).floor()
    extent = last.add_constant_val(isl.Val(1)).coalesce()
    return Dimension(
        position,
        tiles,
        least,
        parameter_expression(least, context, INT),
        parameter_expression(extent, context, LONG),
        natural or shifted,
        shifted,
    )


def _minus(value: Expr, offset: Expr) -> Expr:
    match offset:
        case Literal(text="0"):
            return value
        case _:
            return Binary("-", value, offset)


# Bodies --------------------------------------------------------------------------------------------------------------
def initial_body(partial: Access, op: str) -> tuple[Stmt, ...]:
    """Build `part[i][l] = 0`."""
    return (Assign(partial, "", identity(op, partial.type)),)


def update(found: Accumulation, partial: Access) -> Assign:
    """Build the accumulation with another target.

    Integers are converted first, so that the arithmetic is the target's.
    """
    value = found.value
    if partial.type.kind == "int" and value.type != partial.type:
        value = Cast(partial.type, value)
    return found.made(partial, value)


def finished(found: Accumulation, value: Expr, into: Access | None = None) -> Assign:
    """Build `x += v`, or an update of another target than x.

    What was subtracted from partial results is in them with its sign.
    """
    target = into or found.target
    return Assign(target, "+", value) if found.inverse else found.made(target, value)


def combine_body(given: Combination, lanes: Sequence[str], finish: Stmt) -> tuple[Stmt, ...]:
    """Build the body of a statement that combines partial results and uses the value in `finish`."""
    return (Scope((*fold(given, lanes), finish)),)
