"""Stream kernels whose blocks keep a tile each: warps below one another have some rows of it in registers.

Lanes hold neighbouring columns of these rows. Columns of other lanes come by shuffles; rows of other warps from shared
memory, where each warp shows those at its edges, and their columns of other lanes by shuffles again. A plane is read
there one plane after it was made, at the earliest, and overwritten one plane after it was read for the last time: one
barrier a plane keeps both. Where it is split, warps arrive at the end of a plane and wait in the next one, when they
have made what needs no rows of others.

before: step 1 makes rows 0 .. 3 of a warp, each from the rows above and below it, and the columns beside it
after:  x0[1][-1] = edges0[..][row 3 of the warp above];  x0[1][4] = edges0[..][row 0 of the warp below];
        x0[1][0 .. 3][-1] = shuffle_up(x0[1][0 .. 3][V - 1]);  x0[1][0 .. 3][V] = shuffle_down(x0[1][0 .. 3][0]);
        x1[0] = ...;  edges1[..][row 0] = x1[0][0];  edges1[..][row 3] = x1[0][3]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.time_tiles.overlapped.kernel_body import KernelBody, same_in_warp
from polytile.codegen.lowering.time_tiles.overlapped.plane_ages import age
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream, Tested
from polytile.codegen.lowering.time_tiles.rings import column_of_lane, over, runs
from polytile.codegen.lowering.time_tiles.warp_exchange import Edges
from polytile.diagnostics import InternalError
from polytile.ir.arith import binary, both, compare, lift, sub
from polytile.ir.edge_rows import EdgeRows
from polytile.ir.expr import Access, Declare, If, Name, Stmt
from polytile.ir.gpu_ops import BARRIER_TYPE, Arrive, Await, InitBarrier
from polytile.ir.kernel import Barrier, Comment
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import StreamRead, StreamStep

MADE = "neighbours read rows of all steps that were made, and have read those that are overwritten"


class BlockTiles(KernelBody):
    """The body of a kernel by blocks."""

    def __init__(
        self, stream: Stream, names: Names, counts: Sequence[Name], block: Name, threads: Sequence[Name]
    ) -> None:
        super().__init__(stream, names, counts, block)
        if not self.plan.streamed or len(self.axes) != 2:
            raise InternalError("blocks share rows of the planes of a stream")
        self.number, self.lane = threads
        self.warp = self.name("warp")
        self.phase = self.name("phase")
        self.shown = Access(self.supply.fresh("shown"), (lift(0),), BARRIER_TYPE)
        self.edges: dict[int, Edges] = {}
        for step in self.plan.steps:
            reads = [r for r in self.plan.reads if r.source == step.index and any(r.offset[1:])]
            if any(not age(self.plan, read) for read in reads):
                raise InternalError(f"a plane of other threads, of step {step.index}, is read as it is made")
            if any(read.offset[1] for read in reads):
                self.edges[step.index] = self._edges(step.index, reads)

        inputs = {step.index for step in self.plan.inputs}
        self.loads_behind = max((r.step for r in self.plan.reads if r.source in inputs), default=None)

    @property
    def has_sides(self) -> bool:
        return True

    def _edges(self, index: int, reads: Sequence[StreamRead]) -> Edges:
        above = [read for read in reads if read.offset[1]]
        rows = EdgeRows.of(self.plan.warps, self.points[0], (r.offset[1] for r in above))
        slots = 1 + max(age(self.plan, read) for read in above)
        return Edges(self.rings[index], self.supply.fresh(f"edges{index}"), rows, slots, self.warp, self.lane)

    def storage(self) -> tuple[Storage, ...]:
        found = tuple(edges.storage() for edges in self.edges.values())
        if not self._splits:
            return found
        return (*found, Storage(self.shown.array, Space.SHARED, BARRIER_TYPE, (lift(1),), self.shown.array))

    # The block's part --------------------------------------------------------------------------------
    def body(self) -> Iterator[Stmt]:
        yield Declare(self.warp.name, self.integer, same_in_warp(self.number))
        yield from self.tile(self.block)
        yield from self.corners((self.warp, self.lane))
        for edges in self.edges.values():
            yield edges.zeros(self.turn, self.v)
        if self._splits:
            first = both(compare("==", self.warp, 0), compare("==", self.lane, 0))
            yield If(first, (InitBarrier(self.shown, self.plan.warps),))
        if self.edges:
            yield Barrier("all rows hold values")
        if self._splits:
            yield from self._arrives()
        yield from self.work()

    # Neighbours --------------------------------------------------------------------------------------
    def start_of_plane(self) -> Iterator[Stmt]:
        if self.edges:
            yield Declare(self.phase.name, self.integer, sub(self.row, self.begin))

    def before(self, step: StreamStep, fetched: set[tuple[int, ...]]) -> Iterator[Stmt]:
        yield from self._fetches(step, range(self.points[0]), fetched)

    def before_terms(
        self, step: StreamStep, fetched: set[tuple[int, ...]], rows: Sequence[int] | None, down: int
    ) -> Iterator[Stmt]:
        reads = [read for read in self.plan.reads_of(step.index) if read.offset[1] == down]
        yield from self._fetched(reads, range(self.points[0]) if rows is None else rows, fetched)

    def _fetches(self, step: StreamStep, rows: Sequence[int], fetched: set[tuple[int, ...]]) -> Iterator[Stmt]:
        """Fetch what a step reads for some rows of the thread's patch beside it; terms of sums get it row by row."""
        if not step.retimed:
            yield from self._fetched(self.plan.reads_of(step.index), rows, fetched)

    def _fetched(
        self, reads: Sequence[StreamRead], rows: Sequence[int], fetched: set[tuple[int, ...]]
    ) -> Iterator[Stmt]:
        """Fetch rows of other warps, then columns of other lanes.

        `fetched` has the source, the age of the plane, the row and the column.
        """
        for source, ago, cells in self._beside(reads, rows):
            height, width = self.points
            for row in sorted({row for row, _ in cells if not 0 <= row < height}):
                if (source, ago, row) not in fetched:
                    fetched.add((source, ago, row))
                    yield from self.edges[source].fetched(row, ago, self.phase)
            for column in sorted({column for _, column in cells if not 0 <= column < width}):
                missing = [r for r, c in sorted(cells) if c == column and (source, ago, r, column) not in fetched]
                fetched.update((source, ago, row, column) for row in missing)
                for run in runs(missing):
                    yield over(run, self.v[0], column_of_lane(self.rings[source], ago, column, self.v[:1]))

    def _beside(
        self, reads: Sequence[StreamRead], rows: Sequence[int]
    ) -> Iterator[tuple[int, int, set[tuple[int, int]]]]:
        """Yield the cells beside the patch that are read for some of its rows, of each plane of each source."""
        height, width = self.points
        found: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for read in reads:
            _, down, right = read.offset
            cells = {(u + down, v + right) for u in rows for v in range(width)}
            found.setdefault((read.source, age(self.plan, read)), set()).update(cells)
        for (source, ago), cells in found.items():
            yield source, ago, {(u, v) for u, v in cells if not (0 <= u < height and 0 <= v < width)}

    def after(self, step: StreamStep) -> Iterator[Stmt]:
        if step.index in self.edges and not (self._splits and step.is_input):
            yield from self.edges[step.index].shown(self.phase)

    def end_of_plane(self) -> Iterator[Stmt]:
        if self._splits:
            yield from self._arrives()
        elif self.edges:
            yield Barrier(MADE)

    # A split barrier ---------------------------------------------------------------------------------
    @property
    def _splits(self) -> bool:
        """Return whether warps arrive when they have shown rows, and wait for those of others in the next plane.

        What needs none of these rows is done in between.
        """
        return self.plan.split_barrier and bool(self.edges)

    def _arrives(self) -> Iterator[Stmt]:
        yield Barrier("all lanes have shown and read rows", "warp")
        yield If(compare("==", self.lane, 0), (Arrive(self.shown, MADE),))

    def steps(self, tested: Tested) -> Iterator[Stmt]:
        if not self._splits:
            yield from super().steps(tested)
            return
        first, fetched = self._rows_before(), set[tuple[int, ...]]()
        for step in (s for s in self.plan.made if first[s.index]):
            yield Comment(f"{self.heading(step)}: rows {', '.join(map(str, first[step.index]))} of the patch")
            yield from self._fetches(step, first[step.index], fetched)
            yield from self.made(step, tested, fetched, first[step.index])
        yield Await(self.shown, binary("&", self.phase, 1), MADE)
        for step in self.plan.inputs:
            if step.index in self.edges:
                yield from self.edges[step.index].shown(self.phase)
        for step in self.plan.made:
            rest = [u for u in range(self.points[0]) if u not in first[step.index]]
            yield Comment(self.heading(step))
            yield from self._fetches(step, rest, fetched)
            if rest:
                yield from self.made(step, tested, fetched, rest)
            yield from self.behind(step, tested)

    def _rows_before(self) -> dict[int, tuple[int, ...]]:
        """Return the rows of a patch that each step can make before rows of other warps are read.

        They are made from own rows of earlier planes, and from such rows of this plane.
        """
        rows = range(self.points[0])
        found = {step.index: tuple(rows) for step in self.plan.inputs}
        for step in self.plan.made:
            needed = [
                (r.offset[1], rows if age(self.plan, r) else found[r.source]) for r in self.plan.reads_of(step.index)
            ]
            kept = [found[k] for k in range(step.index) if k in found and self.plan.steps[k].lag == step.lag]
            there = [*needed, *((0, own) for own in kept)]
            found[step.index] = tuple(u for u in rows if all(u + down in own for down, own in there))
        return found
