"""Kernels whose warps keep a strip each in registers: the last dimension lies across the lanes, nobody waits.

before: for (t) for (i = 1; i < n - 1; i++) for (j = 1; j < m - 1; j++) A[(t+1)%2][i][j] = f(A[t%2][i-1 .. i+1][j-1 ..])
after:  each warp, for its strip of columns and its chunk of rows:
            for (row = ..)                      a row of the inputs arrives, the next one is loaded
                step 1 makes row - 1 of its lane's columns from rows row - 2 .. row, neighbours' columns by shuffles
                step 2 makes row - 2, ...       what the last step makes is stored
                every ring of rows moves on

Strips overlap by the halo, in whole lanes. The first and the last strip own what is beside them, so that nothing beyond
the sides is loaded. Rows for which all cells of the strip are away from all sides run in a copy of the loop that tests
nothing. In one dimension there are no rows, and all steps run once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import lcm

from polytile.codegen.lowering.streams.bodies import instance, is_pure
from polytile.codegen.lowering.streams.cells import Writer, cell_name
from polytile.codegen.lowering.streams.rings import age, each, rings
from polytile.codegen.lowering.streams.stream import Stream, negated, some
from polytile.codegen.lowering.streams.strips import Strips
from polytile.ir.arith import add, both, compare, div, either, least, lift, mod, most, mul, select, sub
from polytile.ir.expr import BOOL, Access, Assign, Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.gpu_ops import Advance, Load, Pointer, PrivateArray, Store
from polytile.ir.kernel import Comment
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamStep, StreamStore
from polytile.ir.substitute import with_values
from polytile.machine import WARP_SIZE

UNROLLED = 4000  # instructions of a loop, by a rough count, beyond which rings move instead of being unrolled


@dataclass(frozen=True, slots=True)
class _Names:
    block: Name
    thread: Name
    warp: Name
    lane: Name
    strip: Name
    strips: Name
    left: Name
    begin: Name  # of the rows that are loaded: first, and behind the last
    end: Name
    start: Name  # of those that a turn of the loops begins with
    low: Name  # of those that need no tests: first, and behind the last
    high: Name
    own_first: Name  # of the rows that the warp owns: first, and behind the last
    own_end: Name
    inside: Name
    own: Name
    row: Name
    turn: Name
    group: Name
    v: Name
    rows: Name


class WarpKernel:
    """The body of one kernel of a plan."""

    def __init__(self, stream: Stream, names: Names, strips: Name, block: Name, thread: Name) -> None:
        self.stream, self.plan, self.integer = stream, stream.plan, stream.integer
        ranges = stream.cells.range
        self.strips = Strips(self.plan, ranges[-1], ranges[0] if self.plan.streamed else None)
        self.points = self.strips.points
        self.supply = names
        rows = ("begin", "end", "start", "low", "high", "first", "until", "row", "turn", "group")
        integers = ("warp", "lane", "strip", "left", *rows, "v")
        own = {n: Name(names.fresh(n), self.integer) for n in integers}
        truths = {n: Name(names.fresh(n), BOOL) for n in ("inside", "own", "rows")}
        self.n = _Names(
            *(block, thread, own["warp"], own["lane"], own["strip"], strips, own["left"], own["begin"], own["end"]),
            *(own["start"], own["low"], own["high"], own["first"], own["until"], truths["inside"], truths["own"]),
            *(own["row"], own["turn"], own["group"], own["v"], truths["rows"]),
        )
        labels = tuple(names.fresh(f"x{step.index}") for step in self.plan.steps)
        elements = tuple(stream.element(step) for step in self.plan.steps)
        self.rings = rings(self.plan, self.points, elements, labels)
        self.next = {s.index: names.fresh(f"next{s.index}") for s in self.plan.inputs}
        self.sources = {s.index: names.fresh(f"from{s.index}") for s in self.plan.inputs}
        self.targets = {s.step: names.fresh(f"to{s.step}") for s in stream.stores}
        self.sides = {w: names.fresh(f"columns_{w}") for w in stream.cells.writers}

    # The warp's part ---------------------------------------------------------------------------------
    def body(self) -> Iterator[Stmt]:
        n, integer = self.n, self.integer
        yield Declare(n.warp.name, integer, add(mul(n.block, self.plan.warps), div(n.thread, WARP_SIZE)))
        yield Declare(n.lane.name, integer, mod(n.thread, WARP_SIZE))
        if not self.plan.streamed or not self.plan.chunk:
            yield Declare(n.strip.name, integer, n.warp)
            yield If(compare("<", n.strip, n.strips), tuple(self._work()))
            return
        assert self.strips.rows is not None
        first, last = self.strips.rows
        yield Declare(n.strip.name, integer, mod(n.warp, n.strips))
        yield Declare(n.own_first.name, integer, add(first, mul(div(n.warp, n.strips), self.plan.chunk)))
        yield If(compare("<=", n.own_first, last), tuple(self._work()))

    def _work(self) -> Iterator[Stmt]:
        n, integer, strips = self.n, self.integer, self.strips
        tile = add(strips.origin, mul(n.strip, strips.width))
        yield Declare(n.left.name, integer, add(tile, mul(n.lane, self.points)))
        first, last = compare("==", n.strip, 0), compare("==", n.strip, sub(n.strips, 1))
        lanes = strips.left // self.points, WARP_SIZE - strips.right // self.points
        left, right = compare(">=", n.lane, lanes[0]), compare("<", n.lane, lanes[1])
        yield Declare(n.own.name, BOOL, both(either(first, left), either(last, right)))
        edge = sub(n.left, mul(n.lane, self.points))
        columns = (edge, add(edge, WARP_SIZE * self.points - 1))
        inside = self.stream.inside({cell_name(self.plan.dims - 1): columns})
        yield Declare(n.inside.name, BOOL, inside.holds)
        if not self.plan.streamed:
            yield from self._declared()
            yield If(n.inside, tuple(self._all_steps(edge=False)), tuple(self._all_steps(edge=True)))
            return
        yield from self._rows(inside.low, inside.high)
        yield from self._declared()
        yield from self._pointers()
        yield from self._load(n.begin, edge=True)
        yield from self._loops()

    def _declared(self) -> Iterator[Stmt]:
        for ring in self.rings:
            yield ring.declared()
        if self.plan.streamed:
            for step in self.plan.inputs:
                yield PrivateArray(self.next[step.index], self.stream.element(step), (self.points,))

    # Rows --------------------------------------------------------------------------------------------
    def _rows(self, lows: list[Expr], highs: list[Expr]) -> Iterator[Stmt]:
        n, integer, plan = self.n, self.integer, self.plan
        assert self.strips.rows is not None
        first, last = self.strips.rows
        if not plan.chunk:
            yield Declare(n.own_first.name, integer, first)
        until = least(add(n.own_first, plan.chunk), add(last, 1)) if plan.chunk else add(last, 1)
        yield Declare(n.own_end.name, integer, until)
        begin = most(sub(n.own_first, plan.lower[0]), sub(first, self.strips.reach(0)[0]))
        yield Declare(n.begin.name, integer, begin)
        yield Declare(n.end.name, integer, add(n.own_end, self.stream.final_lag))
        low = least(_extreme(most, n.begin, lows), n.end)
        yield Declare(n.low.name, integer, select(n.inside, low, n.end))
        whole = sub(_extreme(least, n.end, highs), n.low)
        yield Declare(n.high.name, integer, add(n.low, mul(div(most(whole, 0), self.period), self.period)))

    @property
    def period(self) -> int:
        """After how many rows values are in the same registers again, if so many copies are not too long."""
        turns = lcm(*(ring.slots for ring in self.rings))
        reads = sum(1 + len(self.plan.reads_of(step.index)) for step in self.plan.made)
        return turns if turns * reads * self.points <= UNROLLED else 1

    def _loops(self) -> Iterator[Stmt]:
        """Rows before those that need no tests, those, and then the rest."""
        n, integer = self.n, self.integer
        yield Declare(n.start.name, integer, n.begin)
        rows = tuple(self._row(edge=True))
        tested = For(n.row.name, n.start, compare("<", n.row, n.low), 1, rows, integer, unroll=1)
        turn = (Declare(n.row.name, integer, add(n.group, n.turn)), *self._row(edge=False))
        turns = For(n.turn.name, lift(0), compare("<", n.turn, self.period), 1, turn, integer, unroll=0)
        start = most(n.start, n.low)
        free = For(n.group.name, start, compare("<", n.group, n.high), self.period, (turns,), integer, unroll=1)
        after = Assign(n.start, "", most(n.start, n.high)), Assign(n.low, "", n.end), Assign(n.high, "", n.end)
        both_ways = Name(self.supply.fresh("pass"), integer)
        body = (*self._columns(), tested, free, *after)
        yield For(both_ways.name, lift(0), compare("<", both_ways, 2), 1, body, integer, unroll=1)

    def _row(self, edge: bool) -> Iterator[Stmt]:
        n, v = self.n, self.n.v
        for step in self.plan.inputs:
            ring = self.rings[step.index]
            value = Access(self.next[step.index], (v,), ring.element)
            yield each(v, self.points, Assign(ring.at(0, v), "", value))
        for step in self.plan.inputs:
            yield Advance(self.sources[step.index], self._pitch(step))
        yield from self._load(add(n.row, 1), edge)
        yield from self._steps(edge)
        moves = tuple(stmt for ring in self.rings for stmt in ring.ageing(v))
        yield each(v, self.points, *moves)
        for ring in self.rings:
            yield from ring.ageing_sides()

    def _all_steps(self, edge: bool) -> Iterator[Stmt]:
        """All of a kernel in one dimension."""
        if edge:
            yield from self._columns()
        yield from self._load(None, edge)
        yield from self._steps(edge)

    # Memory ------------------------------------------------------------------------------------------
    def _cell(self, row: Expr | None, column: Expr | int) -> tuple[Expr, ...]:
        at = add(self.n.left, column)
        return (at,) if row is None else (row, at)

    def _pitch(self, step: StreamStep) -> Expr:
        extent = self.stream.scop.array(step.array).extents[-1]
        assert extent is not None
        return extent

    def _pointers(self) -> Iterator[Stmt]:
        n = self.n
        for step in self.plan.inputs:
            source = self.stream.source(step, self._cell(n.begin, 0))
            yield Pointer(self.sources[step.index], source, const=True)
        for store in self.stream.stores:
            yield Pointer(self.targets[store.step], self.stream.target(store, self._cell(n.own_first, 0)))

    def _load(self, row: Expr | None, edge: bool) -> Iterator[Stmt]:
        """A row of the inputs, of cells that are in memory."""
        v = self.n.v
        for step in self.plan.inputs:
            ring, element = self.rings[step.index], self.stream.element(step)
            cell = self._cell(row, v)
            target = ring.at(0, v)
            source = self.stream.source(step, cell)
            if row is not None:
                target = Access(self.next[step.index], (v,), element)
                source = Access(self.sources[step.index], (v,), element)
            tested = edge or (not self.stream.to_shadows and self.stream.always_tested(step))
            if not tested:
                yield each(v, self.points, Load((target,), source))
            elif self.stream.to_shadows:
                yield each(v, self.points, Load((target,), source, guard=self.stream.exists(step, cell)))
            else:
                yield from self._chosen(step, row, target, source)

    def _chosen(self, step: StreamStep, row: Expr | None, target: Access, source: Access) -> Iterator[Stmt]:
        """An input from the second buffer, or from the user's array where no statement writes."""
        cell = self._cell(row, self.n.v)
        made = some([self._whole(step, writer, cell) for writer in self.stream.writers(step)])
        home = Load((target,), self.stream.home(step, cell), guard=self.stream.exists(step, cell))
        yield each(self.n.v, self.points, If(made, (Load((target,), source),), (home,)))

    def _whole(self, step: StreamStep, writer: Writer, cell: tuple[Expr, ...]) -> Expr:
        at = self.stream.place(step, cell)
        return both(*(test for _, test in self.stream.conditions(writer, at)))

    def _store(self, store: StreamStore, edge: bool) -> Iterator[Stmt]:
        n, step = self.n, self.plan.steps[store.step]
        ring = self.rings[step.index]
        value = (ring.at(0, n.v),)
        row = sub(n.row, step.lag) if self.plan.streamed else None
        cell = self._cell(row, n.v)
        tested = edge or self.stream.always_tested(step)
        made = [some([self._whole(step, w, cell) for w in self.stream.writers(step)])] if tested else []
        target = Access(self.targets[step.index], (n.v,), ring.element)
        if row is None:
            target = self.stream.target(store, cell)
        stores: tuple[Stmt, ...] = (each(n.v, self.points, Store(target, value, guard=both(n.own, *made))),)
        if row is not None:
            stores = (*stores, Advance(self.targets[step.index], self._pitch(step)))
        whens = [] if row is None else [compare(">=", row, n.own_first)]
        if row is not None and step.lag < self.stream.final_lag:
            whens.append(compare("<", row, n.own_end))
        if store.becomes is None:
            whens.append(self.stream.last)
        yield If(both(*whens), stores) if whens else Scope(stores)

    # Steps -------------------------------------------------------------------------------------------
    def _columns(self) -> Iterator[Stmt]:
        """Which columns of the lane each statement writes, as far as that depends on nothing else."""
        for name, writer in self.stream.cells.writers.items():
            tests = [test for test, alone in self._split(writer, None) if alone == "column"]
            if tests:
                yield PrivateArray(self.sides[name], BOOL, (self.points,))
                side = Access(self.sides[name], (self.n.v,), BOOL)
                yield each(self.n.v, self.points, Assign(side, "", both(*tests)))

    def _split(self, writer: Writer, step: StreamStep | None) -> Iterator[tuple[Expr, str]]:
        """The tests of a statement's cells: those of the column alone, of all but the column, and others."""
        column, n = cell_name(self.plan.dims - 1), self.n
        use = step or self.plan.steps[0]
        row = sub(n.row, use.lag) if self.plan.streamed else None
        at = self.stream.place(use, self._cell(row, n.v))
        places = set(at)
        for bound, test in self.stream.conditions(writer, at):
            if bound is None:
                yield test, "others"
            elif bound.names & places == {column}:
                yield test, "column"
            else:
                yield test, "others" if column in bound.names else "row"

    def _steps(self, edge: bool) -> Iterator[Stmt]:
        fetched: set[tuple[int, int]] = set()
        stores = {store.step: store for store in self.stream.stores}
        for step in self.plan.made:
            row = f" - {step.lag}" if step.lag else ""
            of = f", {self.n.row.name}{row}" if self.plan.streamed else ""
            time = f"{self.stream.time.name} + {step.iteration}" if step.iteration else self.stream.time.name
            yield Comment(f"step {step.index}: {step.array} after iteration {time}{of}")
            for read in self.plan.reads_of(step.index):
                key = read.source, age(self.plan, read)
                if read.offset[-1] and key not in fetched:
                    fetched.add(key)
                    yield from self.rings[read.source].fetches(key[1])
            yield from self._made(step, edge or self.stream.always_tested(step))
            if step.index in stores:
                yield from self._store(stores[step.index], edge)

    def _made(self, step: StreamStep, tested: bool) -> Iterator[Stmt]:
        """The cells of a step, by the statements that write them; others are the user's."""
        n, ring = self.n, self.rings[step.index]
        main = self.stream.main(step)
        if not tested:
            assert main is not None
            yield each(n.v, self.points, *self._instance(step, main))
            return
        rows: list[Stmt] = []
        body: list[Stmt] = []
        none: list[Expr] = []
        for k, writer in enumerate(self.stream.writers(step)):
            split = list(self._split(writer, step))
            tests = [test for test, alone in split if alone == "others"]
            row = [test for test, alone in split if alone == "row"]
            if row:
                name = Name(f"{n.rows.name}{k}" if k else n.rows.name, BOOL)
                rows.append(Declare(name.name, BOOL, both(*row)))
                tests.append(name)
            if any(alone == "column" for _, alone in split):
                tests.append(Access(self.sides[writer.statement.name], (n.v,), BOOL))
            written = both(*tests)
            made = self._instance(step, writer)
            if writer is main and is_pure(self.stream.scop, writer.statement) and not none:
                body += made
            else:
                body.append(If(written, made))
            none.append(written)
        cell = self._cell(sub(n.row, step.lag) if self.plan.streamed else None, n.v)
        kept = Load((ring.at(0, n.v),), self.stream.home(step, cell), guard=self.stream.exists(step, cell))
        body.append(If(negated(some(none)), (kept,)))
        yield Scope((*rows, each(n.v, self.points, *body)))

    def _instance(self, step: StreamStep, writer: Writer) -> tuple[Stmt, ...]:
        n = self.n
        cell = self._cell(sub(n.row, step.lag) if self.plan.streamed else None, n.v)
        at = self.stream.place(step, cell)
        reads = {
            read.access: self.rings[read.source].at(age(self.plan, read), add(n.v, read.offset[-1]))
            for read in self.plan.reads_of(step.index)
            if read.statement == writer.statement.name
        }
        values = tuple(with_values(value, at) for value in writer.iterators)
        target = self.rings[step.index].at(0, n.v)
        return instance(self.stream.scop, writer.statement, target, reads, values, self.integer)


def _extreme(of: Callable[[Expr, Expr], Expr], first: Expr, more: list[Expr]) -> Expr:
    return reduce(of, more, first)
