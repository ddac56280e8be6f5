"""Sectors per warp request: how many 32-byte segments of memory the lanes of one request touch.

What is assumed where the program does not say: arrays are aligned (as cudaMalloc does), rows of unknown length begin at
a multiple of a sector and are too far apart to share one; iterators that run along the warp start at a multiple of the
warp, and other iterators that shift an address take all values alike, so that the mean over the alignments counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polytile.ir.scop import AccessRelation, Scop
from polytile.scheduling.cost.layout import field_bytes, pitches
from polytile.scheduling.cost.references import Form, Number, Reference, references

WARP = 32  # lanes
SECTOR = 32  # bytes
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
class Request:
    """What a warp's request for one access costs. `least` is what it would cost with the elements that it wants next to
    each other and aligned."""

    access: AccessRelation
    sectors: float
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
    rank = len(scop.statement(statement).iterators)
    steps = [(tuple(lane.sign * (i == lane.iterator) for i in range(rank)), lane.extent) for lane in lanes]
    return predict_steps(scop, statement, steps, parameters or {})


def predict_steps(
    scop: Scop, statement: str, steps: Sequence[tuple[Vector, int]], parameters: Mapping[str, int]
) -> tuple[Request, ...]:
    """The same with any step of the iterators from one thread to the next, and the extent of each dimension."""
    found = references(scop, scop.statement(statement))
    return tuple(request(reference, steps, parameters) for reference in found)


def request(reference: Reference, steps: Sequence[tuple[Vector, int]], parameters: Mapping[str, int]) -> Request:
    """The request of one access of a warp."""
    offset, size = field_bytes(reference.array, reference.field)
    points = _points(steps, _rank(reference))
    if not reference.exact:
        return Request(reference.access, float(len(points) * -(-size // SECTOR)), _least(len(points), size), False)
    address = _Address(reference, parameters, points)
    samples = [address.sectors(base, offset, size) for base in address.bases()]
    wanted = sum(map(len, address.cells(address.bases()[0]).values()))
    return Request(reference.access, sum(samples) / len(samples), _least(wanted, size), True)


def _least(elements: int, size: int) -> int:
    return -(-elements * size // SECTOR)


def _rank(reference: Reference) -> int:
    """The number of the statement's iterators."""
    return int(reference.access.relation.dim(isl.dim_type.in_))


def _points(steps: Sequence[tuple[Vector, int]], rank: int) -> list[Vector]:
    """How far each lane of the first warp is from its first lane; one lane, where no dimension is given."""
    points: list[Vector] = []
    for lane in range(WARP):
        point, rest = [0] * rank, lane
        for vector, extent in steps:
            rest, here = divmod(rest, extent)
            point = [p + here * v for p, v in zip(point, vector, strict=True)]
        if rest:
            break
        points.append(tuple(point))
    return points


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of an access as a row (subscripts whose pitch is unknown) and bytes within it."""

    reference: Reference
    parameters: Mapping[str, int]
    points: list[Vector]

    def forms(self) -> tuple[Form, ...]:
        return tuple(form for form in self.reference.subscripts if form is not None)

    def bases(self) -> list[Vector]:
        """Where the iterators stand: only floors tell these apart, alignment is averaged."""
        rank = len(self.points[0])
        if not any(form.floors for form in self.forms()):
            return [(0,) * rank]
        still = [not any(point[i] for point in self.points) for i in range(rank)]
        return [tuple((2 * i + 1) * s * still[i] for i in range(rank)) for s in range(_SAMPLES)]

    def cells(self, base: Vector) -> dict[tuple[Number, ...], set[Number]]:
        """The bytes that lanes address, by row."""
        found: dict[tuple[Number, ...], set[Number]] = {}
        steps = pitches(self.reference.array, self.parameters)
        for point in self.points:
            where = [b + p for b, p in zip(base, point, strict=True)]
            row: list[Number] = []
            within: Number = 0
            for form, pitch in zip(self.forms(), steps, strict=True):
                value = form.value(where, self.parameters)
                if pitch is None:
                    row.append(value)
                else:
                    within += value * pitch
            found.setdefault(tuple(row), set()).add(within)
        return found

    def sectors(self, base: Vector, offset: int, size: int) -> float:
        """The mean number of sectors over all alignments."""
        cells = self.cells(base)
        grain = self._grain()
        shifts = range(0, SECTOR, grain)
        return sum(_touched(cells, offset + shift, size) for shift in shifts) / len(shifts)

    def _grain(self) -> int:
        """What alignments are multiples of, in bytes, as iterators outside the warp and unknown parameters shift."""
        grain = SECTOR
        still = [not any(point[i] for point in self.points) for i in range(len(self.points[0]))]
        for form, pitch in zip(self.forms(), pitches(self.reference.array, self.parameters), strict=True):
            if pitch is None:
                continue
            for step in _shifts(form, still, self.parameters):
                grain = gcd(grain, int(step * pitch) if step.denominator == 1 else pitch)
        return grain


def _shifts(form: Form, still: Sequence[bool], parameters: Mapping[str, int]) -> list[Number]:
    """The coefficients of what shifts a subscript from one request to another."""
    found = [c for c, alone in zip(form.coefficients, still, strict=True) if alone and c]
    found += [c for name, c in form.parameters if name not in parameters]
    for term in form.floors:
        found += [term.factor for _ in _shifts(term.inside, still, parameters)]
    return found


def _touched(cells: Mapping[tuple[Number, ...], set[Number]], shift: int, size: int) -> int:
    touched: set[tuple[tuple[Number, ...], int]] = set()
    for row, within in cells.items():
        for byte in within:
            first, last = (int(byte) + shift) // SECTOR, (int(byte) + shift + size - 1) // SECTOR
            touched.update((row, sector) for sector in range(first, last + 1))
    return len(touched)

