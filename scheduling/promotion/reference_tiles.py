"""Tiles of references: which accesses of a kernel use the same box of elements at a loop, and how often.

before: kernel / block [i/64, j/64] / loop[k0] band [k/16] / ...    S1[i, j, k] reads A[i, k]
after:  at k0, a block: box [64 bi + [0, 64), 16 k0 + [0, 16)] of A, each element used 64 times, by 16 threads

The boxes are those of full tiles, so that they hold for partial ones and for those that a triangle cuts, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from fractions import Fraction
from itertools import groupby
from math import inf

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir import access_boxes
from polytile.ir.access_boxes import Offset, taken_apart
from polytile.ir.cell_layout import ROW_MAJOR, Layout
from polytile.ir.identity_key import remembered
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import maps
from polytile.ir.loop_places import BLOCK_LOOP, HOST_LOOP, SERIAL_LOOP, THREAD_LOOP, LabelledLoop
from polytile.ir.memory import Space
from polytile.ir.plan import Copy, Owner, Placement, relation
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement
from polytile.scheduling.promotion.footprint_boxes import IN, OUT, Box, box_around, cell_in, united

USES = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)


@dataclass(frozen=True, slots=True)
class Reference:
    """An access of a statement, by its number there, and all instances of it in a kernel."""

    statement: Statement
    number: int
    access: AccessRelation
    instances: isl.Set = field(compare=False)

    @property
    def use(self) -> tuple[str, int]:
        return self.statement.name, self.number

    def placed(self, places: isl.UnionMap) -> isl.Map | None:
        """Return `{ S[i] -> [place] }` for its instances; none where these have no place."""
        found = [m for m in maps(places) if m.get_tuple_name(IN) == self.statement.name]
        return found[0] if len(found) == 1 else None


def references_in(scop: Scop, loop: LabelledLoop) -> tuple[Reference, ...]:
    """Return the accesses below a loop to arrays that may be placed."""
    found = []
    inside = loop.iterations.domain().intersect_params(scop.context)
    for statement in scop.statements:
        here = inside.extract_set(statement.domain.get_space()).intersect(statement.domain)
        if here.is_empty():
            continue
        for number, access in enumerate(statement.accesses):
            array = scop.array(access.array)
            if access.kind in USES and not array.fields and not scop.by_value(array):
                found.append(Reference(statement, number, access, here))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one reference uses at the places of an owner in a loop: `executions` of its statement, in full tiles."""

    reference: Reference
    executions: isl.Map = field(compare=False)  # { [place] -> S[..] }

    @property
    def count(self) -> Fraction | None:
        """Return how often the reference runs at a place; none where that is not constant."""
        return _count(self.executions)


@remembered
def _count(executions: isl.Map) -> Fraction | None:
    found = box_around(executions)
    return None if found is None else Fraction(found.cells)


def _executions(reference: Reference, loop: LabelledLoop, owner: Owner) -> isl.Map | None:
    """Return `{ [place] -> S[..] }` in full tiles: the same for all references of a statement in the loop."""
    key = owner, reference.statement.name
    if key not in loop.executions:
        placed = reference.placed(loop.places(owner))
        if placed is None:
            return None
        executions = full_tiles(placed.intersect_domain(reference.instances)).reverse()
        loop.executions[key] = with_names(executions, loop, owner)
    return loop.executions[key]


def full_tiles(placed: isl.Map) -> isl.Map:
    """Remove the bounds of the domain, except those of iterators within constants.

    before: { S[i, r] -> [floor(i/64)] : 0 <= i < n and 0 <= r < 3 }
    after:  { S[i, r] -> [floor(i/64)] : 0 <= r < 3 }
    """
    instances = placed.domain()
    found = placed.gist_domain(instances)
    for k, least, most in _within_constants(instances):
        found = found.lower_bound_val(IN, k, least).upper_bound_val(IN, k, most)
    return found


@memoized
def _within_constants(instances: isl.Set) -> tuple[tuple[int, isl.Val, isl.Val], ...]:
    """Find the iterators that are within constants, whatever the parameters are, and these."""
    found = []
    for k in range(instances.dim(isl.dim_type.set)):
        least = instances.dim_min_val(k)
        most = instances.dim_max_val(k) if least.is_int() else least
        if most.is_int():
            found.append((k, least, most))
    return tuple(found)


def exact_elements(references: Iterable[Reference], loop: LabelledLoop, owner: Owner) -> isl.Map | None:
    """Return `{ [place] -> A[..] }`: exactly what references use at each place.

    Neighbours of a statement are looked at as one.
    """
    total = None
    for _, group in groupby(references, key=lambda r: (r.statement.name, r.access.array, id(r.instances))):
        first, *more = group
        placed = first.placed(loop.places(owner))
        if placed is None:
            return None
        relation = access_boxes.united([reference.access.relation for reference in (first, *more)])
        own = placed.intersect_domain(first.instances).reverse().apply_range(relation)
        total = own if total is None else total.union(own)
    return None if total is None else with_names(total, loop, owner)


def place_names(loop: LabelledLoop, owner: Owner) -> list[str]:
    """Return the names for the coordinates of a place: b0, b1 for blocks, t0, t1 for threads."""
    letters = {HOST_LOOP: "h", BLOCK_LOOP: "b", THREAD_LOOP: "t", SERIAL_LOOP: "l"}
    names: list[str] = []
    for role in loop.roles:
        names.append(f"{letters[role]}{sum(name[0] == letters[role] for name in names)}")
    return names + [f"t{k}" for k in range(loop.units(owner))]


