"""Stream kernels of one step, whose blocks share planes of what they read: nothing is made twice.

before: for (t) for (i, j, k) A[(t + 1) % 2][i][j][k] = f(A[t % 2][i - 1 .. i + 1][j - 1 .. j + 1][k - 1 .. k + 1]);
after:  each block, for its tile of j and k and its chunk of planes:
            for (row = ..)                      plane `row` of A[t % 2], which was loaded a row early, is put into place
                barrier
                the next plane is loaded
                step 1 makes plane row - 1 from those that are in shared memory or registers, and stores it
                barrier                         maybe (StreamPlan.barriers)

Threads have points in turns, so that those of a warp are neighbours. Points that no statement writes are not stored;
where their values can be computed, they are, without a branch.

Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes on GPU clusters (CGO 2012), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import lcm, prod

from polytile.codegen.lowering.streaming.input_planes import InputPlanes, away, own_point
from polytile.codegen.lowering.streaming.statement_bodies import instance, is_pure
from polytile.codegen.lowering.streaming.stream_kernel import Stream
from polytile.codegen.lowering.streaming.tile_numbers import TileNumbers
from polytile.codegen.lowering.streaming.written_cells import Writer
from polytile.ir.arith import add, both, compare, least, lift, mul, sub
from polytile.ir.expr import Access, Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.gpu_ops import Advance, Pointer, Store
from polytile.ir.kernel import Barrier, Comment
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamStep, StreamStore
from polytile.ir.substitute import with_values

PUT = "all threads have put their parts of the planes that are read"
READ = "all threads have read what is overwritten"
UNROLLED = 2000  # reads of a loop's body, beyond which values move from row to row instead of it being unrolled


class SharedPlanes(TileNumbers):
    """The body of a kernel of one step."""

    def __init__(
        self, stream: Stream, names: Names, counts: Sequence[Name], block: Name, threads: Sequence[Name]
    ) -> None:
        super().__init__(stream, names)
        self.counts, self.block, self.threads = tuple(counts), block, tuple(threads)
        self.edge = tuple(self.name(f"tile_{place}") for place in ("left", "top")[: len(self.axes)][::-1])
        self.index = self.tile_names()
        self.thread = self.name("number")  # of the thread in its block
        self.end, self.group, self.turn = self.name("end"), self.name("group"), self.name("turn")
        self.targets = {s.step: names.fresh(f"to{s.step}") for s in stream.stores}
        self.inputs = {s.index: InputPlanes(self, s, self.thread, self.threads, self.edge) for s in self.plan.inputs}

    def storage(self) -> tuple[Storage, ...]:
        return tuple(one for planes in self.inputs.values() for one in planes.storage())

    def owned(self, k: int) -> Expr:
        """A tile owns all of its cells."""
        return lift(1)

    def cell(self, row: Expr | None, own: bool = True) -> tuple[Expr, ...]:
        """A point of the thread, or its first: they are in turns."""
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
        yield from self.written_sets()
        kept = {self.stream.bounds(s.step)[1:] for s in self.inputs.values() if not s.is_ring}
        for bounds in (b for b in self.there if b in kept):
            yield from self.memory_set(bounds)
        for planes in self.inputs.values():
            yield from planes.declared(self.begin)
        for store in self.stream.stores:
            step = self.plan.steps[store.step]
            target = self.stream.target(store, self.cell(self.own_first, own=False))
            yield Pointer(self.targets[step.index], target)
        yield from self._loads(self.begin)
        yield self._loop()

    def _rows(self) -> Iterator[Stmt]:
        """The rows of the stream in which planes arrive for those that the tile owns."""
        last = self.stream.cells.range[0][1]
        chunk = self.stream.chunk
        until = add(last, 1) if chunk is None else least(add(self.own_first, chunk), add(last, 1))
        yield Declare(self.own_end.name, self.integer, until)
        ahead = max(-s.lower[0] - s.lag for s in self.plan.steps)
        yield Declare(self.begin.name, self.integer, sub(self.own_first, ahead))
        yield Declare(self.end.name, self.integer, add(self.own_end, self.stream.final_lag))

    @property
    def period(self) -> int:
        """The rows of a turn of the loop, behind which planes are in the same places and registers again."""
        turns = lcm(*(n for planes in self.inputs.values() for n in planes.period))
        return turns if turns * prod(self.points) * len(self.plan.reads) <= UNROLLED else 1

    def _loop(self) -> Stmt:
        """Rows in turns: those behind the last one load and make nothing."""
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
        for step in self.plan.made:
            yield Comment(f"step {step.index}: {step.array}, {self.row.name} - {step.lag}")
            yield If(self._makes(step, self.row), tuple(self._made(step)))
        if shares and self.plan.barriers > 1:
            yield Barrier(READ)
        for planes in inputs:
            yield from planes.ageing()

    def _loads(self, row: Expr) -> Iterator[Stmt]:
        """What comes into place at a row."""
        for planes in self.inputs.values():
            readers = {r.step for r in planes.beside}
            shown = compare("<", row, self.end)
            if not planes.is_ring and readers:
                shown = self._makes(self.plan.steps[min(readers)], row)
            yield from planes.load(row, compare("<", row, self.end), shown)

    def _makes(self, step: StreamStep, row: Expr) -> Expr:
        """Whether the tile owns the plane that a step makes at a row."""
        plane = sub(row, step.lag)
        return both(compare(">=", plane, self.own_first), compare("<", plane, self.own_end))

    # Steps --------------------------------------------------------------------------------------------
    def _made(self, step: StreamStep) -> Iterator[Stmt]:
        stores = [store for store in self.stream.stores if store.step == step.index]
        for writer in self.stream.writers(step):
            yield self.each(*self._instance(step, stores, writer))
        for store in stores:
            yield Advance(self.targets[store.step], self.pitch(step, 0))

    def _instance(self, step: StreamStep, stores: Sequence[StreamStore], writer: Writer) -> Iterator[Stmt]:
        """One point, which a statement makes, if it does."""
        at = self.stream.place(step, self.cell(self.made_row(step)))
        values = tuple(with_values(value, at) for value in writer.iterators)
        value = self.name("value", self.stream.element(step))
        made = instance(self.stream.scop, writer.statement, value, self._reads(step, writer), values, self.integer)
        written = self.is_written(writer, step)
        anywhere = is_pure(self.stream.scop, writer.statement)
        guard = written if anywhere else None
        body = (Declare(value.name, value.type, None), *made, *self._stored(step, stores, value, guard))
        yield Scope(body) if anywhere else If(written, body)

    def _stored(
        self, step: StreamStep, stores: Sequence[StreamStore], value: Name, guard: Expr | None
    ) -> Iterator[Stmt]:
        for store in stores:
            yield Store(own_point(self, self.targets[store.step], step), (value,), guard=guard)

    def _reads(self, step: StreamStep, writer: Writer) -> Mapping[Access, Access]:
        """Where accesses of a statement read."""
        own = (read for read in self.plan.reads_of(step.index) if read.statement == writer.statement.name)
        values = {read.access: self.inputs[read.source].value(read) for read in own}
        return {node: values[k] for node, numbers in writer.numbers.items() for k in numbers[::-1] if k in values}
