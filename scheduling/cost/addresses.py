"""The addresses of a warp's lanes, and the segments of memory that they touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from math import gcd

from polytile.dataclass import dataclass
from polytile.machine import CACHE_LINE_BYTES, SECTOR_BYTES, WARP_SIZE
from polytile.scheduling.analysis.affine_references import Form, Number

_SAMPLES = 4  # points at which subscripts with floors are evaluated

Vector = tuple[int, ...]  # a step of a statement's iterators
_Cells = Mapping[tuple[Number, ...], set[int]]  # the bytes that lanes address, by row


@dataclass(frozen=True, slots=True)
class Along:
    """A dimension of the thread block as a step of a statement's iterators from one thread to the next; only the first
    `active` of its threads take part."""

    step: Vector
    extent: int
    active: int


@dataclass(frozen=True, slots=True)
class Touched:
    """What a warp touches: means over all alignments, and different elements."""

    sectors: float
    lines: float
    elements: int


@lru_cache(maxsize=4096)
def lanes_of(
    forms: tuple[Form, ...],
    pitches: tuple[int | None, ...],
    size: int,
    along: tuple[Along, ...],
    parameters: tuple[tuple[str, int], ...],
) -> Lanes:
    """Return where the threads of a request are, for subscripts `forms` with pitches in bytes for each dimension.

    Elements are of this size.
    """
    rank = len(along[0].step if along else forms[0].coefficients if forms else ())
    parts = tuple(zip(forms, pitches, strict=True))
    address = _Address(parts, size, dict(parameters), warp_points(along, rank), _jumps(along))
    moving = parts if any(form.floors for form in forms) else tuple(p for p in parts if not address.is_zero(p[0]))
    given = parameters if any(form.parameters or form.floors for form, _ in moving) else ()
    return _lanes(moving, size, along, rank, given, address.grain(SECTOR_BYTES), address.grain(CACHE_LINE_BYTES))


@lru_cache(maxsize=4096)
def _lanes(
    parts: tuple[tuple[Form, int | None], ...],
    size: int,
    along: tuple[Along, ...],
    rank: int,
    parameters: tuple[tuple[str, int], ...],
    sector_grain: int,
    line_grain: int,
) -> Lanes:
    """Return where threads are by the subscripts that move them: the same for many pitches of the others."""
    address = _Address(parts, size, dict(parameters), warp_points(along, rank), _jumps(along))
    return Lanes(tuple(address.cells(base) for base in address.bases()), sector_grain, line_grain)


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """The bytes that lanes address at some points, and what alignments are multiples of."""

    cells: tuple[_Cells, ...]
    sector_grain: int
    line_grain: int
    _known: dict[tuple[int, int], Touched] = field(default_factory=dict, init=False, repr=False)

    def touch(self, size: int, shift: int) -> Touched:
        """Compute what threads touch where each wants so many bytes, `shift` from a multiple of a line.

        The mean over all alignments is the same for shifts that are one alignment apart.
        """
        key = size, shift % self.line_grain
        if key not in self._known:
            sectors, lines = (
                sum(_mean(found, key[1], size, length, grain) for found in self.cells) / len(self.cells)
                for length, grain in ((SECTOR_BYTES, self.sector_grain), (CACHE_LINE_BYTES, self.line_grain))
            )
            self._known[key] = Touched(sectors, lines, sum(map(len, self.cells[0].values())))
        return self._known[key]


@lru_cache(maxsize=256)
def warp_points(along: tuple[Along, ...], rank: int) -> tuple[Vector, ...]:
    """Return how far each thread of the first warp is from its first one; one thread, where no dimension is given."""
    points: list[Vector] = []
    for lane in range(WARP_SIZE):
        point, rest, active = [0] * rank, lane, True
        for dimension in along:
            rest, here = divmod(rest, dimension.extent)
            active = active and here < dimension.active
            point = [p + here * v for p, v in zip(point, dimension.step, strict=True)]
        if rest:
            break
        if active:
            points.append(tuple(point))
    return tuple(points)


def _jumps(along: Sequence[Along]) -> list[Vector]:
    """Return how the iterators move from one warp to another, by dimension of the block."""
    room = WARP_SIZE
    found: list[Vector] = []
    for dimension in along:
        covered = min(dimension.extent, room)
        found.append(tuple(covered * x for x in dimension.step))
        room = max(1, room // covered)
    return found


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of an access as a row (subscripts whose pitch is unknown) and bytes within it."""

    parts: tuple[tuple[Form, int | None], ...]  # subscripts with their pitches
    size: int  # of an element
    parameters: Mapping[str, int]
    points: tuple[Vector, ...]
    jumps: list[Vector]

    def bases(self) -> list[Vector]:
        """Return where the iterators stand: only floors distinguish these, alignment is averaged."""
        rank = len(self.points[0])
        if not any(form.floors for form, _ in self.parts):
            return [(0,) * rank]
        still = self._still()
        return [tuple((2 * i + 1) * s * still[i] for i in range(rank)) for s in range(_SAMPLES)]

    def _still(self) -> list[bool]:
        """Return which iterators are the same for all threads of the warp."""
        return [not any(column) for column in zip(*self.points, strict=True)]

    def is_zero(self, form: Form) -> bool:
        """Return whether a subscript without floors is 0 for all threads of the first warp."""
        still = all(alone or not c for c, alone in zip(form.coefficients, self._still(), strict=True))
        return still and not form.constant and not form.parameters

    def cells(self, base: Vector) -> _Cells:
        found: dict[tuple[Number, ...], set[int]] = {}
        for point in self.points:
            where = [b + p for b, p in zip(base, point, strict=True)]
            row: list[Number] = []
            within: Number = 0
            for form, pitch in self.parts:
                value = form.value(where, self.parameters)
                if pitch is None:
                    row.append(value)
                else:
                    within += value * pitch
            found.setdefault(tuple(row), set()).add(int(within))
        return found

    def grain(self, length: int) -> int:
        """Return what alignments are multiples of, in bytes, as iterators outside the warp and unknown parameters
        shift."""
        still = self._still()
        shifts: dict[str, Number] = {}  # bytes, by iterator or parameter
        for form, pitch in self.parts:
            if pitch is not None:
                jumps = ((f"warp {i}", form.along(jump)) for i, jump in enumerate(self.jumps))
                for name, step in (*_shifts(form, still, self.parameters), *jumps):
                    shifts[name] = shifts.get(name, 0) + step * pitch
        grain = length
        for step in shifts.values():
            grain = gcd(grain, int(step) if step.denominator == 1 else self.size)
        return grain


