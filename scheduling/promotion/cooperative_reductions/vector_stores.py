"""Partial results that a thread has as a vector, in one dimension of the array that they are stored to.

before: part[c][j / 4][j % 4], 4 neighbours of each thread in registers
after:  part_all[c][j], which others read in their own way
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.arith import known, lift
from polytile.ir.expr import LONG, Binary, Call, Expr

_OUT = isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Flat:
    """The dimension `position` and the next one, of `size` elements, as one."""

    position: int
    size: int

    def subscripts(self, subscripts: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the subscripts of an element; raises ValueError where they are not those of both dimensions."""
        value = _whole(subscripts[self.position], subscripts[self.position + 1])
        if value is None:
            raise ValueError("no subscripts of a vector")
        return (*subscripts[: self.position], value, *subscripts[self.position + 2 :])

    def extents(self, extents: Sequence[Expr | None]) -> tuple[Expr | None, ...]:
        outer = extents[self.position]
        total = None if outer is None else Binary("*", outer, lift(self.size), LONG)
        return (*extents[: self.position], total, *extents[self.position + 2 :])

    def relation(self, accesses: isl.Map) -> isl.Map:
        """Return the same accesses, of an array of fewer dimensions without a name."""
        names = [f"a{k}" for k in range(accesses.dim(_OUT))]
        value = f"{self.size}{names[self.position]} + {names[self.position + 1]}"
        after = [*names[: self.position], value, *names[self.position + 2 :]]
        flat = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(after)}] }}")
        return accesses.reset_tuple_id(_OUT).apply_range(flat)


def flat_vectors(subscripts: Sequence[Expr]) -> Flat | None:
    """Return the dimensions that are one iterator's vectors and its place in them, or None."""
    for position, (outer, inner) in enumerate(pairwise(subscripts)):
        if _whole(outer, inner) is not None and (parts := _remainder(inner)) is not None:
            return Flat(position, parts[1])
    return None


def _whole(outer: Expr, inner: Expr) -> Expr | None:
    """Return `v` of v / 4 and v % 4; `v % 32` of (v % 32) / 4 and v % 4."""
    within = _remainder(inner)
    match outer:
        case Binary(op="/", left=value, right=size) | Call(function="floord", arguments=(value, size)):
            if within is None or known(size) != within[1]:
                return None
            larger = _remainder(value)
            if value == within[0]:
                return value
            return value if larger and larger[0] == within[0] and larger[1] % within[1] == 0 else None
    return None


def _remainder(value: Expr) -> tuple[Expr, int] | None:
    """Return `v` and 4 of v % 4."""
    match value:
        case Binary(op="%", left=v, right=size) | Call(function="pmod()", arguments=(v, size)):
            by = known(size)
            return None if by is None or by < 1 else (v, by)
    return None
