"""The steps of a tile whose values are in registers: masks, what threads get from one another, and statements.

before: step u of a band: for (x = a u + 1; x <= G - 2 - b u; x++) B[x] = f(A[x-1], A[x], A[x+1]);
after:  first = a * u + 1 - own; last = G - 2 - b * u - own;            of the thread's cells
        a[-1] = shuffle_up(a[V - 1]); a[V] = shuffle_down(a[0]);
        for (v = 0 .. V - 1) { made = f(a[v-1], a[v], a[v+1]); if (first <= v && v <= last) b[v] = made; }

Rows are tested for a whole warp, columns once for all rows. Where all rows of a warp are between the sides there are no
tests of rows, and no branches where some are: the shuffles of one row hide behind the sums of others. Rows of other
warps come through planes of shared memory with one barrier for each level of a step that reads them: the next level
that does has planes of its own. With a split barrier warps arrive behind their rows, and compute those that need none
of other warps before they wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polytile.codegen.lowering.time_tiles.rings import Ring, column_of_lane, each, over, runs
from polytile.codegen.lowering.time_tiles.split.tile_coordinates import TilePlaces
from polytile.codegen.lowering.time_tiles.split.touched_cells import Band
from polytile.codegen.lowering.time_tiles.statement_bodies import instance, is_pure
from polytile.codegen.lowering.time_tiles.warp_exchange import Edges, WarpEnds
from polytile.dataclass import dataclass
from polytile.ir.arith import add, both, compare, known, least, lift, mod, most, mul, sub
from polytile.ir.edge_rows import EdgeRows
from polytile.ir.expr import BOOL, Access, Assign, Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.gpu_ops import BARRIER_TYPE, Arrive, Await, InitBarrier, PrivateArray
from polytile.ir.kernel import Barrier, Comment
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import Field, SplitRead, SplitTiles, SplitWrite

SHOWN = "neighbours read the rows that were shown, and have read those of before"


def rings_of(scop: Scop, plan: SplitTiles, names: Names) -> dict[Field, Ring]:
    """Return the registers of each field: those of a thread's cells, and of what is beside them."""
    found = {}
    for array, version in plan.fields:
        reads = ((read.offset, 0) for read in plan.reads if read.array == array)
        name = names.fresh(f"{array}_{version}" if dict(plan.versions)[array] > 1 else f"{array}_own")
        found[array, version] = Ring.of(name, scop.array(array).element, plan.points, reads)
    return found


@dataclass(frozen=True, slots=True)
class Masks:
    """What a statement writes of a thread's cells at a step: the first and last of its rows, in two dimensions, and
    whether a column is among them, with what declares these."""

    rows: tuple[Name, ...]
    columns: Access
    declared: tuple[Stmt, ...]