def with_names(relation: isl.Map, loop: LabelledLoop, owner: Owner) -> isl.Map:
    """Name the dimensions of a relation from places, `{ [b0, b1, t0, t1] -> A[e0, e1] }`."""
    for k, name in enumerate(place_names(loop, owner)):
        relation = relation.set_dim_name(IN, k, name)
    for k in range(relation.dim(OUT)):
        relation = relation.set_dim_name(OUT, k, f"e{k}")
    return relation


@dataclass(frozen=True, slots=True)
class ReferenceTile:
    """References of one array that use one box of it at the places of an owner in a loop."""

    array: Array
    loop: LabelledLoop
    owner: Owner
    footprints: tuple[Footprint, ...]
    box: Box

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(f.reference for f in self.footprints)

    @property
    def uses(self) -> tuple[tuple[str, int], ...]:
        return tuple(r.use for r in self.references)

    @property
    def written(self) -> bool:
        return any(r.access.writes for r in self.references)

    @property
    def bytes(self) -> int:
        return self.box.cells * self.array.element.size

    @property
    def reuse(self) -> Fraction | None:
        """Return how often each cell is used at a place; none for any number of times."""
        counts = [f.count for f in self.footprints]
        known = [count for count in counts if count is not None]
        return sum(known, Fraction(0)) / self.box.cells if len(known) == len(counts) else None

    @property
    def often(self) -> float:
        """Return the same as a number, infinite for any number of times."""
        return inf if self.reuse is None else float(self.reuse)


def tiles(scop: Scop, references: Iterable[Reference], loop: LabelledLoop, owner: Owner) -> tuple[ReferenceTile, ...]:
    """Return the tiles of these references.

    Those whose boxes are united are in no more cells than they are separately.
    """
    found: list[ReferenceTile] = []
    for reference in references:
        executions = _executions(reference, loop, owner)
        box = box_of(reference, loop, owner)
        if executions is None or box is None:
            continue
        own = Footprint(reference, executions)
        tile = ReferenceTile(scop.array(reference.access.array), loop, owner, (own,), box)
        for k, other in enumerate(found):
            both = _joined(other, tile)
            if both is not None:
                found[k] = both
                break
        else:
            found.append(tile)
    return tuple(found)


def box_of(reference: Reference, loop: LabelledLoop, owner: Owner) -> Box | None:
    """Compute the box of what a reference uses at each place.

    It is that of other references of its statement by the same affine function, moved by the constants.
    """
    executions = _executions(reference, loop, owner)
    if executions is None:
        return None
    relation = reference.access.relation
    function = taken_apart(relation)
    if function is None:
        return box_around(executions.apply_range(relation))
    text, constants = function
    known = _boxes(executions)
    if text not in known:
        known[text] = (box_around(executions.apply_range(relation)), constants)
    box, there = known[text]
    return None if box is None else box.moved([a - b for a, b in zip(constants, there, strict=True)])


@remembered
def _boxes(_: isl.Map) -> dict[str, tuple[Box | None, Offset]]:
    """Return the boxes of what executions use, by functions, with the constants of these."""
    return {}


def _joined(one: ReferenceTile, other: ReferenceTile) -> ReferenceTile | None:
    if one.array.name != other.array.name:
        return None
    box = united(one.box, other.box)
    if box is None or box.cells > one.box.cells + other.box.cells:
        return None
    return ReferenceTile(one.array, one.loop, one.owner, (*one.footprints, *other.footprints), box)


def cell_text(tile: ReferenceTile) -> str:
    """Format the cell of each element of a tile, for a placement."""
    cell = cell_in(tile.box)
    names = place_names(tile.loop, tile.owner)
    names += [f"e{k}" for k in range(len(tile.box.sides))]
    for k, name in enumerate(names):
        cell = cell.set_dim_name(IN, k, name)
    return str(isl.PwMultiAff.from_map(cell))


def placement_of(
    name: str, tile: ReferenceTile, fill: Copy | None, drain: Copy | None = None, layout: Layout = ROW_MAJOR
) -> Placement:
    """Place a tile in registers of threads, or in shared memory of blocks, as its owner has it."""
    memory = Space.SHARED if tile.owner is Owner.BLOCK else Space.PRIVATE
    extents, where = tile.box.extents, tile.loop.label
    cell = cell_text(tile)
    return Placement(
        name, tile.array.name, tile.uses, where, memory, tile.owner, cell, extents, layout, fill=fill, drain=drain
    )


def copy_of(tile: ReferenceTile, elements: isl.Map) -> Copy | None:
    """Create a copy of these elements where the tile is, along the array's rows, or return None for no elements."""
    if elements.is_empty():
        return None
    text = str(with_names(elements.coalesce(), tile.loop, tile.owner))
    return Copy(text, tile.loop.label, lanes=tuple(reversed(range(tile.array.access_rank))))


def has_plain_copies(placement: Placement, tile: ReferenceTile) -> bool:
    """Return whether the elements that are copied have no more holes than the box has.

    With remainders of their own, proofs and loops over them take too long.
    """
    strided = sum(side.stride > 1 for side in tile.box.sides)
    parts = (part for copy in placement.copies for part in relation(copy.elements).get_basic_maps())
    return all(part.dim(isl.dim_type.div) <= strided for part in parts)
