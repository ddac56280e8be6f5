"""Shared tiles: elements that several threads of a block read, loaded once for all of them.

before: for (k0) for (k) C[i][j] += A[i][k] * B[k][j];
after:  for (k0) { A_tile[..] = A[..]; barrier; for (k) C[i][j] += A_tile[i % 64][k % 16] * B[k][j]; barrier; }

A tile lives at the loop where its cells are used most often each time that they are filled, as far in as that goes:
less memory leaves room for more blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.bounding_box import bounding_box
from polytile.ir.loop_places import HOST_LOOP, LabelledLoop
from polytile.ir.plan import WHOLE_KERNEL, Owner, Placement
from polytile.ir.scop import Scop
from polytile.scheduling.promotion.bank_conflicts import WarpReads, layout_for, warp_reads
from polytile.scheduling.promotion.footprint_boxes import box_elements
from polytile.scheduling.promotion.reference_tiles import (
    USES,
    Reference,
    ReferenceTile,
    copy_of,
    exact_elements,
    placement_of,
    references_in,
    tiles,
)
from polytile.tuning import PromotionTuning


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A tile of a block, how many elements of it a thread uses, and how the lanes of warps read it."""

    tile: ReferenceTile
    of_thread: int
    reads: tuple[WarpReads, ...]

    @property
    def threads(self) -> Fraction:
        """Return how many threads use an element, on average."""
        return Fraction(self.of_thread * prod(self.tile.loop.kernel.sizes), self.tile.box.cells)

    @property
    def coalesced(self) -> bool:
        return bool(self.reads) and all(read.coalesced for read in self.reads)

    @property
    def bytes(self) -> int:
        box = self.tile.box
        layout = layout_for(box, self.reads, self.tile.array.element.size)
        return layout.size(box.extents) * self.tile.array.element.size

    @property
    def staged(self) -> bool:
        """Return whether it is filled along rows that threads do not read along, once, before all that the block does.

        The price is a barrier for each block, however often elements are used.
        """
        once = self.tile.loop.label == WHOLE_KERNEL and (self.tile.reuse is None or self.tile.reuse >= 1)
        return once and not self.coalesced

    def why(self, tuning: PromotionTuning) -> str:
        """Return why it should be shared; nothing where it should not."""
        row = self.tile.box.extents[-1] if self.tile.box.extents else 1
        again = self.tile.reuse is None or self.tile.reuse > 1
        if again and self.threads >= tuning.sharing_threads:
            return f"{float(self.threads):g} threads use each"
        apart = not self.coalesced and row >= tuning.coalescing_elements
        return "threads do not read along rows" if apart and (again or self.staged) else ""


def shared_tiles(
    scop: Scop,
    loops: Sequence[LabelledLoop],
    arrays: Collection[str],
    taken: Collection[tuple[str, int]],
    shared_memory: int,
    tuning: PromotionTuning,
) -> tuple[SharedTile, ...]:
    """Choose the best tiles of what a kernel only reads, in no more memory than there is.

    Each reference is in one tile at most.
    """
    reads = [r for r in references_in(scop, loops[0]) if r.access.array in arrays and r.use not in taken]
    found = [t for loop in loops if not loop.in_threads for t in _candidates(scop, loop, loops[0], reads)]
    return _worthwhile([tile for tile in found if tile.why(tuning)], shared_memory, tuning.reads_per_barrier)


def _worthwhile(found: Sequence[SharedTile], shared_memory: int, reads: int) -> tuple[SharedTile, ...]:
    """Return the best tiles in loops where a thread reads so much between barriers.

    Of loops with fewer reads the innermost is dropped first. Staged tiles stay.
    """
    chosen = tuple(_fitting(found, shared_memory))
    often = {id(t.tile.loop): t.tile.loop for t in chosen if not t.staged}
    for loop in sorted(often.values(), key=lambda each: -len(each.path)):
        if sum(shared.of_thread for shared in chosen if shared.tile.loop is loop) < reads:
            return _worthwhile([t for t in found if t.tile.loop is not loop or t.staged], shared_memory, reads)
    return chosen


