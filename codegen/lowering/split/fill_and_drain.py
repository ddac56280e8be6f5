"""What a thread has in device memory: its cells of a tile, filled before the first step and drained behind the last.

A cell is filled where the tile reads or writes it, but for what the tile makes before it reads it, and drained where
the tile wrote it. What is made anew in each step is drained where a later tile of the band goes on from it, and behind
the last step of all. Nothing else is touched: other tiles of the launch may be at work there.

before: the tile reads A at x from step 0 on, and writes it until step h(x)
after:  a[v] = 0 <= h(x + 1) && .. ? A[x] : 0;  ..steps..  if (0 <= h(x) && ..) A[x] = a[v];
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from polytile.codegen.lowering.split.tile_coordinates import TilePlaces
from polytile.codegen.lowering.streaming.plane_rings import Ring, each
from polytile.ir.arith import add, both, compare, either, least, lift, mod, most, mul, sub
from polytile.ir.expr import BOOL, Access, Assign, CType, Expr, Name, Scope, Stmt, Unary
from polytile.ir.gpu_ops import Load, PrivateArray, Store
from polytile.ir.name_supply import Names
from polytile.ir.scop import Scop
from polytile.ir.split_plan import Field, SplitPlan, SplitRead, Window


@dataclass(frozen=True, slots=True)
class Touch:
    """The places that a statement writes, or reads of one array: windows of the tile, and how far they reach from what
    it writes, along each dimension. It does so at steps u of a band with u mod `every` = `odd`."""

    statement: str
    windows: tuple[Window, ...]
    reach: tuple[tuple[int, int], ...]
    every: int = 1
    odd: int = 0


@dataclass(frozen=True, slots=True)
class Band:
    """Names of a launch: the first step of the band, and of its steps those that there are; whether it is the last."""

    start: Name
    begin: Name
    finish: Name
    last: Name


class Transfers:
    """Fills and drains of all fields."""

    def __init__(
        self, scop: Scop, plan: SplitPlan, places: TilePlaces, rings: Mapping[Field, Ring], band: Band, names: Names
    ) -> None:
        self.scop, self.plan, self.places, self.rings, self.band, self.names = scop, plan, places, rings, band, names
        self.integer: CType = places.integer
        self.v = tuple(Name(names.fresh(n), self.integer) for n in ("r", "v")[2 - plan.dims :])

    def home(self, field: Field, cell: Sequence[Expr]) -> Access:
        """The element of a cell in device memory."""
        array = self.scop.array(field[0])
        front = (lift(field[1]),) * (array.rank - self.plan.dims)
        return Access(array.name, (*front, *self.places.place(cell)), array.element)

    # Fill --------------------------------------------------------------------------------------------
    def fill(self) -> Iterator[Stmt]:
        for field in self.plan.fields:
            yield from self._filled(field)

    def _filled(self, field: Field) -> Iterator[Stmt]:
        declared: list[Stmt] = []
        touches = self._touches(field)
        if field[0] not in self.plan.transient:
            guards = [self._cell(touch, declared).holds for touch in touches]
        else:
            guards = [self._not_made_before(field, declared)]
        guard = either(*guards)
        if any(self.places.domains[touch.statement].others for touch in touches):
            guard = both(guard, self._in_memory(field[0]))
        load = Load((self.rings[field].at(0, self.v),), self.home(field, self.v), guard=guard)
        yield Scope((*declared, each(self.plan.points, self.v, load)))

    def _touches(self, field: Field) -> list[Touch]:
        """Who touches a field, without those who touch less than another one."""
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
        """At which steps version (t + version) mod n is that of a field."""
        versions = dict(self.plan.versions)[field[0]]
        return versions, (field[1] - version) % versions

    def _read(self, field: Field) -> list[Touch]:
        found = []
        for write in self.plan.writes:
            reads = [r for r in self.plan.reads_of(write.statement) if r.array == field[0]]
            for version in sorted({r.version for r in reads}):
                found.append(self._hull(write.statement, [r for r in reads if r.version == version], field))
        return found

    def _hull(self, statement: str, reads: Sequence[SplitRead], field: Field) -> Touch:
        own = self._written(statement, field)
        reach = tuple(self.plan.hull(reads, k) for k in range(self.plan.dims))
        windows = tuple(w.moved(*r) for w, r in zip(own.windows, reach, strict=True))
        return Touch(statement, windows, reach, *self._when(reads[0].version, field))

    def _within(self, touch: Touch, other: Touch) -> bool:
        domains = self.places.domains
        return (
            (touch.every, touch.odd) == (other.every, other.odd)
            and domains[touch.statement] == domains[other.statement]
            and all(b.holds(a) for a, b in zip(touch.windows, other.windows, strict=True))
            and all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(touch.reach, other.reach, strict=True))
        )

    def _not_made_before(self, field: Field, declared: list[Stmt]) -> Expr:
        """Whether a cell is read, and not written before that."""
        (write,) = (w for w in self.plan.writes if w.array == field[0])
        made = self._cell(self._written(write.statement, field), declared)
        reads = [self._cell(touch, declared) for touch in self._read(field)]
        early = (both(made.inside, compare("<=", made.since, least(made.until, r.since))) for r in reads)
        return either(*(both(r.holds, _not(e)) for r, e in zip(reads, early, strict=True)))

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
    def drain(self) -> Iterator[Stmt]:
        for field in self.plan.fields:
            declared: list[Stmt] = []
            guard = either(*self._written_here(field, declared))
            store = Store(self.home(field, self.v), (self.rings[field].at(0, self.v),), guard=guard)
            yield Scope((*declared, each(self.plan.points, self.v, store)))

    def _written_here(self, field: Field, declared: list[Stmt]) -> Iterator[Expr]:
        for write in (w for w in self.plan.writes if w.array == field[0]):
            tests = [self._cell(self._written(write.statement, field), declared).holds]
            if field[0] in self.plan.transient:
                tests.append(either(compare("!=", self.band.last, 0), *self._read_by_others(field, declared)))
            others = self.places.domains[write.statement].others
            yield both(*tests, *(self.places.at(test, self.v, self.band.start) for test in others))

    def _read_by_others(self, field: Field, declared: list[Stmt]) -> Iterator[Expr]:
        """Whether a later tile of the band reads a cell: those around which some statement has left the tile."""
        for touch in self._read(field):
            own = self._written(touch.statement, field).windows
            inner = (w.moved(last, first) for w, (first, last) in zip(own, touch.reach, strict=True))
            until = _all(least, [self._until(window, k, declared) for k, window in enumerate(inner)])
            yield compare("<", until, self.band.finish)

    def _until(self, window: Window, k: int, declared: list[Stmt]) -> Expr:
        return self._part("inner", self.integer, k, self.places.until(window, k, self.v[k]), declared)

    # Cells -------------------------------------------------------------------------------------------
    def _cell(self, touch: Touch, declared: list[Stmt]) -> Asked:
        """What is asked of a cell, by parts for each dimension, which are declared."""
        inside, since, until = [], [], []
        for k, window in enumerate(touch.windows):
            v = self.v[k]
            tests = [self.places.inside(touch.statement, k, v, touch.reach[k])]
            first, last = self.places.since(window, k, v), self.places.until(window, k, v)
            if k == 0:
                tests.append(self.places.domains[touch.statement].some)
                first, last = most(first, self.band.begin), least(last, self.band.finish)
            inside.append(self._part("inside", BOOL, k, both(*tests), declared))
            since.append(self._part("since", self.integer, k, first, declared))
            until.append(self._part("until", self.integer, k, last, declared))
        first, last = _all(most, since), _all(least, until)
        if touch.every > 1:  # the first and last step of the right remainder
            first = add(first, mod(add(mul(first, touch.every - 1), touch.odd), touch.every))
            last = sub(last, mod(add(last, touch.every - touch.odd), touch.every))
        return Asked(both(*inside), first, last)

    def _part(self, name: str, ctype: CType, k: int, value: Expr, declared: list[Stmt]) -> Expr:
        """A value of each of a thread's rows or columns."""
        points, v = self.plan.points[k : k + 1], self.v[k]
        part = Access(self.names.fresh(name), (v,), ctype)
        declared += [PrivateArray(part.array, ctype, points), each(points, (v,), Assign(part, "", value))]
        return part


@dataclass(frozen=True, slots=True)
class Asked:
    """Of a cell: whether it is among the places that are touched, and from which to which step of the band the tile
    touches them."""

    inside: Expr
    since: Expr
    until: Expr

    @property
    def holds(self) -> Expr:
        return both(self.inside, compare("<=", self.since, self.until))


def _all(of: Callable[[Expr, Expr], Expr], parts: Sequence[Expr]) -> Expr:
    return reduce(of, parts)


def _not(condition: Expr) -> Expr:
    return Unary("!", condition, BOOL)
