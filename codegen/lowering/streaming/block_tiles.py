"""Stream kernels whose blocks keep a tile each: threads have patches of cells in registers, planes are shared.

A value is read from the thread's own registers where it is in its columns, else from a ring of planes in shared memory.
A plane is read there one plane after it was made, at the earliest, and overwritten one plane after it was read for the
last time: one barrier a plane keeps both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.streaming.kernel_body import KernelBody
from polytile.codegen.lowering.streaming.plane_rings import age, each
from polytile.codegen.lowering.streaming.stream_kernel import Stream
from polytile.codegen.lowering.streaming.tile_grid import reach
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, both, compare, either, lift, mod, mul, sub, zero
from polytile.ir.expr import BOOL, Access, Assign, Declare, Expr, For, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray
from polytile.ir.kernel import Barrier
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamRead, StreamStep

MADE = "neighbours read planes of all steps that were made, and have read those that are overwritten"


class BlockTiles(KernelBody):
    """The body of a kernel by blocks."""

    def __init__(
        self, stream: Stream, names: Names, counts: Sequence[Name], block: Name, threads: Sequence[Name]
    ) -> None:
        super().__init__(stream, names, counts, block)
        self.threads = tuple(threads)
        inner = len(self.axes)
        self.own = [self.name(f"own_{n}", BOOL) for n in ("columns", "rows")[:inner][::-1]]
        self.phase = self.name("phase")
        self.slots: dict[int, int] = {}
        for read in self.shared():
            if not age(self.plan, read):
                raise InternalError(f"step {read.step} reads a plane of other threads as it is made")
            self.slots[read.source] = max(self.slots.get(read.source, 0), age(self.plan, read) + 1)
        self.planes = {k: names.fresh(f"plane{k}") for k in self.slots}

    # Reads -------------------------------------------------------------------------------------------
    def near(self) -> tuple[StreamRead, ...]:
        """Those along the first of the thread's dimensions alone, where it has several cells."""
        if self.points[0] == 1:
            return ()
        inner = self.plan.streamed
        return tuple(r for r in self.plan.reads if r.offset[inner] and not any(r.offset[inner + 1 :]))

    def shared(self) -> Iterator[StreamRead]:
        return (read for read in self.plan.reads if any(read.offset[self.plan.streamed :]))

    def value(self, read: StreamRead) -> Access:
        if not any(read.offset[self.plan.streamed :]) or read in self.near():
            return super().value(read)
        offset = read.offset[self.plan.streamed :]
        cell = [self._place(k, add(v, d)) for k, (v, d) in enumerate(zip(self.v, offset, strict=True))]
        return self._shared(read.source, age(self.plan, read), cell)

    def _shared(self, step: int, age: int, cell: Sequence[Expr]) -> Access:
        slots = self.slots[step]
        slot = mod(add(self.phase, slots - age if age else 0), slots)
        return Access(self.planes[step], (slot, *cell), self.rings[step].element)

    def _place(self, k: int, v: Expr | int) -> Expr:
        """Where in a shared plane a cell is, counted from the thread's first: behind what is beside the tile."""
        return add(mul(self.threads[k], self.points[k]), add(v, self._reach(k)[0]))

    def _reach(self, k: int) -> tuple[int, int]:
        return reach(self.plan, k + self.plan.streamed)

    def storage(self) -> tuple[Storage, ...]:
        return tuple(
            Storage(name, Space.SHARED, self.rings[k].element, self._extents(k), name)
            for k, name in self.planes.items()
        )

    def _extents(self, step: int) -> tuple[Expr, ...]:
        """Of all planes, with what statements read beside the tile: nobody needs that, but nothing tests for it."""
        sizes = [size + sum(self._reach(k)) for k, size in enumerate(self.plan.tile)]
        return tuple(lift(n) for n in (self.slots[step], *sizes))

    # The block's part --------------------------------------------------------------------------------
    def body(self) -> Iterator[Stmt]:
        if not self.plan.streamed:
            raise InternalError("blocks share planes of a stream")
        yield from self.tile(self.block)
        yield from self.corners(self.threads)
        for k in range(len(self.axes)):
            yield from self._owns(k)
        yield from self._zeros()
        yield from self.work()

    def _owns(self, k: int) -> Iterator[Stmt]:
        """Cells of the halo are owned by other tiles, but at the sides of space."""
        axis, v = self.axes[k], self.v[k]
        place = add(mul(self.threads[k], self.points[k]), v)
        first, last = compare("==", self.index[k], 0), compare("==", self.index[k], sub(self.counts[k], 1))
        own = both(
            either(first, compare(">=", place, axis.lower)), either(last, compare("<", place, axis.size - axis.upper))
        )
        yield PrivateArray(self.own[k].name, BOOL, (self.points[k],))
        yield each(self.points[k : k + 1], (v,), Assign(Access(self.own[k].name, (v,), BOOL), "", own))

    def owned(self) -> Expr:
        return both(*(Access(own.name, (v,), BOOL) for own, v in zip(self.own, self.v, strict=True)))

    def _zeros(self) -> Iterator[Stmt]:
        """Planes before the first ones are not there, and nobody needs them."""
        for k in self.slots:
            slots, *sizes = self._extents(k)
            target = Access(self.planes[k], (self.turn, *self.v), self.rings[k].element)
            body: tuple[Stmt, ...] = (Assign(target, "", zero(target.type)),)
            for v, size, thread, count in reversed(
                list(zip(self.v, sizes, self.threads, self.plan.threads, strict=True))
            ):
                body = (For(v.name, thread, compare("<", v, size), count, body, self.integer, unroll=1),)
            yield For(self.turn.name, lift(0), compare("<", self.turn, slots), 1, body, self.integer, unroll=1)
        yield Barrier("all planes hold values")

    # Neighbours --------------------------------------------------------------------------------------
    def start_of_plane(self) -> Iterator[Stmt]:
        yield Declare(self.phase.name, self.integer, sub(self.row, self.begin))

    def before(self, step: StreamStep, fetched: set[tuple[int, int]]) -> Iterator[Stmt]:
        """Rows of other threads, above and below the thread's own."""
        for read in self.near():
            key = read.source, age(self.plan, read)
            if read.step == step.index and key not in fetched:
                fetched.add(key)
                yield from self._rows(*key)

    def _rows(self, source: int, age: int) -> Iterator[Stmt]:
        ring = self.rings[source]
        above = [-d for d in range(1, ring.before.cells + 1) if ring.before.first <= age <= ring.before.last]
        below = range(ring.behind.cells) if ring.behind.first <= age <= ring.behind.last else range(0)
        for row in (*above, *(self.points[0] + d for d in below)):
            cell = [self._place(0, row), *(self._place(k + 1, v) for k, v in enumerate(self.v[1:]))]
            fetch = Assign(ring.at(age, (row, *self.v[1:])), "", self._shared(source, age, cell))
            yield each(self.points[1:], self.v[1:], fetch) if len(self.v) > 1 else fetch

    def after(self, step: StreamStep) -> Iterator[Stmt]:
        if step.index in self.planes:
            cell = [self._place(k, v) for k, v in enumerate(self.v)]
            value = self.rings[step.index].at(0, self.v)
            yield self.each(Assign(self._shared(step.index, 0, cell), "", value))

    def end_of_plane(self) -> Iterator[Stmt]:
        yield Barrier(MADE)
