"""Stream kernels whose warps keep a strip each in registers: the last dimension lies across the lanes, nobody waits.

Lanes hold neighbouring columns each; columns of other lanes come by shuffles, once for each plane and step that reads
them. Halos are of whole lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.streaming.kernel_body import KernelBody
from polytile.codegen.lowering.streaming.plane_rings import Ring, age
from polytile.codegen.lowering.streaming.stream_kernel import Stream
from polytile.ir.arith import add, both, compare, div, either, lift, mod, mul, sub
from polytile.ir.expr import BOOL, Assign, Declare, Expr, If, Name, Stmt
from polytile.ir.gpu_ops import Shuffle
from polytile.ir.kernel import ceil_div
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamRead, StreamStep
from polytile.machine import WARP_SIZE


class WarpStrips(KernelBody):
    """The body of a kernel by warps."""

    def __init__(self, stream: Stream, names: Names, counts: Sequence[Name], block: Name, thread: Name) -> None:
        super().__init__(stream, names, counts, block)
        self.thread = thread
        self.warp, self.lane, self.own = self.name("warp"), self.name("lane"), self.name("own", BOOL)

    owns_vectors = True

    def near(self) -> tuple[StreamRead, ...]:
        return tuple(read for read in self.plan.reads if read.offset[-1])

    def owned(self) -> Expr:
        return self.own

    def body(self) -> Iterator[Stmt]:
        yield Declare(self.warp.name, self.integer, add(mul(self.block, self.plan.warps), div(self.thread, WARP_SIZE)))
        yield Declare(self.lane.name, self.integer, mod(self.thread, WARP_SIZE))
        yield from self.tile(self.warp)
        exists = compare("<", self.index[0], self.counts[0])
        if self.stream.chunk is not None:
            exists = compare("<=", self.own_first, self.stream.cells.range[0][1])
        yield If(exists, (*self.corners((self.lane,)), self._owns(), *self.work()))

    def _owns(self) -> Stmt:
        """Lanes of the halo own nothing, but at the sides of space."""
        (axis,), (strip,), (strips,) = self.axes, self.index, self.counts
        lanes = axis.lower // axis.unit, WARP_SIZE - axis.upper // axis.unit
        left = either(compare("==", strip, 0), compare(">=", self.lane, lanes[0]))
        right = either(compare("==", strip, sub(strips, 1)), compare("<", self.lane, lanes[1]))
        return Declare(self.own.name, BOOL, both(left, right))

    # Neighbours --------------------------------------------------------------------------------------
    def before(self, step: StreamStep, fetched: set[tuple[int, int]]) -> Iterator[Stmt]:
        for read in self.plan.reads_of(step.index):
            key = read.source, age(self.plan, read)
            if read.offset[-1] and key not in fetched:
                fetched.add(key)
                yield from _fetches(self.rings[read.source], key[1])

    def end_of_plane(self) -> Iterator[Stmt]:
        """Columns of others move on with their planes, as far as they are read again."""
        for ring in self.rings:
            behind = range(ring.points[0], ring.points[0] + ring.behind.cells)
            for side, columns in (ring.before, range(-ring.before.cells, 0)), (ring.behind, behind):
                for k in range(side.last, side.first, -1):
                    yield from (Assign(ring.at(k, (c,)), "", ring.at(k - 1, (c,))) for c in columns)


def _fetches(ring: Ring, age: int) -> Iterator[Stmt]:
    """The columns of other lanes in a plane, if this is when they come."""
    (columns,) = ring.points
    if ring.before.cells and age == ring.before.first:
        for d in range(1, ring.before.cells + 1):
            value = Shuffle("up", ring.at(age, (-d % columns,)), lift(ceil_div(d, columns)))
            yield Assign(ring.at(age, (-d,)), "", value)
    if ring.behind.cells and age == ring.behind.first:
        for d in range(1, ring.behind.cells + 1):
            value = Shuffle("down", ring.at(age, ((d - 1) % columns,)), lift(ceil_div(d, columns)))
            yield Assign(ring.at(age, (columns - 1 + d,)), "", value)