def _fitting(found: Sequence[SharedTile], shared_memory: int) -> Iterator[SharedTile]:
    placed: set[tuple[str, int]] = set()
    for shared in sorted(found, key=lambda each: (-each.tile.often, each.bytes)):
        if not placed.intersection(shared.tile.uses) and shared.bytes <= shared_memory:
            placed |= set(shared.tile.uses)
            shared_memory -= shared.bytes
            yield shared


def _candidates(scop: Scop, loop: LabelledLoop, whole: LabelledLoop, free: Sequence[Reference]) -> Iterator[SharedTile]:
    uses = {r.use for r in free if not r.access.writes}
    below = [r for r in references_in(scop, loop) if r.use in uses]
    of_threads = {use: t for t in tiles(scop, below, loop, Owner.THREAD) for use in t.uses}
    everything = references_in(scop, whole)
    for tile in tiles(scop, below, loop, Owner.BLOCK):
        if not _is_written(tile, everything, whole):
            yield SharedTile(tile, _of_thread(tile, of_threads), warp_reads(tile))


def _of_thread(tile: ReferenceTile, of_threads: dict[tuple[str, int], ReferenceTile]) -> int:
    """Return how many elements a thread uses; all, where that is not known."""
    own = {id(of_threads[use]): of_threads[use] for use in tile.uses if use in of_threads}
    return min(sum(t.box.cells for t in own.values()), tile.box.cells) or tile.box.cells


def _is_written(tile: ReferenceTile, everything: Sequence[Reference], whole: LabelledLoop) -> bool:
    """Return whether the kernel writes an element of the tile in the same launch."""
    writers = [r for r in everything if r.access.writes and r.access.array == tile.array.name]
    if not writers:
        return False
    hosts = sum(role == HOST_LOOP for role in whole.roles)
    read, written = (exact_elements(refs, whole, Owner.BLOCK) for refs in (tile.references, writers))
    if read is None or written is None:
        return True
    kept = [m.project_out(isl.dim_type.in_, hosts, m.dim(isl.dim_type.in_) - hosts) for m in (read, written)]
    return not kept[0].is_disjoint(kept[1])


def shared_placement(name: str, shared: SharedTile, scop: Scop, copy_bytes: int, initialised: bool) -> Placement:
    """Place a tile in shared memory, in accesses of so many bytes where several elements fit into one.

    Where its array is `initialised` before the kernels it is filled with those elements of its box that the SCoP uses
    at all, else with those that are read: nothing may have been written to others yet.
    """
    tile = shared.tile
    there = isl.Set.from_union_set(tile.loop.places(tile.owner).range())
    fill = copy_of(tile, _with_memory(_filled(tile, scop, there, initialised).gist_domain(there), there, scop))
    vector = max(1, copy_bytes // tile.array.element.size)
    layout = layout_for(tile.box, shared.reads, tile.array.element.size)
    return placement_of(name, tile, None if fill is None else replace(fill, vector=vector), layout=layout)


def _with_memory(elements: isl.Map, there: isl.Set, scop: Scop) -> isl.Map:
    """Return the elements where blocks run, if some are used nowhere for other sizes: then they have no memory.

    before: { [h, b] -> K[e] : 0 <= e < 10 }                                K is used for 0 < T alone
    after:  { [h, b] -> K[e] : 0 <= e < 10 and 0 <= h and 12 h < T }
    """
    array = frozenset((elements.get_tuple_name(isl.dim_type.out),))
    used = scop.accesses(*USES, arrays=array).intersect_params(scop.context).range()
    if elements.range().is_subset(bounding_box(used.extract_set(elements.range().get_space()))):
        return elements
    return elements.intersect_domain(isl.Set.from_basic_set(there.remove_divs().simple_hull()))


def _filled(tile: ReferenceTile, scop: Scop, there: isl.Set, initialised: bool) -> isl.Map:
    elements = scop.accesses(*USES, arrays=frozenset((tile.array.name,))).intersect_params(scop.context).range()
    box = box_elements(tile.box)
    box = box.intersect_range(elements.extract_set(box.get_space().range()).coalesce()).intersect_domain(there)
    read = None if initialised else exact_elements(tile.references, tile.loop, tile.owner)
    return box if read is None or box.is_subset(read) else read.coalesce()