def _shifts(form: Form, still: Sequence[bool], parameters: Mapping[str, int]) -> list[tuple[str, Number]]:
    """Return the coefficients of what shifts a subscript between requests. Quotients shift on their own."""
    found = [(f"{i}", c) for i, (c, alone) in enumerate(zip(form.coefficients, still, strict=True)) if alone and c]
    found += [(name, c) for name, c in form.parameters if name not in parameters]
    for term in form.floors:
        if _shifts(term.inside, still, parameters):
            found.append((str(term), term.factor))
    return found


def _mean(cells: _Cells, offset: int, size: int, length: int, grain: int) -> float:
    """Compute the mean number of segments of this many bytes over all alignments."""
    shifts = range(offset, offset + length, grain)
    rows = Counter(map(frozenset, cells.values()))  # many are alike
    touched = (times * _touched(row, shift, size, length) for row, times in rows.items() for shift in shifts)
    return sum(touched) / len(shifts)


def _touched(within: frozenset[int], shift: int, size: int, length: int) -> int:
    if size <= length:
        ends = {(byte + shift + size - 1) // length for byte in within}
        return len(ends.union([(byte + shift) // length for byte in within]))
    touched: set[int] = set()
    for byte in within:
        touched.update(range((byte + shift) // length, (byte + shift + size - 1) // length + 1))
    return len(touched)
