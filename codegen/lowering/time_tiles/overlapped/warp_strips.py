"""Stream kernels whose warps keep a strip each in registers: the last dimension lies across the lanes, nobody waits.

Lanes hold neighbouring columns each; columns of other lanes come by shuffles, once for each plane and step that reads
them. Halos are of whole lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from polytile.codegen.lowering.time_tiles.coalesced_stores import StripInShared, pays, words
from polytile.codegen.lowering.time_tiles.overlapped.cell_masks import in_set
from polytile.codegen.lowering.time_tiles.overlapped.kernel_body import KernelBody, same_in_warp
from polytile.codegen.lowering.time_tiles.overlapped.plane_ages import age
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream
from polytile.codegen.lowering.time_tiles.overlapped.tile_grid import chunks
from polytile.codegen.lowering.time_tiles.rings import Ring, Side, column_of_lane
from polytile.codegen.lowering.time_tiles.written_cells import Writer
from polytile.ir.arith import add, both, compare, div, lift, mod, most, mul, select, sub
from polytile.ir.expr import BOOL, Access, Assign, CType, Declare, Expr, If, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import ROOMY_PLANES, StreamStep
from polytile.machine import REGISTER_BYTES, WARP_SIZE


class WarpStrips(KernelBody):
    """The body of a kernel by warps."""

    def __init__(self, stream: Stream, names: Names, counts: Sequence[Name], block: Name, thread: Name) -> None:
        super().__init__(stream, names, counts, block)
        self.thread = thread
        self.warp, self.lane = self.name("warp"), self.name("lane")
        self.place = self.name("place")  # of the warp in its block
        self.parts = self.name("chunks")  # of the stream
        self.columns = {name: self.name(f"columns_{name}", BOOL) for name in stream.cells.writers}
        self.across = self.name("own_across", self.word)  # of columns v * 32 + lane of the tile, those that it owns
        self.strips = self._strips() if self.plan.streamed else {}

    def _strips(self) -> dict[CType, StripInShared]:
        """Return the strips through which columns go, of each type that is stored.

        There are some where lanes have no vectors of columns, and where shuffles leave room for that.
        """
        elements = dict.fromkeys(self.stream.element(self.plan.steps[store.step]) for store in self.stream.stores)
        columns, warps = self.points[-1], self.plan.warps
        if self.vector:
            return {}
        shuffled = sum(words(r.element) * (r.before[-1].cells + r.behind[-1].cells) for r in self.rings)
        return {
            element: StripInShared(self.supply.fresh("stored"), element, columns, warps, self.place, self.lane)
            for element in elements
            if pays(columns, element, shuffled)
        }

    def storage(self) -> tuple[Storage, ...]:
        return tuple(strip.storage() for strip in self.strips.values())

    @property
    def is_roomy(self) -> bool:
        kept = sum((r.slots - 1) * prod(r.points) * r.element.size for r in self.rings)
        return kept <= REGISTER_BYTES * ROOMY_PLANES

    @property
    def has_bits(self) -> bool:
        """Return whether bits say which columns statements write; without registers to spare, predicates do.

        These are found twice a tile: with four columns a lane and eight steps in double precision bits spill 80 bytes.
        """
        return self.is_roomy or not self.plan.streamed

    def before_planes(self) -> Iterator[Stmt]:
        for name, writer in () if self.has_bits else self.stream.cells.writers.items():
            column = self.columns[name].name
            written = both(*self.tests(writer, self.plan.steps[0]).along[0])
            yield PrivateArray(column, BOOL, self.points)
            yield self.each(Assign(Access(column, self.v, BOOL), "", written))

    def is_cell(self, writer: Writer) -> Expr:
        if self.has_bits:
            return super().is_cell(writer)
        return Access(self.columns[writer.statement.name].name, self.v, BOOL)

    def body(self) -> Iterator[Stmt]:
        number: Expr = same_in_warp(div(self.thread, WARP_SIZE))
        if self.strips:
            yield Declare(self.place.name, self.integer, number)
            number = self.place
        yield Declare(self.warp.name, self.integer, add(mul(self.block, self.plan.warps), number))
        yield Declare(self.lane.name, self.integer, mod(self.thread, WARP_SIZE))
        tiles: Expr = self.counts[0]
        order = self._sides_first() if self.plan.streamed else self.tile(self.warp)
        if self.plan.streamed:
            yield Declare(self.parts.name, self.integer, chunks(self.plan, self.stream.cells, self.stream.chunk))
            tiles = mul(tiles, self.parts)
        inside = (*order, *self.corners((self.lane,)), *self.work())
        yield If(compare("<", self.warp, tiles), inside)

    def _sides_first(self) -> Iterator[Stmt]:
        """Declare which tile this is, those at the two sides of space first.

        These have tests, and start before all others, so that nobody waits for them in the end.
        """
        (strip,), (strips,) = self.index, self.counts
        at_sides, between = mul(self.parts, 2), most(sub(strips, 2), 1)
        other, is_side = sub(self.warp, at_sides), compare("<", self.warp, at_sides)
        side = select(compare("<", self.warp, self.parts), lift(0), sub(strips, 1))
        yield Declare(strip.name, self.integer, select(is_side, side, add(mod(other, between), 1)))
        part = select(is_side, mod(self.warp, self.parts), div(other, between))
        yield self.first_plane(part)

    # Stores ------------------------------------------------------------------------------------------
    def sets(self) -> Iterator[Stmt]:
        yield from super().sets()
        if self.strips:
            inner = add(mul(self.v[0], WARP_SIZE), self.lane)
            yield from self.set_of(self.across, (0,), self.is_owned(0, add(self.edge[0], inner), inner))

    def stored_cells(self, step: StreamStep, target: Access) -> Iterator[Stmt]:
        strip = self.strips.get(target.type)
        if strip is None:
            yield from super().stored_cells(step, target)
            return
        values = [self.rings[step.index].at(0, (column,)) for column in range(strip.columns)]
        pointer = self.targets[step.index]
        owned = in_set(self.across, self.v[0])
        yield from strip.stores(
            values, lambda moved: self.pointed(pointer, step, (moved,)), self.each, self.v[0], owned
        )

    # Neighbours --------------------------------------------------------------------------------------
    def before(self, step: StreamStep, fetched: set[tuple[int, ...]]) -> Iterator[Stmt]:
        for read in self.plan.reads_of(step.index):
            key = read.source, age(self.plan, read)
            if read.offset[-1] and key not in fetched:
                fetched.add(key)
                yield from _fetches(self.rings[read.source], key[1])

    def end_of_plane(self) -> Iterator[Stmt]:
        """Move columns of other lanes on with their planes, as far as they are read again."""
        for ring in self.rings:
            for side, columns in _beside(ring):
                for k in range(side.last, side.first, -1):
                    yield from (Assign(ring.at(k, (c,)), "", ring.at(k - 1, (c,))) for c in columns)


def _beside(ring: Ring) -> tuple[tuple[Side, Sequence[int]], ...]:
    """Return the columns of other lanes that a thread has, the nearest first."""
    (points,), (before,), (behind,) = ring.points, ring.before, ring.behind
    return (before, range(-1, -before.cells - 1, -1)), (behind, range(points, points + behind.cells))


def _fetches(ring: Ring, age: int) -> Iterator[Stmt]:
    """Yield the columns of other lanes in a plane, if this is when they come."""
    for side, columns in _beside(ring):
        if age == side.first:
            yield from (column_of_lane(ring, age, column) for column in columns)
