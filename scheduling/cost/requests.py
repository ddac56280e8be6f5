"""Sectors per warp request: how many 32-byte segments of memory the lanes of one request touch.

What is assumed where the program does not say: arrays are aligned (as cudaMalloc does), rows of unknown length begin at
a multiple of a sector and are too far apart to share one; iterators that run along the warp start at a multiple of the
warp, and other iterators that shift an address take all values alike, so that the mean over the alignments counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polytile.ir.scop import AccessRelation, Scop
from polytile.scheduling.cost.layout import element_size, field_bytes, pitches
from polytile.scheduling.cost.references import Form, Number, Reference, references

WARP = 32  # lanes
SECTOR = 32  # bytes
LINE = 128
_SAMPLES = 4  # points at which subscripts with floors are evaluated

Vector = tuple[int, ...]  # a step of a statement's iterators


@dataclass(frozen=True, slots=True)
class Lane:
    """A dimension of the thread block, as one statement sees it: which iterator runs along it, forwards or backwards,
    and over how many threads."""

    iterator: int
    extent: int = WARP
    sign: int = 1


@dataclass(frozen=True, slots=True)
class Along:
    """A dimension of the thread block as a step of a statement's iterators from one thread to the next; only the first
    `active` of its threads take part."""

    step: Vector
    extent: int
    active: int


@dataclass(frozen=True, slots=True)
class Request:
    """What a warp's request for one access costs. `least` is what it would cost with the elements that it wants next to
    each other and aligned."""

    access: AccessRelation
    sectors: float
    lines: float  # of 128 bytes
    least: int
    exact: bool  # False: a bound, as the subscripts are not known

    @property
    def ideal(self) -> bool:
        """Whether the lanes touch one element or a row of neighbours: at most alignment costs a sector more."""
        return self.sectors <= self.least + 1


def predict(
    scop: Scop, statement: str, lanes: Sequence[Lane], parameters: Mapping[str, int] | None = None
) -> tuple[Request, ...]:
    """The requests of each access of a statement, in the order of its accesses, with `lanes` from threadIdx.x on.
    Parameters with a value make the lengths of rows known."""
    found = scop.statement(statement)
    along = [lane_step(lane, len(found.iterators)) for lane in lanes]
    return tuple(request(reference, along, parameters or {}) for reference in references(scop, found))


def lane_step(lane: Lane, rank: int) -> Along:
    step = tuple(lane.sign * (i == lane.iterator) for i in range(rank))
    return Along(step, lane.extent, lane.extent)


def request(reference: Reference, along: Sequence[Along], parameters: Mapping[str, int]) -> Request:
    """The request of one access of a warp, with the dimensions of the thread block from x on."""
    offset, size = field_bytes(reference.array, reference.field)
    points = _points(along, _rank(reference))
    if not reference.exact:
        apart = float(len(points) * -(-size // SECTOR))
        return Request(reference.access, apart, float(len(points)), _least(len(points), size), False)
    address = _Address(reference, parameters, points, _jumps(along), pitches(reference.array, parameters))
    cells = [address.cells(base) for base in address.bases()]
    sectors, lines = (
        sum(_mean(found, offset, size, length, address.grain(length)) for found in cells) / len(cells)
        for length in (SECTOR, LINE)
    )
    return Request(reference.access, sectors, lines, _least(sum(map(len, cells[0].values())), size), True)


def _least(elements: int, size: int) -> int:
    return -(-elements * size // SECTOR)


def _rank(reference: Reference) -> int:
    """The number of the statement's iterators."""
    return int(reference.access.relation.dim(isl.dim_type.in_))


def _points(along: Sequence[Along], rank: int) -> list[Vector]:
    """How far each lane of the first warp is from its first lane; one lane, where no dimension is given."""
    points: list[Vector] = []
    for lane in range(WARP):
        point, rest, active = [0] * rank, lane, True
        for dimension in along:
            rest, here = divmod(rest, dimension.extent)
            active = active and here < dimension.active
            point = [p + here * v for p, v in zip(point, dimension.step, strict=True)]
        if rest:
            break
        if active:
            points.append(tuple(point))
    return points


