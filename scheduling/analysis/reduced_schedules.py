"""Fewer dimensions of time, which order all uses of a location as the whole times do: isl's access analysis compares
times dimension by dimension, and those of mapped trees have a dozen.

before: { S0[i, j] -> [floor(i/64), floor(j/96), 0, i mod 8, 0]; S1[i, j, k] -> [floor(i/64), floor(j/96), 1,
          floor(k/16), k mod 16] }
after:  { S0[i, j] -> [0, 0]; S1[i, j, k] -> [1, k] }           both use the register of C[i, j] alone

Only instances that use one location are compared, and what leaves the result of a lexicographic comparison as it is:

- a dimension in which all that use a location have one value, be it the same everywhere or one that follows from the
  location, decides nothing;
- behind a dimension in which statements have different numbers only those with the same number are compared, so that
  what follows may be another thing for others;
- two numbers of which the second has at most w values in a row, [a, b], are ordered as w * a + b is. They become one
  where that is affine in the iterators, as that of a loop that was strip-mined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import reduce
from itertools import chain

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import maps, union_of
from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.source_order import name_of

IN, OUT = isl.dim_type.in_, isl.dim_type.out
_Part = dict[int, int]  # the factors of dimensions of the whole time; of none for a number
_Time = list[tuple[_Part, int]]  # and what is added


def flow_by_location(
    sinks: isl.UnionMap,
    must: isl.UnionMap,
    may: isl.UnionMap,
    times: isl.UnionMap,
    kills: isl.UnionMap | None = None,
    conditions: Sequence[isl.UnionMap] = (),
) -> list[isl.UnionFlow]:
    """Find the flow of checked_flow.py in the order of times, one for the locations of each space.

    What meets in several pieces, as copies of full and partial tiles do, is joined: isl compares all pieces in pairs.
    """
    accesses = [a.coalesce().detect_equalities() for a in (sinks, must, may)]
    parts = by_location([*accesses, isl.UnionMap("{ }") if kills is None else kills], times)
    found = []
    for (reads, writes, perhaps, killed), order in parts:
        if not reads.is_empty():
            found.append(flow(reads, writes, perhaps, order, killed, conditions))
    return found


def by_location(
    accesses: Sequence[isl.UnionMap], times: isl.UnionMap
) -> Iterator[tuple[list[isl.UnionMap], isl.UnionMap]]:
    """Give the accesses, `{ S[i] -> A[x] }`, to the locations of each space, reads first, with times that order those
    of one location."""
    every = [[(m, m.get_space().range().drop_all_params()) for m in maps(access)] for access in accesses]
    spaces: list[isl.Space] = []
    for _, space in chain(*every):
        if not any(space.is_equal(other) for other in spaces):
            spaces.append(space)
    for space in spaces:
        there = [[isl.UnionMap.from_map(m) for m, own in uses if own.is_equal(space)] for uses in every]
        found = [union_of(uses, space.params()) for uses in there]
        yield found, times if _is_filled_by_one(*found) else _Uses.of(found, times).deciding()


def _is_filled_by_one(reads: isl.UnionMap, *writes: isl.UnionMap) -> bool:
    """Return whether one statement sets locations that others read: isl finds such flow in less time than other times.
    """
    writers = {name_of(m, IN) for some in writes for m in maps(some)}
    return len(writers) < 2 and writers.isdisjoint(name_of(m, IN) for m in maps(reads))


@dataclass(frozen=True, slots=True)
class _Uses:
    """When statements use locations: their times, `{ S[i] -> [t] }`, the same by `location`, `{ x -> [t] }`, and the
    numbers that some dimensions are (None for others)."""

    times: dict[str, isl.Map] = field(compare=False)
    location: dict[str, list[isl.Map]] = field(compare=False)
    numbers: dict[str, list[int | None]]
    followed: dict[tuple[str, ...], frozenset[int]] = field(default_factory=dict, compare=False)  # once asked for

    @classmethod
    def of(cls, accesses: Sequence[isl.UnionMap], times: isl.UnionMap) -> _Uses:
        whole = {name_of(m, IN): m for m in maps(times)}
        location: dict[str, list[isl.Map]] = {}
        for m in (m for access in accesses for m in maps(access)):
            found = m.reverse().apply_range(whole[name_of(m, IN)])
            location.setdefault(name_of(m, IN), []).append(found)
        return cls({name: whole[name] for name in location}, location, {n: _numbers(whole[n]) for n in location})

    def deciding(self) -> isl.UnionMap:
        found = self._from(tuple(self.times), 0)
        rank = max(map(len, found.values()), default=0)
        shorter = (self._shortened(name, time, rank) for name, time in found.items())
        return union_of(shorter, isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))

    def _shortened(self, name: str, time: _Time, rank: int) -> isl.UnionMap:
        whole = self.times[name]
        names = [f"t{k}" for k in range(whole.dim(OUT))]
        parts = [" + ".join([*(f"{f}*t{k}" for k, f in part.items()), str(number)]) for part, number in time]
        shorter = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join([*parts, *['0'] * (rank - len(parts))])}] }}")
        return isl.UnionMap.from_map(whole.apply_range(shorter).detect_equalities())

    def _from(self, names: tuple[str, ...], at: int) -> dict[str, _Time]:
        """Find what decides between instances of these statements that agree in all dimensions before this one."""
        if at == self.times[names[0]].dim(OUT):
            return {name: [] for name in names}
        values = {self.numbers[name][at] for name in names}
        if None not in values and len(values) > 1:
            found: dict[str, _Time] = {}
            for value in sorted(v for v in values if v is not None):
                same = tuple(name for name in names if self.numbers[name][at] == value)
                found |= {name: [({}, value), *time] for name, time in self._from(same, at + 1).items()}
            return found
        below = self._from(names, at + 1)
        if None not in values or at in self._followed(names):
            return below
        joined = self._joined(names, at, below)
        return joined or {name: [({at: 1}, 0), *time] for name, time in below.items()}

    def _followed(self, names: tuple[str, ...]) -> frozenset[int]:
        """Find the dimensions whose values follow from the location, in the same way for all these statements."""
        if names not in self.followed:
            first, *others = (m for name in names for m in self.location[name])
            hull = reduce(isl.Map.union, others, first).affine_hull()
            rows = (_factors(c, OUT) for c in hull.get_constraints() if _is_plain_equality(c))
            self.followed[names] = frozenset(k for row in rows if len(row) == 1 for k in row)
        return self.followed[names]

    def _joined(self, names: tuple[str, ...], at: int, below: dict[str, _Time]) -> dict[str, _Time] | None:
        """Join this dimension and the next one that counts, if they are a loop that was strip-mined."""
        firsts = [time[0][0] if time else {} for time in below.values()]
        if len(firsts[0]) != 1 or any(part != firsts[0] for part in firsts):
            return None
        (inner,) = firsts[0]
        loops = [n for n in names if self.numbers[n][at] is None or self.numbers[n][inner] is None]
        width, *others = {self._width(name, at, inner) for name in loops}
        if others or width is None or not self._is_within(names, inner, width):
            return None
        return {name: [({at: width, inner: 1}, 0), *time[1:]] for name, time in below.items()}

    def _width(self, name: str, outer: int, inner: int) -> int | None:
        """Find the w with which w * outer + inner is affine in the iterators of a statement."""
        for part in self.times[name].get_basic_maps():
            rows = (_factors(c, OUT) for c in part.get_constraints() if _is_plain_equality(c))
            row = next((row for row in rows if set(row) == {outer, inner} and abs(row[inner]) == 1), None)
            if row is not None and row[outer] * row[inner] > 0:
                return row[outer] * row[inner]
        return None

    def _is_within(self, names: tuple[str, ...], at: int, width: int) -> bool:
        """Return whether a dimension has at most so many values in a row."""
        ranges = [self.times[name].range() for name in names]
        bounds = [(s.dim_min_val(at), s.dim_max_val(at)) for s in ranges]
        if not all(low.is_int() and high.is_int() for low, high in bounds):
            return False
        lows, highs = ([value.to_python() for value in side] for side in zip(*bounds, strict=True))
        return bool(max(highs) - min(lows) < width)


def _numbers(time: isl.Map) -> list[int | None]:
    values = (time.plain_get_val_if_fixed(OUT, k) for k in range(time.dim(OUT)))
    return [value.to_python() if value.is_int() else None for value in values]


def _is_plain_equality(constraint: isl.Constraint) -> bool:
    return bool(constraint.is_equality()) and not _factors(constraint, isl.dim_type.div)


def _factors(constraint: isl.Constraint, kind: isl.dim_type) -> _Part:
    """Return the nonzero factors, by dimension."""
    found = ((k, constraint.get_coefficient_val(kind, k)) for k in range(constraint.dim(kind)))
    return {k: value.to_python() for k, value in found if not value.is_zero()}
