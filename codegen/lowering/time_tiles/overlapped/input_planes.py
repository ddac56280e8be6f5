"""Planes of one input that the threads of a block load, keep, and read, in kernels of one step.

PLANES, an input that is read beside the own column:
    next0[w] = A[..]                                    what the thread loads of the next plane, one row early
    planes0[at0[0] + n] = next0[w]                      when it arrives, in the slot of the oldest plane
    planes0[at0[age] + here0 + ..]                      what a cell reads
COLUMNS:
    own0[u][v] = A[..], next0[w] = A[..]                its own points of the next plane, and the halo of the shown one
    x0[0][u][v] = own0[u][v]                            when it arrives
    planes0[at0[0] + here0 + ..] = x0[shown][u][v]      the one plane that is read beside the column, with its halo
    x0[age][u][v], planes0[at0[0] + here0 + ..]         what a cell reads
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from math import prod

from polytile.codegen.lowering.time_tiles.overlapped.cell_masks import ThreadCells, in_set
from polytile.codegen.lowering.time_tiles.overlapped.tile_frames import TileFrame
from polytile.codegen.lowering.time_tiles.rings import over
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, binary, both, compare, lift, mul, sub
from polytile.ir.expr import INT, UINT, ULLONG, Access, Assign, Cast, CType, Declare, Expr, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import Advance, Load, Pointer, PrivateArray
from polytile.ir.kernel import ceil_div
from polytile.ir.memory import Space, Storage
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep, planes_behind
from polytile.ir.time_tile import Exchange


class InputPlanes:
    """One input of the kernel of `cells`. `thread` is the number of the thread in its block, `threads` are its places
    along each dimension, `edge` is the first cell of its tile."""

    def __init__(
        self, cells: ThreadCells, step: StreamStep, thread: Name, threads: Sequence[Name], edge: Sequence[Name]
    ) -> None:
        self.cells, self.plan, self.step, self.thread, self.edge = cells, cells.plan, step, thread, tuple(edge)
        self.threads = tuple(threads)
        self.element = cells.stream.element(step)
        self.reads = [read for read in self.plan.reads if read.source == step.index]
        self.beside = [read for read in self.reads if any(read.offset[1:])]
        self.is_ring = bool(self.beside) and self.plan.exchange is Exchange.PLANES
        fresh, number = cells.supply.fresh, step.index
        self.planes, self.at = fresh(f"planes{number}"), fresh(f"at{number}")
        self.next, self.places = fresh(f"next{number}"), fresh(f"place{number}")
        self.shared_places = fresh(f"shared_place{number}")
        self.own, self.columns = fresh(f"own{number}"), fresh(f"x{number}")
        self.source, self.own_source = fresh(f"from{number}"), fresh(f"own_from{number}")
        self.here = cells.name(f"here{number}")
        self.there = cells.name(f"there{number}", self._word)
        self.w = cells.name("w")

    # What it takes ------------------------------------------------------------------------------------
    @cached_property
    def frame(self) -> TileFrame:
        corners = any(sum(map(bool, read.offset[1:])) > 1 for read in self.beside)
        lower, upper = self.step.lower[1:], self.step.upper[1:]
        return TileFrame(self.plan.tile, tuple(-n for n in lower), upper, self.is_ring, corners)

    @property
    def loads(self) -> int:
        """Return the number of cells that a thread loads for the block."""
        return ceil_div(self.frame.count, prod(self.plan.threads)) if self.beside else 0

    @property
    def places_of_planes(self) -> int:
        """Return the number of planes that are in shared memory at a time."""
        if not self.beside:
            return 0
        return self.step.slots if self.is_ring else self.plan.shared_planes

    @property
    def period(self) -> tuple[int, ...]:
        """Return the numbers of rows after which values are in the same places again."""
        return self.places_of_planes or 1, 1 if self.is_ring else self.step.slots

    @property
    def shown(self) -> int:
        """Return the number of planes that have come since the one that is shown: 0 in a ring."""
        return 0 if self.is_ring else planes_behind(self.plan.steps, self.beside[0], self.plan.streamed)

    @property
    def _word(self) -> CType:
        if self.loads > 8 * ULLONG.size:
            raise InternalError(f"a thread loads {self.loads} cells of a plane")
        return UINT if self.loads <= 8 * UINT.size else ULLONG

    @property
    def _pitches(self) -> tuple[Expr, ...]:
        return tuple(self.cells.pitch(self.step, axis.k) for axis in self.cells.axes)

    def storage(self) -> Iterator[Storage]:
        if self.beside:
            size = self.places_of_planes * prod(self.frame.extents)
            yield Storage(self.planes, Space.SHARED, self.element, (lift(size),), self.planes)

    # Declarations -------------------------------------------------------------------------------------
    def declared(self, begin: Expr) -> Iterator[Stmt]:
        """Declare pointers to the first plane that arrives, and what is computed once."""
        stream, plane = self.cells.stream, sub(begin, self.step.lag)
        if self.beside:
            shown = sub(plane, self.shown)
            yield Pointer(self.source, stream.source(self.step, (shown, *self.edge)), const=True)
            yield from self._declared_places()
        if not self.is_ring:
            corner = stream.source(self.step, self.cells.cell(plane, own=False))
            yield Pointer(self.own_source, corner, const=True)
            points, zero = self.plan.points, Literal("0")
            yield PrivateArray(self.own, self.element, points, zero)
            yield PrivateArray(self.columns, self.element, (self.step.slots, *points), zero)

    def _declared_places(self) -> Iterator[Stmt]:
        """Declare the places of the cells that the thread loads for the block, and of its own ones in shared planes."""
        extents, count = self.frame.extents, self.loads
        yield PrivateArray(self.at, INT, (self.places_of_planes,))
        plane = prod(extents)
        yield from (Assign(self._at(k), "", lift(k * plane)) for k in range(self.places_of_planes))
        inner = (add(t, low) for t, low in zip(self.threads, self.frame.lower, strict=True))
        yield Declare(self.here.name, self.cells.integer, _flat(tuple(inner), extents))
        yield PrivateArray(self.next, self.element, (count,), Literal("0"))
        yield PrivateArray(self.places, self.cells.integer, (count,))
        if not self.is_ring:
            yield PrivateArray(self.shared_places, self.cells.integer, (count,))
        yield Declare(self.there.name, self._word, Literal("0u" if self._word == UINT else "0ull", self._word))
        found = [*map(self.cells.name, ("y", "x")[-len(self.threads) :])]
        values = self.frame.place(self._number())
        named = [Declare(n.name, self.cells.integer, value) for n, value in zip(found, values, strict=True)]
        place: tuple[Expr, ...] = tuple(found)
        offset = reduce(add, (mul(p, pitch) for p, pitch in zip(place, self._pitches, strict=True)))
        cell = [add(e, p) for e, p in zip(self.edge, place, strict=True)]
        bounds = self.cells.stream.bounds(self.step)[1:]
        inside = [both(compare(">=", c, a), compare("<=", c, b)) for c, (a, b) in zip(cell, bounds, strict=True)]
        is_one = both(compare("<", self._number(), self.frame.count), *inside)
        body: list[Stmt] = [*named, Assign(self._private(self.places), "", offset)]
        if not self.is_ring:
            target = _flat(tuple(add(p, low) for p, low in zip(place, self.frame.lower, strict=True)), extents)
            body.append(Assign(self._private(self.shared_places), "", target))
        bit = binary("<<", Cast(self._word, is_one), self.w)
        yield over(range(count), self.w, *body, Assign(self.there, "|", bit))

    def _private(self, name: str) -> Access:
        return Access(name, (self.w,), self.cells.integer)

    def _number(self) -> Expr:
        """Return the number of a cell that the thread loads, among all."""
        return add(self.thread, mul(self.w, prod(self.plan.threads)))

    # Loads --------------------------------------------------------------------------------------------
    def load(self, row: Expr, needed: Expr, shown: Expr) -> Iterator[Stmt]:
        """Load the plane that arrives at a row, and what is shown there, each if it is needed; pointers are at it."""
        stream, cache = self.cells.stream, "read-only" if self.plan.read_only else ""
        plane = sub(row, self.step.lag)
        if not self.is_ring:
            own = own_point(self.cells, self.own_source, self.step)
            target = Access(self.own, self.cells.v, self.element)
            load = Load((target,), own, cache, guard=self.cells.holds(self.cells.memory_of(self.step)))
            yield If(both(needed, stream.has_plane(self.step, plane)), (self.cells.each(load),))
        if self.beside:
            source = Access(self.source, (self._private(self.places),), self.element)
            load = Load((Access(self.next, (self.w,), self.element),), source, cache, guard=in_set(self.there, self.w))
            there = stream.has_plane(self.step, sub(plane, self.shown))
            yield If(both(shown, there), (over(range(self.loads), self.w, load),))

    def advance(self) -> Iterator[Stmt]:
        """Advance the pointers to the next plane."""
        if self.beside:
            yield Advance(self.source, self.cells.pitch(self.step, 0))
        if not self.is_ring:
            yield Advance(self.own_source, self.cells.pitch(self.step, 0))

    # Planes -------------------------------------------------------------------------------------------
    def arrive(self) -> Iterator[Stmt]:
        """Move what was loaded into its places."""
        if not self.is_ring:
            own = Access(self.own, self.cells.v, self.element)
            yield self.cells.each(Assign(self._column(0), "", own))
        if not self.beside:
            return
        if not self.is_ring:
            yield self.cells.each(Assign(self._shared((0,) * len(self.threads), 0), "", self._column(self.shown)))
        place = self._number() if self.is_ring else self._private(self.shared_places)
        target = Access(self.planes, (add(self._at(0), place),), self.element)
        put = Assign(target, "", Access(self.next, (self.w,), self.element))
        whole = self.frame.count // prod(self.plan.threads)
        if whole:
            yield over(range(whole), self.w, put)
        if whole < self.loads:
            some = If(compare("<", self._number(), self.frame.count), (put,))
            yield over(range(whole, self.loads), self.w, some)

    def ageing(self) -> Iterator[Stmt]:
        """Age each plane by a row."""
        count, slots = self.places_of_planes, 1 if self.is_ring else self.step.slots
        if count > 1:
            last = self.cells.name(f"last{self.step.index}", INT)
            yield Declare(last.name, INT, self._at(count - 1))
            yield from (Assign(self._at(k), "", self._at(k - 1)) for k in range(count - 1, 0, -1))
            yield Assign(self._at(0), "", last)
        for k in range(slots - 1, 0, -1):
            yield self.cells.each(Assign(self._column(k), "", self._column(k - 1)))

    def value(self, read: StreamRead) -> Access:
        """Return what an access of a cell reads."""
        age = planes_behind(self.plan.steps, read, self.plan.streamed)
        if self.is_ring:
            return self._shared(read.offset[1:], age)
        return self._shared(read.offset[1:], 0) if any(read.offset[1:]) else self._column(age)

    # Places -------------------------------------------------------------------------------------------
    def _at(self, age: int) -> Access:
        return Access(self.at, (lift(age),), INT)

    def _column(self, age: int) -> Access:
        return Access(self.columns, (lift(age), *self.cells.v), self.element)

    def _shared(self, offset: Sequence[int], age: int) -> Access:
        """Return a cell of a shared plane, at an offset from the thread's."""
        places = tuple(add(p, d) for p, d in zip(away(self.cells.v, self.plan), offset, strict=True))
        return Access(self.planes, (add(self._at(age), self.here, _flat(places, self.frame.extents)),), self.element)


def away(point: Sequence[Expr], plan: OverlappedTiles) -> tuple[Expr, ...]:
    """Return the distance of a point of a thread from its first: points have a cyclic distribution over threads."""
    return tuple(mul(v, n) for v, n in zip(point, plan.threads, strict=True))


def own_point(cells: ThreadCells, pointer: str, step: StreamStep) -> Access:
    """Return a point of the thread, relative to a pointer to its first."""
    pitches = (cells.pitch(step, axis.k) for axis in cells.axes)
    places = (mul(p, pitch) for p, pitch in zip(away(cells.v, cells.plan), pitches, strict=True))
    return Access(pointer, (reduce(add, places),), cells.stream.element(step))


def _flat(place: Sequence[Expr], extents: Sequence[int]) -> Expr:
    """Linearize a place in row-major order."""
    strides = [prod(extents[k + 1 :]) for k in range(len(extents))]
    return reduce(add, (mul(p, n) for p, n in zip(place, strides, strict=True)))
