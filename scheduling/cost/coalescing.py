"""Sectors per warp request: how many 32-byte segments of memory the lanes of one request touch.

What is assumed where the program does not say: arrays are aligned (as cudaMalloc does), rows of unknown length begin at
a multiple of a sector and are too far apart to share one; iterators that run along the warp start at a multiple of the
warp, and other iterators that shift an address take all values alike, so that the mean over the alignments counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polytile.ir.scop import AccessRelation, Scop
from polytile.machine import CACHE_LINE_BYTES, SECTOR_BYTES, VECTOR_BYTES, WARP_SIZE
from polytile.scheduling.analysis.affine_references import Reference, references
from polytile.scheduling.cost.addresses import Along, Element, touch, warp_points, without_constants
from polytile.scheduling.cost.array_layout import element_size, field_bytes, pitches


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
        """Whether the lanes touch one element or a row of neighbours: at most alignment costs a sector more."""
        return self.sectors <= self.least + 1


def predict(
    scop: Scop, statement: str, lanes: Sequence[Lane], parameters: Mapping[str, int] | None = None
) -> tuple[Request, ...]:
    """The requests of each access of a statement, in the order of its accesses, with `lanes` from thread.x on.
    Neighbours along x are one vector where they are so in memory. Parameters with a value make the lengths of rows
    known."""
    found = scop.statement(statement)
    along = [lane_step(lane, len(found.iterators)) for lane in lanes]
    return tuple(request(r, along, parameters or {}, _vector(r, lanes)) for r in references(scop, found))


def _vector(reference: Reference, lanes: Sequence[Lane]) -> int:
    """How many neighbouring elements a lane wants at once."""
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


def request(
    reference: Reference, along: Sequence[Along], parameters: Mapping[str, int], elements: int = 1
) -> Request:
    """The request of one access of a warp, with the dimensions of the thread block from x on; each lane wants so many
    neighbouring elements at once."""
    offset, size = field_bytes(reference.array, reference.field)
    size *= elements
    known = tuple(form for form in reference.subscripts if form is not None)
    if not reference.exact:
        lanes = len(warp_points(tuple(along), int(reference.access.relation.dim(isl.dim_type.in_))))
        sectors = float(lanes * -(-size // SECTOR_BYTES))
        return Request(reference.access, sectors, float(lanes), _least(lanes, size), False)
    layout = pitches(reference.array, parameters)
    shape, shift = without_constants(known, layout)
    element = Element(element_size(reference.array), size, (offset + shift) % CACHE_LINE_BYTES)
    touched = touch(shape, layout, element, tuple(along), tuple(sorted(parameters.items())))
    return Request(reference.access, touched.sectors, touched.lines, _least(touched.elements, size), True)


def _least(elements: int, size: int) -> int:
    return -(-elements * size // SECTOR_BYTES)
