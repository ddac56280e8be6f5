"""Relations of accesses whose subscripts differ by constants alone: one is made, the others are moved ones.

before: A[i - 1][j], A[i][j] and A[i + 1][j], hundreds of them in a large box of neighbours
after:  { S[i, j] -> A[i - 1, j] }, and this moved by one and by two along the first dimension
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend.accesses import RawAccess
from polytile.ir.access_boxes import Offset, moved
from polytile.ir.identity_key import IdentityKey


@dataclass(frozen=True, slots=True)
class MovedRelations:
    """The relations of one statement's accesses, of which `make` makes one from nothing; `known` are those that were
    made, by all that their accesses have beside constants, with these."""

    make: Callable[[RawAccess], isl.Map]
    known: dict[object, tuple[isl.Map, Offset]] = field(default_factory=dict)

    def of(self, raw: RawAccess, has_fields: bool) -> isl.Map:
        """The elements that each instance accesses, of an array of structs if it `has_fields`."""
        subscripts = [s for s in raw.subscripts if s is not None]
        if raw.loose or has_fields or raw.inside or len(subscripts) < len(raw.subscripts):
            return self.make(raw)
        shape = tuple(frozenset((m, c) for m, c in s.terms.items() if m) for s in subscripts)
        constants = tuple(s.terms.get((), 0) for s in subscripts)
        key = raw.access.array, raw.inner, IdentityKey(raw.points), shape
        if key not in self.known:
            self.known[key] = (self.make(raw), constants)
        relation, there = self.known[key]
        return moved(relation, tuple(a - b for a, b in zip(constants, there, strict=True)))
