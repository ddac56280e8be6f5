"""Stream kernels of one step, whose blocks share planes of what they read: nothing is made twice.

before: for (t) for (i, j, k) A[(t + 1) % 2][i][j][k] = f(A[t % 2][i - 1 .. i + 1][j - 1 .. j + 1][k - 1 .. k + 1]);
after:  each block, for its tile of j and k and its chunk of planes:
            for (row = ..)                      plane `row` of A[t % 2], which was loaded a row early, is put into place
                barrier
                the next plane is loaded
                step 1 makes plane row - 1 from those that are in shared memory or registers, and stores it
                barrier                         maybe (OverlappedTiles.barriers)

Threads have points in turns, so that those of a warp are neighbours. Points that no statement writes are not stored;
where their values can be computed, they are, without a branch.

Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes on GPU clusters (CGO 2012), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import lcm, prod

from polytile.codegen.lowering.time_tiles.overlapped.input_planes import InputPlanes, away, own_point
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream
from polytile.codegen.lowering.time_tiles.overlapped.tile_numbers import TileNumbers
from polytile.codegen.lowering.time_tiles.statement_bodies import instance, is_pure
from polytile.codegen.lowering.time_tiles.written_cells import Writer
from polytile.ir.access_numbers import access_numbers
from polytile.ir.arith import add, both, compare, least, lift, mul, sub
from polytile.ir.expr import Access, Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import Advance, Pointer, Store
from polytile.ir.kernel import Barrier, Comment
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import StreamStep
from polytile.ir.substitute import with_values

PUT = "all threads have put their parts of the planes that are read"
READ = "all threads have read what is overwritten"
UNROLLED = 2000  # reads of a loop's body, beyond which values move from row to row instead of it being unrolled


class SharedPlanes(TileNumbers):
    """The body of a kernel of one step."""

    def __init__(
        self,
        stream: Stream,
        names: Names,
        counts: Sequence[Name],
        block: Name,
        threads: Sequence[Name],
        step: StreamStep,
    ) -> None:
        super().__init__(stream, names)
        self.step, self.stores = step, [s for s in stream.stores if s.step == step.index]
        self.counts, self.block, self.threads = tuple(counts), block, tuple(threads)
        self.edge = tuple(self.name(f"tile_{place}") for place in ("left", "top")[: len(self.axes)][::-1])
        self.index = self.tile_names()
        self.thread = self.name("number")  # of the thread in its block
        self.end, self.group, self.turn = self.name("end"), self.name("group"), self.name("turn")
        self.target = names.fresh(f"to{step.index}")
        own = self.plan.inputs_of(step)
        self.inputs = {s.index: InputPlanes(self, s, self.thread, self.threads, self.edge) for s in own}

    def storage(self) -> tuple[Storage, ...]:
        return tuple(one for planes in self.inputs.values() for one in planes.storage())

    def owned(self, k: int) -> Expr:
        """Return the condition that always holds: a tile owns all of its cells."""
        return lift(1)

    def cell(self, row: Expr | None, own: bool = True) -> tuple[Expr, ...]:
        """Return a point of the thread, or its first: points have a cyclic distribution over threads."""
        places = away(self.v, self.plan)
        inner = tuple(add(c, p) for c, p in zip(self.corner, places, strict=True)) if own else self.corner
        return inner if row is None else (row, *inner)

    # The kernel ---------------------------------------------------------------------------------------
    def body(self) -> Iterator[Stmt]:
        yield from self.tile(self.block)
        for k, axis in enumerate(self.axes):
            edge = add(axis.origin, mul(self.index[k], axis.size))
            yield Declare(self.edge[k].name, self.integer, edge)
            yield Declare(self.corner[k].name, self.integer, add(self.edge[k], self.threads[k]))
        number: Expr = self.threads[0]
        for place, count in zip(self.threads[1:], self.plan.threads[1:], strict=True):
            number = add(mul(number, count), place)
        yield Declare(self.thread.name, self.integer, number)
        yield from self._rows()
        yield from self.written_sets(self.stream.writers(self.step))
        kept = {self.stream.bounds(s.step)[1:] for s in self.inputs.values() if not s.is_ring}
        for bounds in (b for b in self.there if b in kept):
            yield from self.memory_set(bounds)
        for planes in self.inputs.values():
            yield from planes.declared(self.begin)
        for store in self.stores:
            yield Pointer(self.target, self.stream.target(store, self.cell(self.own_first, own=False)))
        yield from self._loads(self.begin)
        yield self._loop()

    def _rows(self) -> Iterator[Stmt]:
        """Declare the rows of the stream in which planes arrive for those that the tile owns."""
        last = self.stream.cells.range[0][1]
        chunk = self.stream.chunk
        until = add(last, 1) if chunk is None else least(add(self.own_first, chunk), add(last, 1))
        yield Declare(self.own_end.name, self.integer, until)
        ahead = max((-s.step.lower[0] - s.step.lag for s in self.inputs.values()), default=-self.step.lag)
        yield Declare(self.begin.name, self.integer, sub(self.own_first, ahead))
        yield Declare(self.end.name, self.integer, add(self.own_end, self.step.lag))

    @property
    def period(self) -> int:
        """Return the rows of a turn of the loop, after which planes are in the same places and registers again."""
        turns = lcm(*(n for planes in self.inputs.values() for n in planes.period))
        return turns if turns * prod(self.points) * len(self.plan.reads_of(self.step.index)) <= UNROLLED else 1

    def _loop(self) -> Stmt:
        """Generate the loop over rows in turns: those after the last one load and make nothing."""
        row = Declare(self.row.name, self.integer, add(self.group, self.turn))
        turn = (row, *self._row())
        turns = For(self.turn.name, lift(0), compare("<", self.turn, self.period), 1, turn, self.integer, unroll=0)
        more = compare("<", self.group, self.end)
        return For(self.group.name, self.begin, more, self.period, (turns,), self.integer, unroll=1)

    def _row(self) -> Iterator[Stmt]:
        inputs = self.inputs.values()
        for planes in inputs:
            yield from planes.arrive()
        shares = any(planes.beside for planes in inputs)
        if shares:
            yield Barrier(PUT)
        for planes in inputs:
            yield from planes.advance()
        yield from self._loads(add(self.row, 1))
        lag = f" - {self.step.lag}" if self.step.lag else ""
        yield Comment(f"step {self.step.index}: {self.step.array}, {self.row.name}{lag}")
        yield If(self._makes(self.row), tuple(self._made()))
        if shares and self.plan.barriers > 1:
            yield Barrier(READ)
        for planes in inputs:
            yield from planes.ageing()

    def _loads(self, row: Expr) -> Iterator[Stmt]:
        """Load what arrives at a row."""
        for planes in self.inputs.values():
            needed = compare("<", row, self.end)
            yield from planes.load(row, needed, needed if planes.is_ring else self._makes(row))

    def _makes(self, row: Expr) -> Expr:
        """Return the condition that the tile owns the plane that is made at a row."""
        plane = sub(row, self.step.lag)
        return both(compare(">=", plane, self.own_first), compare("<", plane, self.own_end))

    # Steps --------------------------------------------------------------------------------------------
    def _made(self) -> Iterator[Stmt]:
        for writer in self.stream.writers(self.step):
            yield self.each(*self._instance(writer))
        if self.stores:
            yield Advance(self.target, self.pitch(self.step, 0))

    def _instance(self, writer: Writer) -> Iterator[Stmt]:
        """Yield the instance of a statement at one point, if it writes that."""
        step, reads = self.step, self._reads(writer)
        at = self.stream.place(step, self.cell(self.made_row(step)))
        values = tuple(with_values(value, at) for value in writer.iterators)
        value = self.name("value", self.stream.element(step))
        made = instance(self.stream.scop, writer.statement, value, reads, values, self.integer)
        written = self.is_written(writer, step)
        anywhere = is_pure(self.stream.scop, writer.statement, reads)
        store = Store(own_point(self, self.target, step), (value,), guard=written if anywhere else None)
        body = (Declare(value.name, value.type, None), *made, *([store] if self.stores else []))
        yield Scope(body) if anywhere else If(written, body)

    def _reads(self, writer: Writer) -> Mapping[Access, Access]:
        """Map the accesses of a statement to what they read of loaded planes."""
        statement = writer.statement
        own = (read for read in self.plan.reads_of(self.step.index) if read.statement == statement.name)
        values = {read.access: self.inputs[read.source].value(read) for read in own}
        nodes = dict.fromkeys(n for n in walk(*statement.body) if isinstance(n, Access))
        numbers = {node: access_numbers(statement, node) for node in nodes}
        return {node: values[k] for node, found in numbers.items() for k in found[::-1] if k in values}