def _jumps(along: Sequence[Along]) -> list[Vector]:
    """How the iterators move from one warp to another, by dimension of the block."""
    room = WARP
    found: list[Vector] = []
    for dimension in along:
        covered = min(dimension.extent, room)
        found.append(tuple(covered * x for x in dimension.step))
        room = max(1, room // covered)
    return found


_Cells = Mapping[tuple[Number, ...], set[int]]  # the bytes that lanes address, by row


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of an access as a row (subscripts whose pitch is unknown) and bytes within it."""

    reference: Reference
    parameters: Mapping[str, int]
    points: list[Vector]
    jumps: list[Vector]
    pitches: tuple[int | None, ...]

    def forms(self) -> list[tuple[Form, int | None]]:
        known = [form for form in self.reference.subscripts if form is not None]
        return list(zip(known, self.pitches, strict=True))

    def bases(self) -> list[Vector]:
        """Where the iterators stand: only floors tell these apart, alignment is averaged."""
        rank = len(self.points[0])
        if not any(form.floors for form, _ in self.forms()):
            return [(0,) * rank]
        still = self._still()
        return [tuple((2 * i + 1) * s * still[i] for i in range(rank)) for s in range(_SAMPLES)]

    def _still(self) -> list[bool]:
        """Which iterators are the same for all lanes."""
        return [not any(column) for column in zip(*self.points, strict=True)]

    def cells(self, base: Vector) -> _Cells:
        found: dict[tuple[Number, ...], set[int]] = {}
        forms = self.forms()
        for point in self.points:
            where = [b + p for b, p in zip(base, point, strict=True)]
            row: list[Number] = []
            within: Number = 0
            for form, pitch in forms:
                value = form.value(where, self.parameters)
                if pitch is None:
                    row.append(value)
                else:
                    within += value * pitch
            found.setdefault(tuple(row), set()).add(int(within))
        return found

    def grain(self, length: int) -> int:
        """What alignments are multiples of, in bytes, as iterators outside the warp and unknown parameters shift."""
        still = self._still()
        shifts: dict[str, Number] = {}  # bytes, by iterator or parameter
        for form, pitch in self.forms():
            if pitch is not None:
                jumps = ((f"warp {i}", form.along(jump)) for i, jump in enumerate(self.jumps))
                for name, step in (*_shifts(form, still, self.parameters), *jumps):
                    shifts[name] = shifts.get(name, 0) + step * pitch
        grain = length
        for step in shifts.values():
            grain = gcd(grain, int(step) if step.denominator == 1 else element_size(self.reference.array))
        return grain


def _shifts(form: Form, still: Sequence[bool], parameters: Mapping[str, int]) -> list[tuple[str, Number]]:
    """The coefficients of what shifts a subscript from one request to another. Quotients shift on their own."""
    found = [(f"{i}", c) for i, (c, alone) in enumerate(zip(form.coefficients, still, strict=True)) if alone and c]
    found += [(name, c) for name, c in form.parameters if name not in parameters]
    for term in form.floors:
        if _shifts(term.inside, still, parameters):
            found.append((str(term), term.factor))
    return found


def _mean(cells: _Cells, offset: int, size: int, length: int, grain: int) -> float:
    """The mean number of segments of this many bytes over all alignments."""
    shifts = range(offset, offset + length, grain)
    rows = Counter(map(frozenset, cells.values()))  # many are alike
    touched = (times * _touched(row, shift, size, length) for row, times in rows.items() for shift in shifts)
    return sum(touched) / len(shifts)


def _touched(within: frozenset[int], shift: int, size: int, length: int) -> int:
    touched: set[int] = set()
    for byte in within:
        touched.update(range((byte + shift) // length, (byte + shift + size - 1) // length + 1))
    return len(touched)
