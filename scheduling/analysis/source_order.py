"""Which instances of one statement the source runs before which of another, by the loops that both are in.

isl compares whole times, of a dozen dimensions for deep nests; statements part in the first number that differs, and
only the loops in front of that are compared here:

before: { S[i, j] -> [0, i, 0, j, 0] }, { T[i, k] -> [0, i, 1, k, 3] }        all of S[i, j] -> T[i', k'] : lex_lt
after:  { S[i, j] -> T[i', k'] : i <= i' }
"""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import maps

OUT = isl.dim_type.out


@dataclass(slots=True)
class SourceOrder:
    """The times of statements, of numbers and values of loops."""

    times: dict[str, isl.Map]
    numbers: dict[str, tuple[int | None, ...]]  # None for loops
    _parts: dict[tuple[str, tuple[int, ...]], isl.Map] = field(default_factory=dict)

    @classmethod
    def of(cls, order: isl.UnionMap) -> SourceOrder:
        times = {name_of(m, isl.dim_type.in_): m for m in maps(order)}
        return cls(times, {name: tuple(_numbers(m)) for name, m in times.items()})

    def before(self, first: str, then: str) -> isl.Map:
        """Return the pairs of instances of two statements of which the first one runs before the second one."""
        kept: list[int] = []
        for k, (a, b) in enumerate(zip(self.numbers[first], self.numbers[then], strict=True)):
            if a is None or b is None:
                kept.append(k)
            elif a != b:
                one, other = (self._part(name, tuple(kept)) for name in (first, then))
                return one.lex_le_map(other) if a < b else one.lex_lt_map(other)
        return self._part(first, tuple(kept)).lex_lt_map(self._part(then, tuple(kept)))

    def _part(self, statement: str, kept: tuple[int, ...]) -> isl.Map:
        """Return the time of a statement in some of its dimensions."""
        if (statement, kept) not in self._parts:
            found = self.times[statement]
            for k in reversed(range(found.dim(OUT))):
                if k not in kept:
                    found = found.project_out(OUT, k, 1)
            self._parts[statement, kept] = found
        return self._parts[statement, kept]


def name_of(m: isl.Map, side: isl.dim_type) -> str:
    """Return the statement on one side of a map; for pairs of an instance and an element, `[S[i] -> A[x]]`, their
    space."""
    if m.has_tuple_name(side):
        return str(m.get_tuple_name(side))
    space = m.get_space()
    return str((space.domain() if side == isl.dim_type.in_ else space.range()).drop_all_params())


def _numbers(time: isl.Map) -> list[int | None]:
    values = (time.plain_get_val_if_fixed(OUT, k) for k in range(time.dim(OUT)))
    return [value.to_python() if value.is_int() else None for value in values]
