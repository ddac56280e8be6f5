"""Sectors per warp request: how many 32-byte segments of memory the lanes of one request touch.

What is assumed where the program does not say: arrays are aligned (as cudaMalloc does), rows of unknown length begin at
a multiple of a sector and are too far apart to share one; iterators that run along the warp start at a multiple of the
warp, and other iterators that shift an address take all values alike, so that the mean over the alignments counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.field_layout import field_bytes
from polytile.ir.scop import AccessRelation, Scop
from polytile.machine import CACHE_LINE_BYTES, SECTOR_BYTES, VECTOR_BYTES, WARP_SIZE
from polytile.scheduling.analysis.affine_references import LinearPart, Reference, references
from polytile.scheduling.cost.addresses import Along, Lanes, lanes_of, warp_points
from polytile.scheduling.cost.array_layout import access_pitches, last_pitch


@dataclass(frozen=True, slots=True)
class Lane:
    """A dimension of the thread block, as one statement sees it: which iterator runs along it, forwards or backwards,
    over how many threads, and how many of its iterations are between one thread and the next; `inner` of these are
    neighbours that the thread runs one after another."""

    iterator: int
    extent: int = WARP_SIZE
    sign: int = 1
    unit: int = 1
    inner: int = 1


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
        """Return whether the threads touch one element or a row of neighbours: at most alignment costs a sector more.
        """
        return self.sectors <= self.least + 1

    def of(self, access: AccessRelation) -> Request:
        """Return the same request for another access."""
        return Request(access, self.sectors, self.lines, self.least, self.exact)

_Base = tuple[str, int | None]  # of references, what their subscripts count from


class Alike(NamedTuple):
    """An array, the field of its structs, subscripts without constants, the neighbours that a lane wants at once, and
    the bytes that constants shift addresses by within a line."""

    array: str
    field: int | None
    linear: LinearPart
    elements: int
    shift: int


def predict(
    scop: Scop, statement: str, lanes: Sequence[Lane], parameters: Mapping[str, int] | None = None
) -> tuple[Request, ...]:
    """Predict the requests of each access of a statement, in the order of its accesses.

    The threads of a warp, `lanes`, count from thread.x on. Neighbours along x are one vector where they are so in
    memory. Parameters with a value make the lengths of rows known.
    """
    found = scop.statement(statement)
    warp = Warp(tuple(lane_step(lane, len(found.iterators)) for lane in lanes), parameters or {})
    return tuple(warp.request(r, _vector(r, lanes)) for r in references(scop, found))


def _vector(reference: Reference, lanes: Sequence[Lane]) -> int:
    """Return how many neighbouring elements a thread wants at once."""
    *outer, last = reference.subscripts or (None,)
    if not lanes or last is None or last.floors or reference.field is not None:
        return 1
    x = lanes[0]
    if last.coefficients[x.iterator] != x.sign:
        return 1
    apart = any(form is None or form.involves()[x.iterator] for form in outer)
    return 1 if apart or x.inner * reference.array.element.size not in VECTOR_BYTES else x.inner


def lane_step(lane: Lane, rank: int) -> Along:
    step = tuple(lane.sign * lane.unit * (i == lane.iterator) for i in range(rank))
    return Along(step, lane.extent, lane.extent)


@dataclass(frozen=True, slots=True)
class Warp:
    """Requests of one warp, whose lanes are `along` the dimensions of the thread block from x on. Accesses that differ
    by constants, as in a stencil, make the same requests elsewhere."""

    along: tuple[Along, ...]
    parameters: Mapping[str, int]
    _known: dict[Alike, Request] = field(default_factory=dict, init=False, repr=False, compare=False)
    _layouts: dict[_Base, tuple[int | None, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _lanes: dict[tuple[_Base, LinearPart], Lanes] = field(default_factory=dict, init=False, repr=False, compare=False)

    def request(self, reference: Reference, elements: int = 1) -> Request:
        """Compute the request of one access; each thread of a warp wants so many neighbouring elements at once."""
        alike = self.alike(reference, elements)
        known = self._known.get(alike)
        if known is None:
            layout = self._layouts[reference.base]
            known = self._known[alike] = self._of(reference, layout, elements, alike.shift)
        return known.of(reference.access)

    def alike(self, reference: Reference, elements: int = 1) -> Alike:
        """Return a key that accesses with the same requests share, of all warps with these parameters."""
        layout = self._layouts.get(reference.base)
        if layout is None:
            layout = self._layouts[reference.base] = access_pitches(reference, self.parameters)
        shift = int(_shift(reference, layout)) % CACHE_LINE_BYTES
        return Alike(reference.array.name, reference.field, reference.linear, elements, shift)

    def _of(self, reference: Reference, layout: tuple[int | None, ...], elements: int, shift: int) -> Request:
        offset, size = field_bytes(reference.array, reference.field)
        size *= elements
        if not reference.exact:
            lanes = len(warp_points(self.along, int(reference.access.relation.dim(isl.dim_type.in_))))
            sectors = float(lanes * -(-size // SECTOR_BYTES))
            return Request(reference.access, sectors, float(lanes), _least(lanes, size), False)
        key = reference.base, reference.linear
        if key not in self._lanes:
            forms = tuple(form for form in reference.linear.forms if form is not None)
            known = tuple(sorted(self.parameters.items()))
            self._lanes[key] = lanes_of(forms, layout, last_pitch(reference), self.along, known)
        touched = self._lanes[key].touch(size, (offset + shift) % CACHE_LINE_BYTES)
        return Request(reference.access, touched.sectors, touched.lines, _least(touched.elements, size), True)


def _shift(reference: Reference, layout: tuple[int | None, ...]) -> int:
    """Return the bytes that whole constants shift an address by within its row."""
    if not reference.exact:
        return 0
    pairs = zip(reference.constants, layout, strict=True)
    return sum(c * pitch for c, pitch in pairs if pitch is not None and isinstance(c, int))


def _least(elements: int, size: int) -> int:
    return -(-elements * size // SECTOR_BYTES)
