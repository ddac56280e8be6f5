"""Register tiles: elements that one thread alone reads and writes stay in its registers (scalar replacement).

before: for (k0) for (k) for (points) C[i][j] += A[i][k] * B[k][j];
after:  C_acc[p][q] = C[i][j]; for (k0) for (k) for (points) C_acc[p][q] += A[i][k] * B[k][j]; C[i][j] = C_acc[p][q];

A tile lives as far out as its elements are the thread's alone: best in the whole kernel, over all its loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from polytile.ir.loop_places import HOST_LOOP, SERIAL_LOOP, LabelledLoop
from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, Owner, Placement
from polytile.ir.scop import AccessKind, Scop
from polytile.machine import REGISTER_BYTES
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.promotion.footprint_boxes import IN, OUT
from polytile.scheduling.promotion.reference_tiles import (
    Reference,
    ReferenceTile,
    cell_text,
    copy_of,
    exact_elements,
    references_in,
    tiles,
)


def register_tiles(
    scop: Scop, loops: Sequence[LabelledLoop], arrays: Iterable[str], registers: int
) -> Iterator[ReferenceTile]:
    """Tiles of arrays that a kernel writes, outermost loops first, in no more registers than there are."""
    whole = next(loop for loop in loops if loop.label == WHOLE_KERNEL)
    everything = references_in(scop, whole)
    for array in arrays:
        for tile in _tiles_of(scop, loops, [r for r in everything if r.access.array == array]):
            taken = tile.bytes // REGISTER_BYTES
            if taken <= registers:
                registers -= taken
                yield tile


def _tiles_of(scop: Scop, loops: Sequence[LabelledLoop], references: Sequence[Reference]) -> Iterator[ReferenceTile]:
    """The outermost tiles of one array, each reference in one at most."""
    placed: set[tuple[str, int]] = set()
    if not any(r.access.writes for r in references):
        return
    for loop in sorted(loops, key=lambda each: len(each.path)):
        below = [r for r in references_in(scop, loop) if r.access.array == references[0].access.array]
        for tile in tiles(scop, below, loop, Owner.THREAD):
            if not placed & set(tile.uses) and _is_good(tile, below):
                placed |= set(tile.uses)
                yield tile


def _is_good(tile: ReferenceTile, below: Sequence[Reference]) -> bool:
    return tile.written and _is_reused(tile) and _is_alone(tile) and not _is_shared(tile, below)


def _is_reused(tile: ReferenceTile) -> bool:
    """Whether instances of some statement use a cell more than once."""
    counts = [f.count for f in tile.footprints]
    return any(count is None or count > tile.box.cells for count in counts)


def _is_alone(tile: ReferenceTile) -> bool:
    """Whether in each iteration one thread alone uses an element."""
    users = exact_elements(tile.references, tile.loop, tile.owner)
    if users is None:
        return False
    return bool(_by_iteration(users, tile).is_single_valued())


def _by_iteration(users: isl.Map, tile: ReferenceTile) -> isl.Map:
    """`{ [A[i] -> iteration] -> [place] }`, for iterations of the host and of serial loops."""
    places = users.domain()
    kept = [k for k, role in enumerate(tile.loop.roles) if role in (HOST_LOOP, SERIAL_LOOP)]
    iteration = isl.Map.identity(places.get_space().map_from_set()).intersect_domain(places)
    for k in reversed(range(places.dim(isl.dim_type.set))):
        if k not in kept:
            iteration = iteration.project_out(OUT, k, 1)
    return users.range_product(iteration).reverse()


def _is_shared(tile: ReferenceTile, below: Sequence[Reference]) -> bool:
    """Whether other references touch elements of the tile."""
    others = [r for r in below if r.use not in tile.uses]
    if not others:
        return False
    own = exact_elements(tile.references, tile.loop, tile.owner)
    rest = exact_elements(others, tile.loop, tile.owner)
    if own is None or rest is None:
        return True
    return not _elements_by_host(own, tile).is_disjoint(_elements_by_host(rest, tile))


def _elements_by_host(users: isl.Map, tile: ReferenceTile) -> isl.Map:
    hosts = sum(role == HOST_LOOP for role in tile.loop.roles)
    return users.project_out(IN, hosts, users.dim(IN) - hosts)


def register_placement(name: str, tile: ReferenceTile, dependences: Dependences) -> Placement:
    """The placement of a tile, filled with what is read before it is written, and drained of what is written."""
    drained = _drained(tile)
    return Placement(
        name,
        tile.array.name,
        tile.uses,
        tile.loop.label,
        Space.PRIVATE,
        Owner.THREAD,
        cell_text(tile),
        tile.box.extents,
        fill=copy_of(tile, _filled(tile, drained, dependences)),
        drain=copy_of(tile, drained),
    )


def _drained(tile: ReferenceTile) -> isl.Map:
    written = exact_elements([r for r in tile.references if r.access.writes], tile.loop, tile.owner)
    assert written is not None
    return written


def _filled(tile: ReferenceTile, drained: isl.Map, dependences: Dependences) -> isl.Map:
    """What is read, or may be drained, but was not written at the place before."""
    total = isl.Map.empty(drained.get_space())
    for reference in tile.references:
        if reference.access.kind is AccessKind.READ:
            total = total.union(_read_from_outside(reference, tile, dependences))
    sure = exact_elements([r for r in tile.references if r.access.kind is AccessKind.WRITE], tile.loop, tile.owner)
    return total.union(drained if sure is None else drained.subtract(sure)).coalesce()


def _read_from_outside(reference: Reference, tile: ReferenceTile, dependences: Dependences) -> isl.Map:
    """The elements that a reference reads without a write of the tile before, at the same place."""
    read = exact_elements([reference], tile.loop, tile.owner)
    assert read is not None
    places = tile.loop.places(tile.owner)
    flow = dependences.of(tile.array.name).flow
    same = places.apply_range(places.reverse())
    writes = [r for r in tile.references if r.access.kind is AccessKind.WRITE]
    reads = isl.UnionMap.from_map(reference.access.relation.intersect_domain(reference.instances))
    covered = isl.UnionMap("{ }")
    for writer in writes:
        written = isl.UnionMap.from_map(writer.access.relation.intersect_domain(writer.instances))
        through = flow.intersect(same).intersect_domain(written.domain()).intersect_range(reads.domain())
        met = through.reverse().apply_range(written).intersect(reads)
        covered = covered.union(met)
    left = reads.subtract(covered)
    found = places.reverse().apply_range(left)
    return found.extract_map(read.get_space()) if not found.is_empty() else isl.Map.empty(read.get_space())
