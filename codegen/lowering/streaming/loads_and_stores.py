"""What a thread has in device memory: the cells of its patch, loaded a plane ahead, and stored.

Loads and stores of tiles that are away from all sides test nothing, and are vectors where rows are aligned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

from polytile.codegen.lowering.streaming.plane_rings import Ring, each, rings
from polytile.codegen.lowering.streaming.stream_kernel import AHEAD, PREFETCHED, Stream, some
from polytile.codegen.lowering.streaming.tile_grid import Axis, axes
from polytile.ir.arith import add, both, compare, lift, mod, mul, sub
from polytile.ir.expr import BOOL, LLONG, Access, Cast, CType, Declare, Expr, If, Name, Scope, Stmt
from polytile.ir.gpu_ops import Advance, Aligned, Load, Pointer, Prefetch, Store
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamStep, StreamStore
from polytile.machine import VECTOR_BYTES

VECTOR_ELEMENTS = 4  # of CUDA's vectors, at most


class Transfers(ABC):
    """A thread's cells, registers, and pointers."""

    def __init__(self, stream: Stream, names: Names) -> None:
        self.stream, self.plan, self.integer, self.supply = stream, stream.plan, stream.integer, names
        self.axes: tuple[Axis, ...] = axes(self.plan, stream.cells)
        inner = len(self.axes)
        self.corner = tuple(self.name(n) for n in ("left", "top")[:inner][::-1])  # the thread's first cell
        self.points = self.plan.points
        self.v = tuple(self.name(n) for n in ("v", "u")[:inner][::-1])
        self.row, self.begin = self.name("row"), self.name("begin")  # the plane that arrives; the first one
        self.own_first, self.own_end = self.name("first"), self.name("until")  # of the planes that are owned
        self.wide = self.name("wide", BOOL)  # whether vectors of so many bytes may be used
        self.vector = vector_bytes([stream.element(s).size for s in self.plan.steps], self.axes[-1])
        self.next = {s.index: names.fresh(f"next{s.index}") for s in self.plan.inputs}
        self.sources = {s.index: names.fresh(f"from{s.index}") for s in self.plan.inputs}
        self.targets = {s.step: names.fresh(f"to{s.step}") for s in stream.stores}
        labels = [names.fresh(f"x{step.index}") for step in self.plan.steps]
        elements = [stream.element(step) for step in self.plan.steps]
        self.rings: tuple[Ring, ...] = rings(self.plan, elements, labels)

    def name(self, wanted: str, ctype: CType | None = None) -> Name:
        return Name(self.supply.fresh(wanted), ctype or self.integer)

    @abstractmethod
    def owned(self) -> Expr:
        """Whether the tile stores a cell of the thread: those of a vector all, or none."""

    def each(self, *body: Stmt) -> Stmt:
        return each(self.points, self.v, *body)

    def cell(self, row: Expr | None, own: bool = True) -> tuple[Expr, ...]:
        """A cell of the thread, or its first."""
        inner = tuple(add(c, v) for c, v in zip(self.corner, self.v, strict=True)) if own else self.corner
        return inner if row is None else (row, *inner)

    def made_row(self, step: StreamStep) -> Expr | None:
        return sub(self.row, step.lag) if self.plan.streamed else None

    def pitch(self, step: StreamStep, k: int) -> Expr:
        """Elements from one cell to the next along a dimension."""
        inner = self.stream.scop.array(step.array).extents[k - self.plan.dims + 1 :] if k + 1 < self.plan.dims else ()
        factors = [e for e in inner if e is not None]
        if len(factors) > 1:  # a plane may have more elements than an `int` counts
            factors[0] = Cast(LLONG, factors[0])
        return reduce(mul, factors, lift(1))

    def pointed(self, pointer: str, step: StreamStep, cell: Sequence[Expr] | None = None) -> Access:
        """A cell of the thread, from where a pointer is."""
        places = (mul(v, self.pitch(step, axis.k)) for v, axis in zip(cell or self.v, self.axes, strict=True))
        return Access(pointer, (reduce(add, places),), self.stream.element(step))

    def pointers(self) -> Iterator[Stmt]:
        for step in self.plan.inputs:
            source = self.stream.source(step, self.cell(sub(self.begin, step.lag), own=False))
            yield Pointer(self.sources[step.index], source, const=True)
        for store in self.stream.stores:
            target = self.stream.target(store, self.cell(self.own_first, own=False))
            yield Pointer(self.targets[store.step], target)

    def alignment(self) -> Iterator[Stmt]:
        """Whether all that is loaded and stored may be vectors: threads begin at multiples of their points."""
        if not self.vector:
            return
        inputs, stores, corner = self.plan.inputs, self.stream.stores, self.stream.nowhere
        sources = [self.stream.source(s, corner) for s in inputs]
        targets = [self.stream.target(s, corner) for s in stores]
        steps = [*inputs, *(self.plan.steps[s.step] for s in stores)]
        widths = [(s, self.vector // self.stream.element(s).size) for s in steps]
        outer = range(self.plan.dims - 1)
        pitches = ((self.pitch(s, k), width) for s, width in widths for k in outer)
        whole = dict.fromkeys(compare("==", mod(pitch, width), 0) for pitch, width in pitches)
        yield Declare(self.wide.name, BOOL, both(Aligned((*sources, *targets), self.vector), *whole))

    def _vectors(self, size: int, access: Callable[[int], Stmt]) -> Stmt:
        """Accesses of all cells of the thread, by vectors where these may be used."""
        width = self.vector // size if self.vector else 1
        single = self.each(access(1))
        if width == 1:
            return single
        return If(self.wide, (each(self.points, self.v, access(width), step=width),), (single,))

    def _neighbours(self, width: int) -> Iterator[tuple[Expr, ...]]:
        """The cells of a vector."""
        return ((*self.v[:-1], add(self.v[-1], k)) for k in range(width))

    def load(self, arrival: Expr | None, edge: bool) -> Iterator[Stmt]:
        """A plane of the inputs, of cells that are in memory."""
        for step in self.plan.inputs:
            row = None if arrival is None else sub(arrival, step.lag)
            cell = self.cell(row)
            source = self.stream.source(step, cell)
            if row is not None:
                source = self.pointed(self.sources[step.index], step)
            target = self._loaded(step, self.v)
            if not edge and (self.stream.to_shadows or not self.stream.always_tested(step)):
                yield self._vectors(target.type.size, partial(self._vector_load, step, source))
            elif self.stream.to_shadows:
                yield self.each(Load((target,), source, guard=self.stream.exists(step, cell)))
            else:
                yield self._chosen(step, cell, target, source)

    # Planes that come later ---------------------------------------------------------------------------
    def prefetch(self, end: Expr, edge: bool) -> Iterator[Stmt]:
        """Lines of a later plane, which then come from L2: of the inputs, if they come before `end`, or, in planes with
        tests, of all elements that are loaded and in memory."""
        if edge:
            for step, source in (*self._sources_ahead(), *self._homes_ahead()):
                yield self._of_rows(If(self.stream.exists(step, self._ahead(step)), (Prefetch(source),)))
        else:
            fetches = tuple(self._of_rows(Prefetch(source)) for _, source in self._sources_ahead())
            yield If(compare("<", add(self.row, PREFETCHED), end), fetches)

    def at_home(self) -> Iterator[StreamStep]:
        """The steps for which planes with tests load elements of the user's arrays."""
        yield from () if self.stream.to_shadows else self.plan.inputs

    def _sources_ahead(self) -> Iterator[tuple[StreamStep, Access]]:
        for step in self.plan.inputs:
            first = self.pointed(self.sources[step.index], step, (*self.v[:-1], lift(0)))
            place = add(mul(self.pitch(step, 0), PREFETCHED), first.subscripts[0])
            yield step, Access(first.array, (place,), first.type)

    def _homes_ahead(self) -> Iterator[tuple[StreamStep, Access]]:
        return ((step, self.stream.home(step, self._ahead(step))) for step in self.at_home())

    def _ahead(self, step: StreamStep) -> tuple[Expr, ...]:
        """The first of a thread's cells in a row of that plane."""
        return (*self.cell(sub(self.row, step.lag - AHEAD - PREFETCHED))[:-1], self.corner[-1])

    def _of_rows(self, stmt: Stmt) -> Stmt:
        """For each row of the thread's cells."""
        return each(self.points[:-1], self.v[:-1], stmt) if len(self.v) > 1 else stmt

    # Loads and stores ---------------------------------------------------------------------------------
    def _loaded(self, step: StreamStep, cell: Sequence[Expr]) -> Access:
        """Where a cell of an input goes: planes that have not arrived yet are no part of the ring."""
        if self.plan.streamed:
            return Access(self.next[step.index], tuple(cell), self.stream.element(step))
        return self.rings[step.index].at(0, cell)

    def _vector_load(self, step: StreamStep, source: Access, width: int) -> Stmt:
        return Load(tuple(self._loaded(step, cell) for cell in self._neighbours(width)), source)

    def _vector_store(self, step: StreamStep, target: Access, guard: Expr, width: int) -> Stmt:
        values = tuple(self.rings[step.index].at(0, cell) for cell in self._neighbours(width))
        return Store(target, values, guard=guard)

    def _chosen(self, step: StreamStep, cell: tuple[Expr, ...], target: Access, source: Access) -> Stmt:
        """An input from the second buffer, or from the user's array where no statement writes."""
        home = Load((target,), self.stream.home(step, cell), guard=self.stream.exists(step, cell))
        return self.each(If(self.is_made(step, cell), (Load((target,), source),), (home,)))

    def is_made(self, step: StreamStep, cell: tuple[Expr, ...]) -> Expr:
        at = self.stream.place(step, cell)
        return some([both(*(t for _, t in self.stream.conditions(w, at))) for w in self.stream.writers(step)])

    def store(self, store: StreamStore, edge: bool) -> Stmt:
        step = self.plan.steps[store.step]
        row = self.made_row(step)
        cell = self.cell(row)
        made = [self.is_made(step, cell)] if edge or self.stream.always_tested(step) else []
        target = self.stream.target(store, cell)
        if row is not None:
            target = self.pointed(self.targets[step.index], step)
        write = partial(self._vector_store, step, target, both(self.owned(), *made))
        stores: tuple[Stmt, ...] = (self.each(write(1)) if made else self._vectors(target.type.size, write),)
        whens: list[Expr] = []
        if row is not None:
            stores = (*stores, Advance(self.targets[step.index], self.pitch(step, 0)))
            whens.append(compare(">=", row, self.own_first))
            if step.lag < self.stream.final_lag:
                whens.append(compare("<", row, self.own_end))
        if store.becomes is None and self.stream.last is not None:
            whens.append(self.stream.last)
        return If(both(*whens), stores) if whens else Scope(stores)


def vector_bytes(sizes: Sequence[int], axis: Axis) -> int:
    """The widest vectors that the cells of a thread, one beside another, are made of in every tile; 0 for none."""
    for width in reversed(VECTOR_BYTES):
        cells = [width // size for size in sizes]
        whole = all(0 < n <= VECTOR_ELEMENTS and axis.points % n == 0 and axis.width % n == 0 for n in cells)
        if whole and axis.aligned and max(cells) > 1:
            return width
    return 0
