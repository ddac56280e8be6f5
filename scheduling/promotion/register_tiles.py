"""Register tiles: elements that one thread alone reads and writes stay in its registers (scalar replacement).

before: for (k0) for (k) for (points) C[i][j] += A[i][k] * B[k][j];
after:  C_acc[p][q] = C[i][j]; for (k0) for (k) for (points) C_acc[p][q] += A[i][k] * B[k][j]; C[i][j] = C_acc[p][q];

A tile lives as far out as its elements are the thread's alone: best in the whole kernel, over all its loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.loop_places import HOST_LOOP, SERIAL_LOOP, LabelledLoop
from polytile.ir.plan import Owner, Placement
from polytile.ir.scop import AccessKind, AccessRelation, Scop
from polytile.machine import REGISTER_BYTES
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.last_writers import is_seen
from polytile.scheduling.promotion.footprint_boxes import OUT
from polytile.scheduling.promotion.reference_tiles import (
    Reference,
    ReferenceTile,
    copy_of,
    exact_elements,
    placement_of,
    references_in,
    tiles,
)


def register_tiles(
    scop: Scop, loops: Sequence[LabelledLoop], arrays: Iterable[str], dependences: Dependences, registers: int
) -> Iterator[ReferenceTile]:
    """Yield the tiles of arrays that a kernel writes, outermost loops first, in no more registers than there are."""
    below = {loop.label: references_in(scop, loop) for loop in loops}
    for array in arrays:
        for tile in _tiles_of(scop, loops, array, below, dependences):
            taken = tile.bytes // REGISTER_BYTES
            if taken <= registers:
                registers -= taken
                yield tile


def _tiles_of(
    scop: Scop,
    loops: Sequence[LabelledLoop],
    array: str,
    below: Mapping[str, Sequence[Reference]],
    dependences: Dependences,
) -> Iterator[ReferenceTile]:
    """Yield the outermost tiles of one array, each reference in one at most."""
    placed: set[tuple[str, int]] = set()
    for loop in sorted(loops, key=lambda each: len(each.path)):
        own = [r for r in below[loop.label] if r.access.array == array]
        left = [r for r in own if r.use not in placed]
        if not any(r.access.writes for r in left):
            continue
        for tile in tiles(scop, left, loop, Owner.THREAD):
            good = tile.written and _is_reused(tile)
            if good and _is_left_alone(tile, own, dependences) and _is_alone(tile):
                placed |= set(tile.uses)
                yield tile


def _is_reused(tile: ReferenceTile) -> bool:
    """Return whether instances of some statement use a cell more than once."""
    counts = [f.count for f in tile.footprints]
    return any(count is None or count > tile.box.cells for count in counts)


def _is_alone(tile: ReferenceTile) -> bool:
    """Return whether in each iteration one thread alone uses an element."""
    users = exact_elements(tile.references, tile.loop, tile.owner)
    if users is None:
        return False
    return bool(_by_iteration(users, tile).is_single_valued())


def _by_iteration(users: isl.Map, tile: ReferenceTile) -> isl.Map:
    """Return `{ [A[i] -> iteration] -> [place] }`, for iterations of the host and of serial loops."""
    places = users.domain()
    kept = [k for k, role in enumerate(tile.loop.roles) if role in (HOST_LOOP, SERIAL_LOOP)]
    iteration = isl.Map.identity(places.get_space().map_from_set()).intersect_domain(places)
    for k in reversed(range(places.dim(isl.dim_type.set))):
        if k not in kept:
            iteration = iteration.project_out(OUT, k, 1)
    return users.range_product(iteration).reverse()


def _is_left_alone(tile: ReferenceTile, below: Sequence[Reference], dependences: Dependences) -> bool:
    """Return whether other references touch elements of the tile at most to write them, and only after all of its own.
    """
    others = _others(tile, below)
    if not all(r.access.kind is AccessKind.WRITE for r in others):
        return False
    through = dependences.of(tile.array.name)
    later = through.flow.union(through.output).intersect_domain(_instances(others))
    return bool(later.intersect_range(_instances(tile.references)).is_empty())


def _others(tile: ReferenceTile, below: Sequence[Reference]) -> list[Reference]:
    return [r for r in below if r.use not in tile.uses and _meet(tile, r)]


def _meet(tile: ReferenceTile, other: Reference) -> bool:
    own, rest = (exact_elements(refs, tile.loop, tile.owner) for refs in (tile.references, [other]))
    if own is None or rest is None:
        return True
    return not _by_host(own.reverse(), tile).is_disjoint(_by_host(rest.reverse(), tile))


def _instances(references: Sequence[Reference]) -> isl.UnionSet:
    total = isl.UnionSet("{ }")
    for reference in references:
        total = total.union(isl.UnionSet.from_set(reference.instances))
    return total


def _by_host(to_place: isl.Map, tile: ReferenceTile) -> isl.Map:
    """Return `{ .. -> [host] }`, from places."""
    hosts = sum(role == HOST_LOOP for role in tile.loop.roles)
    return to_place.project_out(OUT, hosts, to_place.dim(OUT) - hosts)


def register_placement(name: str, tile: ReferenceTile, scop: Scop, dependences: Dependences) -> Placement:
    """Place a tile in registers, filled with what is read before it is written, and drained of what is written."""
    below = [r for r in references_in(scop, tile.loop) if r.access.array == tile.array.name]
    drained = _drained(tile, below)
    filled = _filled(tile, drained, dependences)
    drain = copy_of(tile, drained) if _is_needed(tile, scop, dependences) else None
    return placement_of(name, tile, copy_of(tile, filled), drain)


def _is_needed(tile: ReferenceTile, scop: Scop, dependences: Dependences) -> bool:
    """Return whether what the tile writes is read anywhere but in its cells."""
    if is_seen(scop, tile.array.name):
        return True
    flow = dependences.of(tile.array.name).flow.intersect_domain(_instances(tile.references))
    places = tile.loop.places(tile.owner)
    readers = {r.statement.name for r in tile.references if r.access.kind is AccessKind.READ}
    others = [s.name for s in scop.statements for n, a in enumerate(s.accesses) if _reads_elsewhere(tile, s.name, n, a)]
    inside = _at_one_place(flow, places)
    elsewhere = any(m.get_tuple_name(OUT) in others or m.get_tuple_name(OUT) not in readers for m in maps(flow))
    return elsewhere or not flow.is_subset(inside)


def _reads_elsewhere(tile: ReferenceTile, statement: str, number: int, access: AccessRelation) -> bool:
    """Return whether an access reads the array, but not from the tile."""
    reads = access.array == tile.array.name and access.kind is AccessKind.READ
    return reads and (statement, number) not in tile.uses


def _drained(tile: ReferenceTile, below: Sequence[Reference]) -> isl.Map:
    """Return what the tile writes, without what others write afterwards."""
    written = exact_elements([r for r in tile.references if r.access.writes], tile.loop, tile.owner)
    assert written is not None
    rest = exact_elements(_others(tile, below), tile.loop, tile.owner)
    if rest is None:
        return written
    places = isl.Map.identity(written.domain().get_space().map_from_set())
    return written.subtract(_by_host(places, tile).apply_range(_by_host(rest.reverse(), tile).reverse()))


def _filled(tile: ReferenceTile, drained: isl.Map, dependences: Dependences) -> isl.Map:
    """Return what is read, or may be drained, but was not written at the place before."""
    total = isl.Map.empty(drained.get_space())
    for reference in tile.references:
        if reference.access.kind is AccessKind.READ:
            total = total.union(_read_from_outside(reference, tile, dependences))
    sure = exact_elements([r for r in tile.references if r.access.kind is AccessKind.WRITE], tile.loop, tile.owner)
    return total.union(drained if sure is None else drained.subtract(sure)).coalesce()


def _read_from_outside(reference: Reference, tile: ReferenceTile, dependences: Dependences) -> isl.Map:
    """Return the elements that a reference reads without an earlier write of the tile, at the same place."""
    read = exact_elements([reference], tile.loop, tile.owner)
    assert read is not None
    places = tile.loop.places(tile.owner)
    flow = dependences.of(tile.array.name).flow
    writes = [r for r in tile.references if r.access.kind is AccessKind.WRITE]
    reads = isl.UnionMap.from_map(reference.access.relation.intersect_domain(reference.instances))
    covered = isl.UnionMap("{ }")
    for writer in writes:
        written = isl.UnionMap.from_map(writer.access.relation.intersect_domain(writer.instances))
        through = flow.intersect_domain(written.domain()).intersect_range(reads.domain())
        met = _at_one_place(through, places).reverse().apply_range(written).intersect(reads)
        covered = covered.union(met)
    left = reads.subtract(covered)
    found = places.reverse().apply_range(left)
    return found.extract_map(read.get_space()) if not found.is_empty() else isl.Map.empty(read.get_space())


def _at_one_place(pairs: isl.UnionMap, places: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs of instances at the same place. isl takes long to pair all that are there."""
    if pairs.is_empty():
        return pairs
    here, there = (places.intersect_domain(side) for side in (pairs.domain(), pairs.range()))
    return pairs.intersect(here.apply_range(there.reverse()))
