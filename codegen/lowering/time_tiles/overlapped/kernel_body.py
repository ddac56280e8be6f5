"""What kernels of overlapped tiles have in common: the loop over planes, loads ahead, steps, stores.

before: for (t) for (i = 1; i < n - 1; i++) for (j = 1; j < m - 1; j++) A[(t+1)%2][i][j] = f(A[t%2][i-1 .. i+1][j-1 ..])
after:  each warp or block, for its tile and its chunk of planes:
            for (row = ..)                      a plane of the inputs arrives, the next one is loaded
                step 1 makes row - 1 from rows row - 2 .. row
                step 2 makes row - 2, ...       what the last step makes is stored
                every ring of planes moves on

Planes for which all cells of the tile are away from all sides run in a copy of the loop that tests nothing. In one
dimension there are no planes, and all steps run once. Everything is executed for all cells of a thread, in all planes:
what nobody needs is garbage in its own cells, which is never stored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import lcm

from polytile.codegen.lowering.time_tiles.overlapped.constant_cells import ConstantCells
from polytile.codegen.lowering.time_tiles.overlapped.plane_ages import age
from polytile.codegen.lowering.time_tiles.overlapped.retimed_sums import plane_sums
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream, Tested, negated
from polytile.codegen.lowering.time_tiles.overlapped.tile_numbers import TileNumbers
from polytile.codegen.lowering.time_tiles.rings import each, over, runs
from polytile.codegen.lowering.time_tiles.statement_bodies import instance, is_pure
from polytile.codegen.lowering.time_tiles.written_cells import Writer, cell_name
from polytile.ir.arith import add, both, compare, div, either, least, lift, most, mul, select, sub
from polytile.ir.expr import BOOL, Access, Assign, Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.gpu_ops import Advance, PrivateArray, Shuffle
from polytile.ir.kernel import Comment
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import StreamRead, StreamStep
from polytile.ir.retiming import total
from polytile.ir.substitute import with_values

UNROLLED_SUMS = 2000  # the same of sums, which begin in new registers: long ones spill; in blocks all do
UNROLLED = 4000  # instructions of a loop, by a rough count, beyond which rings move instead of being unrolled


class KernelBody(ConstantCells, TileNumbers):
    """The body of one kernel of a plan."""

    def __init__(self, stream: Stream, names: Names, counts: Sequence[Name], block: Name) -> None:
        super().__init__(stream, names)
        self.counts, self.block = tuple(counts), block
        inner = len(self.axes)
        self.edge = tuple(self.name(f"tile_{place}") for place in ("left", "top")[:inner][::-1])
        self.index = self.tile_names()
        self.end = self.name("end")  # of the planes that arrive
        self.start = self.name("start")  # of those that a turn of the loops begins with
        self.low, self.high = self.name("low"), self.name("high")  # of those that need no tests
        self.group, self.turn = self.name("group"), self.name("turn")
        self.regular, self.inside = self.name("regular", BOOL), self.name("inside", BOOL)
        self._known_reads: dict[tuple[int, str], Mapping[Access, Access]] = {}  # by step and statement
        retimed = (step for step in self.plan.steps if step.retimed)
        self.sums = {
            s.index: plane_sums(self.plan, s, stream.writers(s)[0], names.fresh(f"sum{s.index}")) for s in retimed
        }

    # What forms differ in ----------------------------------------------------------------------------
    @abstractmethod
    def body(self) -> Iterator[Stmt]: ...

    @abstractmethod
    def before(self, step: StreamStep, fetched: set[tuple[int, ...]]) -> Iterator[Stmt]:
        """Yield what gets neighbours' values for a step, but for those of this plane that were fetched."""

    def after(self, step: StreamStep) -> Iterator[Stmt]:
        """Yield what shows neighbours the values of a step."""
        yield from ()

    def before_planes(self) -> Iterator[Stmt]:
        """Yield what is computed before planes with tests."""
        yield from ()

    loads_behind: int | None = None  # the step behind which the next plane is loaded (None: before the first)

    def start_of_plane(self) -> Iterator[Stmt]:
        yield from ()

    def before_terms(
        self, step: StreamStep, fetched: set[tuple[int, ...]], rows: Sequence[int] | None, down: int
    ) -> Iterator[Stmt]:
        """Yield what gets neighbours' values for terms of a sum that read rows so far below the cells."""
        yield from ()

    def end_of_plane(self) -> Iterator[Stmt]:
        yield from ()

    def value(self, read: StreamRead) -> Access:
        """Return what an access of a cell reads."""
        offset = read.offset[self.plan.streamed :]
        cell = [add(v, d) for v, d in zip(self.v, offset, strict=True)]
        return self.rings[read.source].at(age(self.plan, read), cell)

    def storage(self) -> tuple[Storage, ...]:
        """Return the memory of the block's own."""
        return ()

    # Tiles -------------------------------------------------------------------------------------------
    def corners(self, threads: Sequence[Expr]) -> Iterator[Stmt]:
        """Declare the first cells of the tile and of the thread, and whether the tile is away from all sides.

        It may also be at such sides as sets of cells describe.
        """
        ranges = {}
        for k, axis in enumerate(self.axes):
            yield Declare(self.edge[k].name, self.integer, axis.start(self.index[k], *self._memory_end(k)))
            yield Declare(self.corner[k].name, self.integer, add(self.edge[k], mul(threads[k], self.points[k])))
            ranges[cell_name(axis.k)] = (self.edge[k], add(self.edge[k], axis.size - 1))
        away = self.stream.inside(ranges)
        yield Declare(self.within.name, BOOL, away.in_memory)
        yield Declare(self.regular.name, BOOL, both(self.within, *away.tile))
        yield Declare(self.inside.name, BOOL, both(self.regular, *away.sides))
        if self.plan.streamed:
            yield from self._planes(away.low, away.high)
        yield from self.sets()

    def _memory_end(self, k: int) -> tuple[Expr, int]:
        """Return the end of the memory of all arrays along an axis, and the number of cells that vectors have there."""
        ends = dict.fromkeys(add(self.stream.bounds(step)[self.axes[k].k][1], 1) for step in self.plan.steps)
        sizes = [self.stream.element(step).size for step in self.plan.steps]
        vector = self.vector // min(sizes) if k == len(self.axes) - 1 else 1
        return reduce(least, ends), vector

    def owned(self, k: int) -> Expr:
        """Return the condition that the tile owns a cell.

        Cells of the halo are owned by other tiles, but at the sides of space.
        """
        cell = add(self.corner[k], self.v[k])
        return self.is_owned(k, cell, sub(cell, self.edge[k]))

    def is_owned(self, k: int, cell: Expr, inner: Expr) -> Expr:
        """Return the condition that the tile owns a place along a dimension, `inner` cells from its edge."""
        axis, index, last = self.axes[k], self.index[k], sub(self.counts[k], 1)
        first = add(add(axis.origin, mul(index, axis.width)), axis.lower)
        low, high = compare(">=", cell, first), compare("<", inner, axis.size - axis.upper)
        return both(either(compare("==", index, 0), low), either(compare("==", index, last), high))

    def work(self) -> Iterator[Stmt]:
        """Yield all steps for all planes."""
        yield from (ring.declared() for ring in self.rings)
        yield from (sums.declared() for sums in self.sums.values())
        if not self.plan.streamed:
            yield from self.alignment()
            yield If(self.inside, tuple(self._all_steps(Tested.NOTHING)), tuple(self._all_steps(Tested.ALL)))
            return
        for step in self.plan.inputs:
            yield PrivateArray(self.next[step.index], self.stream.element(step), self.points)
        yield from self.pointers()
        yield from self.alignment()
        yield from self.load(self.begin, Tested.ALL)
        yield from self._loops()

    # Planes ------------------------------------------------------------------------------------------
    def _planes(self, lows: list[Expr], highs: list[Expr]) -> Iterator[Stmt]:
        plan, integer = self.plan, self.integer
        first, last = self.stream.cells.range[0]
        chunk = self.stream.chunk
        until = add(last, 1) if chunk is None else least(add(self.own_first, chunk), add(last, 1))
        yield Declare(self.own_end.name, integer, until)
        ahead = max(-s.lower[0] - s.lag for s in plan.steps)  # a step that reads no other one may be the first
        begin = most(sub(self.own_first, ahead), sub(first, plan.reach(0)[0]))
        yield Declare(self.begin.name, integer, begin)
        yield Declare(self.end.name, integer, add(self.own_end, self.stream.final_lag))
        low = least(_extreme(most, self.begin, lows), self.end)
        fast = self.regular if self.has_sides else self.inside
        yield Declare(self.low.name, integer, select(fast, low, self.end))
        whole = sub(_extreme(least, self.end, highs), self.low)
        yield Declare(self.high.name, integer, add(self.low, mul(div(most(whole, 0), self.period), self.period)))

    @property
    def period(self) -> int:
        """Return after how many planes values are in the same registers again.

        It is 1 where so many copies are not wanted, or not short.
        """
        turns = lcm(*(ring.slots for ring in self.rings), *(sums.planes for sums in self.sums.values()))
        reads = sum(1 + len(self.plan.reads_of(step.index)) for step in self.plan.made)
        cells = reduce(lambda a, b: a * b, self.points)
        most = UNROLLED if not self.sums else 0 if self.has_sides else UNROLLED_SUMS
        if not self.plan.unrolled:
            return 1
        return turns if turns * reads * cells <= most else 1

    def _loops(self) -> Iterator[Stmt]:
        """Yield the loops over planes: those before planes that need no tests, those without tests, and the rest."""
        integer = self.integer
        yield Declare(self.start.name, integer, self.begin)
        planes = tuple(self._plane(Tested.ALL))
        tested = For(self.row.name, self.start, compare("<", self.row, self.low), 1, planes, integer, unroll=1)
        fast = self._turns(Tested.NOTHING)
        before = (*self.before_planes(), *(() if self.has_sides else self.first_kept(self.start)))
        if self.has_sides:
            start = most(self.start, self.low)
            sides = (*self.first_kept(start), self._turns(Tested.SIDES))
            fast = If(self.inside, (fast,), (If(compare("<", start, self.high), sides),))
        after = (
            Assign(self.start, "", most(self.start, self.high)),
            *(Assign(name, "", self.end) for name in (self.low, self.high)),
        )
        half = self.name("half")
        body = (*before, tested, fast, *after)
        yield For(half.name, lift(0), compare("<", half, 2), 1, body, integer, unroll=1)

    def _turns(self, tested: Tested) -> Stmt:
        """Generate a loop over planes without tests of planes, unrolled by the period."""
        period, integer = self.period, self.integer
        turn = (Declare(self.row.name, integer, add(self.group, self.turn)), *self._plane(tested))
        turns = For(self.turn.name, lift(0), compare("<", self.turn, period), 1, turn, integer, unroll=0)
        start = most(self.start, self.low)
        return For(self.group.name, start, compare("<", self.group, self.high), period, (turns,), integer, unroll=1)

    def _plane(self, tested: Tested) -> Iterator[Stmt]:
        yield from self.start_of_plane()
        for step in self.plan.inputs:
            ring = self.rings[step.index]
            yield self.each(Assign(ring.at(0, self.v), "", Access(self.next[step.index], self.v, ring.element)))
            yield Advance(self.sources[step.index], self.pitch(step, 0))
        if tested is Tested.SIDES:
            yield from self.next_home()
        if self.loads_behind is None:
            yield from self.load(add(self.row, 1), tested)
        if self.is_roomy:
            yield from self.prefetch(self.high, tested)
        for step in self.plan.inputs:
            yield from self.after(step)
        yield from self.steps(tested)
        kept = (stmt for ring in self.rings for stmt in ring.ageing(self.v))
        summed = (stmt for sums in self.sums.values() for stmt in sums.ageing(self.v))
        yield self.each(*kept, *summed)
        yield from self.end_of_plane()

    def _all_steps(self, tested: Tested) -> Iterator[Stmt]:
        """Yield all steps of a kernel in one dimension."""
        yield from self.load(None, tested)
        yield from self.steps(tested)

    # Steps -------------------------------------------------------------------------------------------
    def steps(self, tested: Tested) -> Iterator[Stmt]:
        """Yield all steps of a plane, one after another."""
        fetched: set[tuple[int, ...]] = set()
        for step in self.plan.made:
            yield Comment(self.heading(step))
            yield from self.before(step, fetched)
            yield from self.made(step, tested, fetched)
            yield from self.behind(step, tested)

    def behind(self, step: StreamStep, tested: Tested) -> Iterator[Stmt]:
        """Yield what follows a plane that a step has made."""
        yield from self.load_kept(step, tested)
        yield from self.after(step)
        if step.index == self.loads_behind:
            yield from self.load(add(self.row, 1), tested)
        for store in self.stream.stores:
            if store.step == step.index:
                yield self.store(store, tested)

    def heading(self, step: StreamStep) -> str:
        row = f" - {step.lag}" if step.lag else ""
        where = f", {self.row.name}{row}" if self.plan.streamed else ""
        if not isinstance(self.stream.time, Name):
            return f"step {step.index}: {step.array}{where}"
        time = f"{self.stream.time.name} + {step.iteration}" if step.iteration else self.stream.time.name
        return f"step {step.index}: {step.array} after iteration {time}{where}"

    def made(
        self, step: StreamStep, tested: Tested, fetched: set[tuple[int, ...]], rows: Sequence[int] | None = None
    ) -> Iterator[Stmt]:
        """Yield the cells of a step, of some rows of the thread's or of all, by the statements that write them.

        Other cells are the user's.
        """
        if step.retimed:
            yield from self._all_terms(step, fetched, rows)
        main, tested = self.stream.main(step), self.stream.tested(step, tested)
        if tested is not Tested.ALL:
            assert main is not None
            sides = self._at_sides(step, main) if tested is Tested.SIDES else self._value(step, main)
            yield from self._in_rows(rows, *sides)
            return
        writers = self.stream.writers(step)
        pure = [is_pure(self.stream.scop, writer.statement) for writer in writers]
        if len(writers) == 1 and (step.retimed or (pure[0] and self.is_roomy)):
            yield Scope((*self.kept_pointer(step), *self._made_then_kept(step, writers[0], rows)))
        else:
            body: list[Stmt] = []
            for writer, anywhere in zip(writers, pure, strict=True):
                anywhere = anywhere and self.is_roomy and writer is main and not body
                made = self._value(step, writer)
                body += made if anywhere else (If(self.is_written(writer, step), made),)
            if self.stream.is_kept(step):
                body.append(If(negated(self.is_made(step)), (self.kept(step, Tested.ALL),)))
            yield Scope((*self.kept_pointer(step), *self._in_rows(rows, *body)))

    def _made_then_kept(self, step: StreamStep, writer: Writer, rows: Sequence[int] | None) -> Iterator[Stmt]:
        """Compute all cells by the statement, then replace those beside the ones that it writes."""
        value = self._value(step, writer)
        if not self.stream.is_kept(step):
            yield from self._in_rows(rows, *value)
            return
        tests = self.tests(writer, step)
        if tests.others or not self.has_bits:
            beside = If(negated(self.is_written(writer, step)), (self.kept(step, Tested.ALL),))
        else:
            cells = self.where(both(*tests.plane), self.cells[writer.statement.name])
            yield Declare(self.made_here.name, self.word, cells)
            beside = If(negated(self.holds(self.made_here)), (self.kept(step, Tested.ALL),))
        yield from self._in_rows(rows, *value, beside)

    def _at_sides(self, step: StreamStep, writer: Writer) -> tuple[Stmt, ...]:
        """Return the statements that make a cell where columns and rows alone say which cells the statement writes."""
        value, written = self._value(step, writer), self.holds(self.cells[writer.statement.name])
        if not step.retimed and not is_pure(self.stream.scop, writer.statement):
            value = (If(written, value),)
        if self.stream.is_kept(step):
            value = (*value, If(negated(written), (self.kept(step, Tested.SIDES),)))
        return value

    def _in_rows(self, rows: Sequence[int] | None, *body: Stmt) -> Iterator[Stmt]:
        if rows is None:
            yield self.each(*body)
        else:
            inner = each(self.points[1:], self.v[1:], *body)
            yield from (over(run, self.v[0], inner) for run in runs(rows))

    def _value(self, step: StreamStep, writer: Writer) -> tuple[Stmt, ...]:
        """Return what makes a cell: an instance, or the sum of its terms."""
        if not step.retimed:
            return self._instance(step, writer)
        target, value = self.rings[step.index].at(0, self.v), self.sums[step.index].complete(self.v)
        return (Assign(target, "", value),)

    def _all_terms(self, step: StreamStep, fetched: set[tuple[int, ...]], rows: Sequence[int] | None) -> Iterator[Stmt]:
        """Yield the terms that the planes here have for all sums under way, those that read the first rows first."""
        sums = self.sums[step.index]
        begun = False
        for down, terms in sums.by_rows(self.plan.reads_of(step.index)):
            yield from self.before_terms(step, fetched, rows, down)
            for late, some in sorted(terms.items()):
                first = late == sums.terms.planes and not begun
                begun = begun or first
                yield from self._in_rows(rows, *self._terms(step, late, some, first))

    def _terms(self, step: StreamStep, late: int, terms: Sequence[Expr], first: bool) -> tuple[Stmt, ...]:
        """Return the terms of the sum that is complete so much later; the `first` ones begin it."""
        sums = self.sums[step.index]
        at = self.stream.place(step, self.cell(sub(self.row, step.lag - late)))
        reads = self._reads(step, sums.writer)
        values = tuple(with_values(value, at) for value in sums.writer.iterators)
        target = sums.at(late, self.v)
        value = total(terms, None if first else target)
        statement = sums.writer.statement
        part = replace(statement, body=(Assign(target, "", value, statement.location),))
        return instance(self.stream.scop, part, target, reads, values, self.integer)

    def _instance(self, step: StreamStep, writer: Writer) -> tuple[Stmt, ...]:
        at = self.stream.place(step, self.cell(self.made_row(step)))
        reads = self._reads(step, writer)
        values = tuple(with_values(value, at) for value in writer.iterators)
        target = self.rings[step.index].at(0, self.v)
        return instance(self.stream.scop, writer.statement, target, reads, values, self.integer)

    def _reads(self, step: StreamStep, writer: Writer) -> Mapping[Access, Access]:
        """Map the accesses of a statement to what they read, which is the same in all planes and terms."""
        key = step.index, writer.statement.name
        if key not in self._known_reads:
            self._known_reads[key] = self._found_reads(step, writer)
        return self._known_reads[key]

    def _found_reads(self, step: StreamStep, writer: Writer) -> dict[Access, Access]:
        own = (read for read in self.plan.reads_of(step.index) if read.statement == writer.statement.name)
        values = {read.access: self.value(read) for read in own}
        return {node: values[k] for node, numbers in writer.numbers.items() for k in numbers[::-1] if k in values}


def same_in_warp(value: Expr) -> Expr:
    """Shuffle a value that is the same in all lanes of a warp, as the compiler cannot see.

    What is computed from it takes registers and instructions of the warp, not of each lane, and factors in double
    precision are no longer kept in registers.
    """
    return Shuffle("from", value, lift(0))


def _extreme(of: Callable[[Expr, Expr], Expr], first: Expr, more: list[Expr]) -> Expr:
    return reduce(of, more, first)
