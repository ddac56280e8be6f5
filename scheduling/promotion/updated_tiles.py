"""Shared tiles of what a kernel reads and writes: the arrays of a block's tile, for as long as the kernel runs.

before: for (t) { barrier; B[i] = f(A[i - 1], A[i + 1]); barrier; A[i] = f(B[i - 1], B[i + 1]); }
after:  A_tile[..] = A[..]; B_tile[..] = B[..]; barrier;
        for (t) { B_tile[..] = f(A_tile[..], ..); barrier; A_tile[..] = f(B_tile[..], ..); barrier; }
        A[..] = A_tile[..]; B[..] = B_tile[..];

Filled is what the block reads before it writes it, drained is what it writes: as the schedule is legal, no other block
of the launch writes the former, nor uses the latter. Where that holds of boxes around these elements, they are copied
instead (fills_and_drains.py). Grosser et al. 2013 keep the values of split tiles like that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.cell_layout import Layout
from polytile.ir.isl_util import maps
from polytile.ir.loop_places import HOST_LOOP, LabelledLoop
from polytile.ir.place_quotients import without_place_quotients
from polytile.ir.plan import Owner, Placement
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.data_transfers import transfers
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences
from polytile.scheduling.promotion.bank_conflicts import WarpReads, layout_for, warp_reads
from polytile.scheduling.promotion.fills_and_drains import Copied, copied_elements
from polytile.scheduling.promotion.footprint_boxes import box_around
from polytile.scheduling.promotion.reference_tiles import (
    Footprint,
    Reference,
    ReferenceTile,
    copy_of,
    placement_of,
    references_in,
    with_names,
)
from polytile.scheduling.promotion.tile_dataflow import PlacedReference, TileDataflow, united_maps
from polytile.tuning import PromotionTuning


@dataclass(frozen=True, slots=True)
class UpdatedTile:
    """A tile of an array that a kernel reads and writes, what is copied of it, and how the lanes of warps read
    it."""

    tile: ReferenceTile
    copied: Copied
    reads: tuple[WarpReads, ...]

    @property
    def layout(self) -> Layout:
        return layout_for(self.tile.box, self.reads, self.tile.array.element.size)

    @property
    def bytes(self) -> int:
        return self.layout.size(self.tile.box.extents) * self.tile.array.element.size


def updated_tiles(
    scop: Scop,
    loops: Sequence[LabelledLoop],
    arrays: Collection[str],
    taken: Collection[tuple[str, int]],
    dependences: Dependences,
    shared_memory: int,
    tuning: PromotionTuning,
) -> Iterator[UpdatedTile]:
    """Yield the tiles of arrays that the first of the loops, the whole kernel, reads and writes, in no more memory than
    there is, most used elements first."""
    whole = loops[0]
    references = references_in(scop, whole)
    if any(part.dim(isl.dim_type.div) for r in references for part in r.access.relation.get_basic_maps()):
        return  # kernels with cells have linear subscripts
    everything = [r for r in references if r.access.array in arrays]
    initialised = {t.array.name for t in transfers(scop, dependences) if t.copy_in}
    executions = _executions(everything, whole, scop)
    found: list[UpdatedTile] = []
    for array in dict.fromkeys(r.access.array for r in everything):
        own = [r for r in everything if r.access.array == array]
        free = all(r.statement.name in executions and r.use not in taken for r in own)
        if free and {True, False} <= {r.access.writes for r in own}:
            accesses = [PlacedReference(r, *executions[r.statement.name]) for r in own]
            tile = _tile(scop, whole, accesses, dependences.of(array), array in initialised, tuning.tile_updates)
            found += [tile] if tile is not None else []
    for tile in sorted(found, key=lambda each: -each.tile.often):
        if tile.bytes <= shared_memory:
            shared_memory -= tile.bytes
            yield tile


def _tile(
    scop: Scop,
    whole: LabelledLoop,
    accesses: Sequence[PlacedReference],
    dependences: ArrayDependences,
    initialised: bool,
    least_reuse: float,
) -> UpdatedTile | None:
    """Create the tile of these accesses of an array, which are all in the kernel.

    Returns None where no box has constant extents, cells are used less often, or nothing is read that the tile itself
    wrote.
    """
    box = box_around(united_maps([a.full for a in accesses]))
    kept = TileDataflow(tuple(accesses), dependences, sum(role == HOST_LOOP for role in whole.roles))
    if box is None:
        return None
    footprints = tuple(Footprint(a.reference, a.full_executions) for a in accesses)
    tile = ReferenceTile(scop.array(accesses[0].reference.access.array), whole, Owner.BLOCK, footprints, box)
    if tile.often < least_reuse or all(kept.covered(a).is_empty() for a in accesses):
        return None
    copied = copied_elements(kept, box, _places(whole), scop, initialised)
    return UpdatedTile(tile, copied, warp_reads(tile))


def _places(whole: LabelledLoop) -> isl.Set:
    """Return where blocks run anything."""
    found = [without_place_quotients(placed.reverse()).domain() for placed in maps(whole.places(Owner.BLOCK))]
    return reduce(lambda total, part: total.union(part), found).coalesce()


def _executions(
    references: Iterable[Reference], whole: LabelledLoop, scop: Scop
) -> dict[str, tuple[isl.Map, isl.Map]]:
    """Return what each block runs of a statement, also without the bounds of its domain, which cut tiles."""
    found: dict[str, tuple[isl.Map, isl.Map]] = {}
    for reference in references:
        name = reference.statement.name
        placed = None if name in found else reference.placed(whole.places(Owner.BLOCK))
        if placed is not None:
            executions = with_names(placed.intersect_domain(reference.instances).reverse(), whole, Owner.BLOCK)
            executions = without_place_quotients(executions)
            domain = reference.statement.domain.intersect_params(scop.context)
            found[name] = executions, executions.gist_range(domain)
    return found


def updated_placement(name: str, updated: UpdatedTile) -> Placement:
    """Return the placement of a tile."""
    tile, (fill, drain) = updated.tile, (updated.copied.filled, updated.copied.drained)
    return placement_of(name, tile, copy_of(tile, fill), copy_of(tile, drain), updated.layout)