class TileSteps:
    """The loop over the steps of a band."""

    def __init__(
        self,
        scop: Scop,
        plan: SplitTiles,
        places: TilePlaces,
        rings: Mapping[Field, Ring],
        band: Band,
        names: Names,
        threads: Sequence[Name],
    ) -> None:
        self.scop, self.plan, self.places, self.rings, self.band = scop, plan, places, rings, band
        self.integer, self.names = places.integer, names
        self.u = Name(names.fresh("u"), self.integer)
        self.v = tuple(Name(names.fresh(n), self.integer) for n in ("r", "v")[2 - plan.dims :])
        axes = ("row", "column")[2 - plan.dims :]
        self.low = tuple(Name(names.fresh(f"low_{axis}"), self.integer) for axis in axes)
        self.high = tuple(Name(names.fresh(f"high_{axis}"), self.integer) for axis in axes)
        self.edges: dict[tuple[int, int, Field], Edges | WarpEnds] = {}
        self.warp, self.lane = threads
        self.shown = Access(names.fresh("shown"), (lift(0),), BARRIER_TYPE)
        self.parity = Name(names.fresh("parity"), self.integer)
        if plan.tile_warps > 1:
            self._find_edges()

    # Exchange between warps --------------------------------------------------------------------------
    def _find_edges(self) -> None:
        found: dict[tuple[int, int, Field], list[int]] = {}
        for turn in range(self.plan.period):
            for read in self.plan.reads:
                if read.offset[0]:
                    level = self.plan.writer(read.statement).level
                    found.setdefault((turn, level, self._field(read, turn)), []).append(read.offset[0])
        slots = 2 if len({key[:2] for key in found}) == 1 else 1
        for key, offsets in found.items():
            name = self.names.fresh(f"shown_{key[2][0]}")
            if self.plan.dims == 1:
                ends = WarpEnds(self.rings[key[2]], name, offsets, self.plan.warps, slots, self.warp, self.lane)
                self.edges[key] = ends
                continue
            rows = EdgeRows.of(self.plan.warps, self.plan.points[0], offsets)
            self.edges[key] = Edges(self.rings[key[2]], name, rows, slots, self.warp, self.lane)

    def storage(self) -> tuple[Storage, ...]:
        found = tuple(edges.storage() for edges in self.edges.values())
        if not self._splits:
            return found
        return (*found, Storage(self.shown.array, Space.SHARED, BARRIER_TYPE, (lift(1),), self.shown.array))

    @property
    def _splits(self) -> bool:
        """Return whether warps do what needs no rows of others between showing theirs and waiting for those.

        They do not where columns of other lanes are read beside rows of other warps.
        """
        corners = any(read.offset[0] and read.offset[-1] for read in self.plan.reads)
        return self.plan.split_barrier and bool(self.edges) and not corners

    def prepared(self) -> Iterator[Stmt]:
        """Initialize what is beside the tile, and the split barrier."""
        if self._splits:
            first = both(compare("==", self.warp, 0), compare("==", self.lane, 0))
            yield If(first, (InitBarrier(self.shown, self.plan.warps),))
            yield Barrier("the split barrier is there")
        for edges in self.edges.values():
            yield from edges.beside_tile()

    def _field(self, one: SplitRead | SplitWrite, turn: int) -> Field:
        versions = dict(self.plan.versions)[one.array]
        return one.array, (turn + one.version) % versions

    # The loop ----------------------------------------------------------------------------------------
    def loop(self) -> Stmt:
        """Generate the loop over all steps of the band that there are."""
        if not self._splits:
            return self._loop()
        return Scope((Declare(self.parity.name, self.integer, lift(0)), self._loop()))

    def _loop(self) -> Stmt:
        begin, finish, period = self.band.begin, self.band.finish, self.plan.period
        if period == 1:
            body = tuple(self._step(0))
            return For(self.u.name, begin, compare("<=", self.u, finish), 1, body, self.integer, unroll=1)
        first = Name(self.names.fresh("turn"), self.integer)
        turns = tuple(
            Scope(
                (
                    Declare(self.u.name, self.integer, add(first, turn)),
                    If(both(compare(">=", self.u, begin), compare("<=", self.u, finish)), tuple(self._step(turn))),
                )
            )
            for turn in range(period)
        )
        start = sub(begin, mod(begin, period))
        return For(first.name, start, compare("<=", first, finish), period, turns, self.integer, unroll=1)

    def _step(self, turn: int) -> Iterator[Stmt]:
        for k, cut in enumerate(self.plan.cuts):
            for name, slopes in ((self.low[k], (cut.lower, -cut.upper)), (self.high[k], (-cut.upper, cut.lower))):
                moved = mul(self.u, self.places.chosen(k, slopes))
                yield Declare(name.name, self.integer, sub(moved, self.places.own[k]))
        for level in self.plan.levels:
            writes = [w for w in self.plan.writes if w.level == level]
            yield Comment(f"{', '.join(w.array for w in writes)} at step u")
            yield from self._level([(w, self._masks(w)) for w in writes], turn, level)

    def _level(self, writes: Sequence[tuple[SplitWrite, Masks]], turn: int, level: int) -> Iterator[Stmt]:
        """Yield the exchange of rows, and the statements at all rows.

        Statements may also run at rows of the thread alone while those of others arrive.
        """
        shown = [edges for (at, of, _), edges in self.edges.items() if (at, of) == (turn, level)]
        for _, masks in writes:
            yield from masks.declared
        for edges in shown:
            yield from edges.shown(self.u)
        early = range(0)
        if shown and self._splits:
            early = self._rows_alone([write for write, _ in writes])
            yield from self._arrives()
            for write, masks in writes:
                yield from self._statement(write, turn, masks, early)
            yield from self._waits()
        elif shown:
            yield Barrier(SHOWN)
        for rows in (edges for edges in shown if isinstance(edges, Edges)):
            for row in rows.rows.fetched:
                yield from rows.fetched(row, 0, self.u)
        late = [r for r in range(self.plan.points[0]) if r not in early]
        for write, masks in writes:
            yield from self._statement(write, turn, masks, late)

    def _rows_alone(self, writes: Sequence[SplitWrite]) -> range:
        """Return the rows of a thread that statements make from rows of the thread alone."""
        offsets = {read.offset[0] for write in writes for read in self.plan.reads_of(write.statement)}
        return range(-min(offsets), self.plan.points[0] - max(offsets))

    def _arrives(self) -> Iterator[Stmt]:
        yield Barrier("all lanes have shown rows, and read those of before", "warp")
        yield If(compare("==", self.lane, 0), (Arrive(self.shown, SHOWN),))

    def _waits(self) -> Iterator[Stmt]:
        yield Await(self.shown, self.parity, SHOWN)
        yield Assign(self.parity, "", sub(1, self.parity))

    # Statements --------------------------------------------------------------------------------------
    def _statement(self, write: SplitWrite, turn: int, masks: Masks, rows: Sequence[int]) -> Iterator[Stmt]:
        """Yield a statement at some rows of the thread; all cells in one dimension."""
        if not rows:
            return
        body = [*self._columns_beside(write, turn, alone=False)]
        if self.plan.dims == 1:
            body += self._row(write, turn, masks.columns)
        else:
            body += self._rows(write, turn, masks, rows)
        domain = self.places.domains[write.statement]
        yield If(both(*domain.uniform), tuple(body)) if domain.uniform else Scope(tuple(body))

    def _masks(self, write: SplitWrite) -> Masks:
        """Return masks of what a statement writes of the thread's cells at a step."""
        *rows, columns = (self._sides(write, k) for k in range(self.plan.dims))
        made = Access(self.names.fresh(f"made_{write.statement}"), self.v[-1:], BOOL)
        points, v = self.plan.points[-1:], self.v[-1]
        first, last = (Name(side.name, self.integer) for side in columns)
        within = both(compare(">=", v, first), compare("<=", v, last))
        declared = [side for sides in (*rows, columns) for side in sides]
        masked = (PrivateArray(made.array, BOOL, points), each(points, (v,), Assign(made, "", within)))
        names = tuple(Name(side.name, self.integer) for sides in rows for side in sides)
        return Masks(names, made, (*declared, *masked))

    def _sides(self, write: SplitWrite, k: int) -> tuple[Declare, Declare]:
        """Declare the first and last of the thread's rows or columns that a statement writes."""
        window, domain = self.plan.written(write, k), self.places.domains[write.statement]
        axis = ("row", "column")[2 - self.plan.dims + k]
        first: Expr = add(self.low[k], self.places.chosen(k, window.low))
        last: Expr = add(self.high[k], self.places.chosen(k, window.high))
        for bound in domain.first[k]:
            first = most(first, sub(bound, self.places.corner[k]))
        for bound in domain.last[k]:
            last = least(last, sub(bound, self.places.corner[k]))
        least_, most_ = (self.names.fresh(f"{side}_{axis}_{write.statement}") for side in ("min", "max"))
        return Declare(least_, self.integer, first), Declare(most_, self.integer, last)

    def _row(self, write: SplitWrite, turn: int, *kept: Expr) -> Iterator[Stmt]:
        """Yield a row of a thread's cells, those of which are kept where all of some conditions hold."""
        yield from self._columns_beside(write, turn, alone=True)
        yield each(self.plan.points[-1:], self.v[-1:], *self._cell(write, turn, kept))

    def _rows(self, write: SplitWrite, turn: int, masks: Masks, rows: Sequence[int]) -> Iterator[Stmt]:
        """Yield some rows of a thread.

        A warp whose rows all have something to do tests none. Others compute all rows, too, and keep what is between
        the sides: with branches the sums of a row wait for those of the one before.
        """
        r, (first, last) = self.v[0], masks.rows
        between = both(compare(">=", r, first), compare("<=", r, last))
        some = both(compare("<=", first, rows[-1]), compare(">=", last, rows[0]))
        if self._is_one_row(write):
            row = If(between, tuple(self._row(write, turn, masks.columns)))
            yield If(some, tuple(over(run, r, row) for run in runs(rows)))
            return
        kept = Name(self.names.fresh(f"row_of_{write.statement}"), BOOL)
        tested = (Declare(kept.name, BOOL, between), *self._row(write, turn, masks.columns, kept))
        untested = tuple(self._row(write, turn, masks.columns))
        whole = both(compare("<=", first, rows[0]), compare(">=", last, rows[-1]))
        every, those = (tuple(over(run, r, *made) for run in runs(rows)) for made in (untested, tested))
        yield If(whole, every, (If(some, those),))

    def _is_one_row(self, write: SplitWrite) -> bool:
        """Return whether a statement writes a row that is known, as those at sides of space do."""
        domain = self.places.domains[write.statement]
        firsts, lasts = ({known(side) for side in sides} for sides in (domain.first[0], domain.last[0]))
        return bool((firsts & lasts) - {None})

    def _columns_beside(self, write: SplitWrite, turn: int, *, alone: bool) -> Iterator[Stmt]:
        """Fetch the columns of other lanes that a statement reads.

        These are the ones read in their own row `alone`, for the row r, or those that other rows read, too, for all of
        their rows.
        """
        found: dict[Field, set[tuple[int, int]]] = {}
        for read in self.plan.reads_of(write.statement):
            if read.offset[-1]:
                row = read.offset[0] if self.plan.dims == 2 else 0
                found.setdefault(self._field(read, turn), set()).add((row, read.offset[-1]))
        for field, offsets in found.items():
            columns = sorted({c for _, c in self._beside(offsets)})
            rows = {row for row, _ in offsets}
            if (rows == {0}) is not alone:
                continue
            if alone:
                own: Sequence[Expr] = self.v[:-1]
                yield from (column_of_lane(self.rings[field], 0, column, own) for column in columns)
                ends = self.edges.get((turn, write.level, field))
                yield from (ends.fetched(column, self.u) for column in columns if isinstance(ends, WarpEnds))
            else:
                r = self.v[0]
                every = range(min(rows), self.plan.points[0] + max(rows))
                yield over(every, r, *(column_of_lane(self.rings[field], 0, column, (r,)) for column in columns))

    def _beside(self, offsets: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        width = self.plan.points[-1]
        for row, offset in offsets:
            for v in range(width):
                if not 0 <= v + offset < width:
                    yield row, v + offset

    def _cell(self, write: SplitWrite, turn: int, conditions: Sequence[Expr]) -> Iterator[Stmt]:
        """Compute one cell, which is kept where the statement writes it."""
        time = add(self.band.start, self.u)
        domain, writer = self.places.domains[write.statement], self.places.cells.writers[write.statement]
        kept = both(*conditions, *(self.places.at(test, self.v, time) for test in domain.others))
        target = self.rings[self._field(write, turn)].at(0, self.v)
        iterators = tuple(self.places.at(value, self.v, time) for value in writer.iterators)
        reads = self._reads(write, turn)
        if not is_pure(self.scop, writer.statement):
            yield If(kept, instance(self.scop, writer.statement, target, reads, iterators, self.integer))
            return
        made = Name(self.names.fresh(f"new_{write.array}"), target.type)
        yield Declare(made.name, made.type, None)
        yield from instance(self.scop, writer.statement, made, reads, iterators, self.integer)
        yield If(kept, (Assign(target, "", made),))

    def _reads(self, write: SplitWrite, turn: int) -> dict[Access, Access]:
        """Map the accesses of a statement to the registers that they read."""
        writer = self.places.cells.writers[write.statement]
        values = {}
        for read in self.plan.reads_of(write.statement):
            cell = tuple(add(v, offset) for v, offset in zip(self.v, read.offset, strict=True))
            values[read.access] = self.rings[self._field(read, turn)].at(0, cell)
        return {node: values[k] for node, numbers in writer.numbers.items() for k in numbers[::-1] if k in values}
