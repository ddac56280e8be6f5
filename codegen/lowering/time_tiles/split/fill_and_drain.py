"""What a thread has in device memory: its cells of a tile, filled before the first step and drained behind the last.

A cell is filled where the tile reads or writes it, but for what the tile makes before it reads it, and drained where
the tile wrote it. What is made anew in each step is drained where a later tile of the band goes on from it, and behind
the last step of all. Nothing else is touched: other tiles of the launch may be at work there.

before: the tile reads A at x from step 0 on, and writes it until step h(x)
after:  a[v] = 0 <= h(x + 1) && .. ? A[x] : 0;  ..steps..  if (0 <= h(x) && ..) A[x] = a[v];
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from polytile.codegen.lowering.time_tiles.coalesced_stores import StripInShared, moved_column
from polytile.codegen.lowering.time_tiles.rings import Ring, each
from polytile.codegen.lowering.time_tiles.split.tile_coordinates import TilePlaces
from polytile.codegen.lowering.time_tiles.split.touched_cells import Band, Touch, TouchedCells
from polytile.ir.arith import both, compare, either, lift
from polytile.ir.expr import BOOL, Access, Assign, CType, Expr, Name, Scope, Stmt, Unary
from polytile.ir.gpu_ops import Load, Store
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import Field, SplitTiles


class Transfers:
    """Fills and drains of all fields."""

    def __init__(
        self,
        scop: Scop,
        plan: SplitTiles,
        places: TilePlaces,
        rings: Mapping[Field, Ring],
        band: Band,
        names: Names,
        threads: tuple[Name, Name],
    ) -> None:
        warp, lane = threads
        self.scop, self.plan, self.places, self.rings, self.band, self.names = scop, plan, places, rings, band, names
        self.v = tuple(Name(names.fresh(n), places.integer) for n in ("r", "v")[2 - plan.dims :])
        self.cells = TouchedCells(plan, places, band, names, self.v, lane)
        columns = plan.points[-1]
        self.strips = {} if columns == 1 else strips_of(scop, plan, names, (warp, lane))
        self.stored = (*self.v[:-1], moved_column(self.v[-1], lane, columns))
        self.drained = TouchedCells(plan, places, band, names, self.v, lane, self.stored[-1])

    def home(self, field: Field, cell: Sequence[Expr]) -> Access:
        """Return the element of a cell in device memory."""
        array = self.scop.array(field[0])
        front = (lift(field[1]),) * (array.rank - self.plan.dims)
        return Access(array.name, (*front, *self.places.place(cell)), array.element)

    # Fill --------------------------------------------------------------------------------------------
    def fill(self) -> Stmt:
        body: list[Stmt] = []
        for field in self.plan.fields:
            guard = self._loaded(field)
            load = Load((self.rings[field].at(0, self.v),), self.home(field, self.v), guard=guard)
            body += [*self.cells.declared(), each(self.plan.points, self.v, load)]
        self.cells.ends()
        return Scope(tuple(body))

    def _loaded(self, field: Field) -> Expr:
        made = field[0] in self.plan.transient
        touches = self._read(field) if made else self._touches(field)
        guard = self.cells.touched(touches)
        if any(self.places.domains[touch.statement].others for touch in touches):
            guard = both(guard, self._in_memory(field[0]))
        return both(guard, *self._not_made_first(field)) if made else guard

    def _not_made_first(self, field: Field) -> Iterator[Expr]:
        """Yield the condition that the tile does not write a cell at its first step, before it reads it."""
        (write,) = (w for w in self.plan.writes if w.array == field[0])
        if not self.places.domains[write.statement].others:
            yield _not(self.cells.touched_first(self._written(write.statement, field)))

    def _touches(self, field: Field) -> list[Touch]:
        """Return the touches of a field, without those that touch less than another one."""
        found = [self._written(w.statement, field) for w in self.plan.writes if w.array == field[0]]
        found += self._read(field)
        kept: list[Touch] = []
        for touch in sorted(found, key=lambda t: [a - b for a, b in t.reach]):
            if not any(self._within(touch, other) for other in kept):
                kept.append(touch)
        return kept

    def _written(self, statement: str, field: Field) -> Touch:
        write = self.plan.writer(statement)
        windows = tuple(self.plan.written(write, k) for k in range(self.plan.dims))
        return Touch(statement, windows, ((0, 0),) * self.plan.dims, *self._when(write.version, field))

    def _when(self, version: int, field: Field) -> tuple[int, int]:
        """Return the steps at which version (t + version) mod n is that of a field, as n and a remainder."""
        versions = dict(self.plan.versions)[field[0]]
        return versions, (field[1] - version) % versions

    def _read(self, field: Field) -> list[Touch]:
        found = []
        for write in self.plan.writes:
            own = self._written(write.statement, field)
            for version, reach in self.plan.reaches(write.statement, field[0]):
                windows = tuple(w.moved(*r) for w, r in zip(own.windows, reach, strict=True))
                found.append(Touch(write.statement, windows, reach, *self._when(version, field)))
        return found

    def _within(self, touch: Touch, other: Touch) -> bool:
        domains = self.places.domains
        return (
            (touch.every, touch.odd) == (other.every, other.odd)
            and domains[touch.statement] == domains[other.statement]
            and all(b.holds(a) for a, b in zip(touch.windows, other.windows, strict=True))
            and all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(touch.reach, other.reach, strict=True))
        )

    def _in_memory(self, array: str) -> Expr:
        bounds = self.places.cells.memory[array][-self.plan.dims :]
        return both(
            *(
                compare(op, index, side)
                for index, sides in zip(self.places.place(self.v), bounds, strict=True)
                for op, side in zip((">=", "<="), sides, strict=True)
            )
        )

    # Drain -------------------------------------------------------------------------------------------
    def drain(self) -> Stmt:
        body: list[Stmt] = []
        for field in self.plan.fields:
            guard = either(*self._written_here(field))
            body += [*self.drained.declared(), self._rows(tuple(self._stores(field, guard)))]
        self.drained.ends()
        return Scope(tuple(body))

    def _rows(self, body: tuple[Stmt, ...]) -> Stmt:
        """Repeat statements for each row of a thread."""
        return each(self.plan.points[:-1], self.v[:-1], *body) if self.plan.dims > 1 else Scope(body)

    def _stores(self, field: Field, guard: Expr) -> Iterator[Stmt]:
        """Yield the stores of a row.

        They are of the columns that are the lane's own, or that lie where those of other lanes are stored, too.
        """
        ring, columns = self.rings[field], partial(each, self.plan.points[-1:], self.v[-1:])
        strip = self.strips.get(ring.element)
        home = self.home(field, self.stored)
        if strip is None:
            yield columns(Store(home, (ring.at(0, self.v),), guard=guard))
            return
        values = [ring.at(0, (*self.v[:-1], column)) for column in range(strip.columns)]
        yield from strip.stores(values, lambda _moved: home, columns, self.v[-1], guard)

    def storage(self) -> tuple[Storage, ...]:
        return tuple(strip.storage() for strip in self.strips.values())

    def _written_here(self, field: Field) -> Iterator[Expr]:
        passed_on = [self._read_by_others(field)] if field[0] in self.plan.transient else []
        writes, domains = [w.statement for w in self.plan.writes if w.array == field[0]], self.places.domains
        touches = [self._written(name, field) for name in writes if not domains[name].others]
        if touches:
            yield both(self.drained.touched(touches), *passed_on)
        for name in (n for n in writes if domains[n].others):
            tests = (self.places.at(test, self.stored, self.band.start) for test in domains[name].others)
            yield both(self.drained.touched([self._written(name, field)]), *passed_on, *tests)

    def _read_by_others(self, field: Field) -> Expr:
        """Return the condition that a later tile of the band, or the user, reads a cell.

        Such cells are those around which some statement has left the tile before the last step, along a dimension at
        which it shrinks.
        """
        dims = range(self.plan.dims)
        return either(*(self.drained.along("passed_on", BOOL, k, partial(self._passed_on, field, k)) for k in dims))

    def _passed_on(self, field: Field, k: int, to: Access, v: Expr) -> Stmt:
        tests = [] if k else [compare("!=", self.band.last, 0)]
        for touch in self._read(field):
            own, (first, last) = self._written(touch.statement, field).windows[k], touch.reach[k]
            left = compare("<", self.places.shrunk(own.moved(last, first), k, v), self.band.finish)
            tests.append(both(_not(self.places.grows[k]), left))
        return Assign(to, "", either(*tests))


def strips_of(scop: Scop, plan: SplitTiles, names: Names, threads: tuple[Name, Name]) -> dict[CType, StripInShared]:
    """Return the strips in shared memory through which a block's warps store elements of each type."""
    warp, lane = threads
    elements = dict.fromkeys(scop.array(array).element for array, _ in plan.fields)
    columns = plan.points[-1]
    return {e: StripInShared(names.fresh("stored"), e, columns, plan.warps, warp, lane) for e in elements}


def _not(condition: Expr) -> Expr:
    return Unary("!", condition, BOOL)
