"""Stream kernels whose blocks keep a tile each: warps below one another have some rows of it in registers.

Lanes hold neighbouring columns of these rows. Columns of other lanes come by shuffles; rows of other warps from shared
memory, where each warp shows those at its edges, and their columns of other lanes by shuffles again. A plane is read
there one plane after it was made, at the earliest, and overwritten one plane after it was read for the last time: one
barrier a plane keeps both.

before: step 1 makes rows 0 .. 3 of a warp, each from the rows above and below it, and the columns beside it
after:  x0[1][-1] = edges0[..][row 3 of the warp above];  x0[1][4] = edges0[..][row 0 of the warp below];
        x0[1][0 .. 3][-1] = shuffle_up(x0[1][0 .. 3][V - 1]);  x0[1][0 .. 3][V] = shuffle_down(x0[1][0 .. 3][0]);
        x1[0] = ...;  edges1[..][row 0] = x1[0][0];  edges1[..][row 3] = x1[0][3]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.streaming.kernel_body import KernelBody
from polytile.codegen.lowering.streaming.plane_rings import Ring, age, column_of_lane, each
from polytile.codegen.lowering.streaming.stream_kernel import Stream
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, binary, both, compare, div, either, lift, mod, mul, sub, zero
from polytile.ir.edge_rows import EdgeRows, columns_at_once
from polytile.ir.expr import BOOL, Access, Assign, Declare, Expr, For, Name, Stmt
from polytile.ir.gpu_ops import Load, PrivateArray, Store
from polytile.ir.kernel import Barrier
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamRead, StreamStep
from polytile.machine import WARP_SIZE

MADE = "neighbours read rows of all steps that were made, and have read those that are overwritten"


class BlockTiles(KernelBody):
    """The body of a kernel by blocks."""

    def __init__(
        self, stream: Stream, names: Names, counts: Sequence[Name], block: Name, threads: Sequence[Name]
    ) -> None:
        super().__init__(stream, names, counts, block)
        if not self.plan.streamed or len(self.axes) != 2:
            raise InternalError("blocks share rows of the planes of a stream")
        self.warp, self.lane = threads
        self.own_rows, self.own_lane = self.name("own_rows", BOOL), self.name("own_lane", BOOL)
        self.phase = self.name("phase")
        self.edges: dict[int, Edges] = {}
        for step in self.plan.steps:
            reads = [r for r in self.plan.reads if r.source == step.index and any(r.offset[1:])]
            if any(not age(self.plan, read) for read in reads):
                raise InternalError(f"a plane of other threads, of step {step.index}, is read as it is made")
            if any(read.offset[1] for read in reads):
                self.edges[step.index] = self._edges(self.rings[step.index], reads)

    def _edges(self, ring: Ring, reads: Sequence[StreamRead]) -> Edges:
        above = [read for read in reads if read.offset[1]]
        rows = EdgeRows.of(self.plan.warps, self.points[0], (r.offset[1] for r in above))
        slots = 1 + max(age(self.plan, read) for read in above)
        return Edges(ring, self.supply.fresh(f"edges{ring.step.index}"), rows, slots, self.warp, self.lane)

    def storage(self) -> tuple[Storage, ...]:
        return tuple(edges.storage() for edges in self.edges.values())

    # The block's part --------------------------------------------------------------------------------
    def body(self) -> Iterator[Stmt]:
        yield from self.tile(self.block)
        yield from self.corners((self.warp, self.lane))
        yield from self._owns_rows()
        yield self.owns_lanes(self.own_lane, self.lane)
        for edges in self.edges.values():
            yield edges.zeros(self.turn, self.v)
        if self.edges:
            yield Barrier("all rows hold values")
        yield from self.work()

    def _owns_rows(self) -> Iterator[Stmt]:
        """Rows of the halo are owned by other tiles, but at the sides of space."""
        axis, u = self.axes[0], self.v[0]
        place = add(mul(self.warp, self.points[0]), u)
        first, last = compare("==", self.index[0], 0), compare("==", self.index[0], sub(self.counts[0], 1))
        own = both(
            either(first, compare(">=", place, axis.lower)), either(last, compare("<", place, axis.size - axis.upper))
        )
        yield PrivateArray(self.own_rows.name, BOOL, self.points[:1])
        yield each(self.points[:1], (u,), Assign(Access(self.own_rows.name, (u,), BOOL), "", own))

    def owned(self) -> Expr:
        return both(Access(self.own_rows.name, self.v[:1], BOOL), self.own_lane)

    # Neighbours --------------------------------------------------------------------------------------
    def start_of_plane(self) -> Iterator[Stmt]:
        if self.edges:
            yield Declare(self.phase.name, self.integer, sub(self.row, self.begin))

    def before(self, step: StreamStep, fetched: set[tuple[int, int]]) -> Iterator[Stmt]:
        for read in self.plan.reads_of(step.index):
            key = read.source, age(self.plan, read)
            if any(read.offset[1:]) and key not in fetched:
                fetched.add(key)
                yield from self._neighbours_in(*key)

    def _neighbours_in(self, source: int, ago: int) -> Iterator[Stmt]:
        """What all steps read of a plane beside the thread's patch: rows of other warps, then columns of lanes."""
        alike = [r for r in self.plan.reads if r.source == source and age(self.plan, r) == ago]
        ring, (rows, columns) = self.rings[source], self.points
        above, below = max(0, *(-r.offset[1] for r in alike)), max(0, *(r.offset[1] for r in alike))
        for row in (*range(-above, 0), *range(rows, rows + below)):
            yield from self.edges[source].fetched(row, ago, self.phase)
        left, right = max(0, *(-r.offset[2] for r in alike)), max(0, *(r.offset[2] for r in alike))
        for column in (*range(-1, -left - 1, -1), *range(columns, columns + right)):
            away = column if column < 0 else column - columns + 1
            reads = [r.offset[1] for r in alike if (r.offset[2] <= away if away < 0 else r.offset[2] >= away)]
            yield from self._column(ring, ago, column, (min(reads), rows + max(reads)))

    def _column(self, ring: Ring, ago: int, column: int, rows: tuple[int, int]) -> Iterator[Stmt]:
        """A column of other lanes in rows from one up to another."""
        first, end = rows
        u = self.v[0]
        fetch = column_of_lane(ring, ago, column, (u,))
        yield For(u.name, lift(first), compare("<", u, end), 1, (fetch,), self.integer, unroll=0)

    def after(self, step: StreamStep) -> Iterator[Stmt]:
        if step.index in self.edges:
            yield from self.edges[step.index].shown(self.phase)

    def end_of_plane(self) -> Iterator[Stmt]:
        if self.edges:
            yield Barrier(MADE)


class Edges:
    """The rows of a step that warps show each other, in `slots` planes of shared memory.

    A row is in parts of a few columns of each lane, side by side: lanes that read or write them together meet no bank
    twice.
    """

    def __init__(self, ring: Ring, name: str, rows: EdgeRows, slots: int, warp: Name, lane: Name) -> None:
        self.ring, self.name, self.rows, self.slots, self.warp, self.lane = ring, name, rows, slots, warp, lane
        self.width = columns_at_once(ring.points[-1], ring.element.size)
        self.parts = ring.points[-1] // self.width

    @property
    def extents(self) -> tuple[int, ...]:
        return self.slots, self.rows.height, self.parts, WARP_SIZE * self.width

    def storage(self) -> Storage:
        extents = tuple(lift(n) for n in self.extents)
        return Storage(self.name, Space.SHARED, self.ring.element, extents, self.name)

    def zeros(self, slot: Name, cell: Sequence[Name]) -> Stmt:
        """Planes before the first ones are not there, and nobody needs them, nor rows beside the tile."""
        row, column = cell
        flat = mod(column, WARP_SIZE * self.width), div(column, WARP_SIZE * self.width)
        target = Access(self.name, (slot, row, *reversed(flat)), self.ring.element)
        body: Stmt = Assign(target, "", zero(target.type))
        for name, first, end, step in (
            (column, self.lane, self.parts * WARP_SIZE * self.width, WARP_SIZE),
            (row, self.warp, self.rows.height, self.rows.warps),
            (slot, lift(0), self.slots, 1),
        ):
            body = For(name.name, first, compare("<", name, end), step, (body,), name.type, unroll=1)
        return body

    def fetched(self, row: int, age: int, phase: Name) -> Iterator[Stmt]:
        """A row of another warp, counted from the thread's first, in the plane that was made so long ago."""
        slot = self._slot(add(phase, self.slots - age if age else 0))
        for part in range(self.parts):
            yield Load(self._cells(row, age, part), self._place(slot, row, part))

    def shown(self, phase: Name) -> Iterator[Stmt]:
        """The thread's part of the rows that others read of the plane that it has made."""
        for row in self.rows.shown:
            for part in range(self.parts):
                yield Store(self._place(self._slot(phase), row, part), self._cells(row, 0, part))

    def _cells(self, row: int, age: int, part: int) -> tuple[Access, ...]:
        return tuple(self.ring.at(age, (row, part * self.width + k)) for k in range(self.width))

    def _slot(self, plane: Expr) -> Expr:
        power = self.slots & (self.slots - 1) == 0
        return binary("&", plane, self.slots - 1) if power else mod(plane, self.slots)

    def _place(self, slot: Expr, row: int, part: int) -> Access:
        number = add(mul(self.warp, len(self.rows.shown)), self.rows.number(row))
        return Access(self.name, (slot, number, lift(part), mul(self.lane, self.width)), self.ring.element)
