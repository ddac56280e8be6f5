"""What a thread has in device memory: the cells of its patch, loaded a plane ahead, and stored.

Loads and stores of tiles that are away from all sides test nothing, and are vectors where rows are aligned.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

from polytile.codegen.lowering.time_tiles.overlapped.cell_masks import ThreadCells
from polytile.codegen.lowering.time_tiles.overlapped.plane_ages import rings
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import AHEAD, PREFETCHED, Stream, Tested, some
from polytile.codegen.lowering.time_tiles.overlapped.tile_grid import Axis
from polytile.codegen.lowering.time_tiles.rings import Ring, each
from polytile.ir.arith import add, both, compare, lift, mod, mul, sub
from polytile.ir.expr import BOOL, Access, Declare, Expr, If, Scope, Stmt, Unary
from polytile.ir.gpu_ops import Advance, Aligned, Load, Pointer, Prefetch, Store
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import StreamStep, StreamStore
from polytile.machine import VECTOR_BYTES

VECTOR_ELEMENTS = 4  # of CUDA's vectors, at most


class Transfers(ThreadCells):
    """A thread's registers, and its pointers."""

    def __init__(self, stream: Stream, names: Names) -> None:
        super().__init__(stream, names)
        self.wide = self.name("wide", BOOL)  # whether vectors of so many bytes may be used
        self.within = self.name("within", BOOL)  # whether all of the tile is in memory, along what does not stream
        self.vector = vector_bytes([stream.element(s).size for s in self.plan.steps], self.axes[-1])
        self.next = {s.index: names.fresh(f"next{s.index}") for s in self.plan.inputs}
        self.sources = {s.index: names.fresh(f"from{s.index}") for s in self.plan.inputs}
        self.ahead = names.fresh("ahead")
        self.targets = {s.step: names.fresh(f"to{s.step}") for s in stream.stores}
        labels = [names.fresh(f"x{step.index}") for step in self.plan.steps]
        elements = [stream.element(step) for step in self.plan.steps]
        self.rings: tuple[Ring, ...] = rings(self.plan, elements, labels)

    def pointed(self, pointer: str, step: StreamStep, cell: Sequence[Expr] | None = None) -> Access:
        """Return a cell of the thread, relative to a pointer."""
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
        """Declare whether all that is loaded and stored may be vectors: threads begin at multiples of their points."""
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
        """Generate accesses of all cells of the thread, by vectors where these may be used."""
        width = self.vector // size if self.vector else 1
        single = self.each(access(1))
        if width == 1:
            return single
        return If(self.wide, (each(self.points, self.v, access(width), step=width),), (single,))

    def _neighbours(self, width: int) -> Iterator[tuple[Expr, ...]]:
        """Return the cells of a vector."""
        return ((*self.v[:-1], add(self.v[-1], k)) for k in range(width))

    def load(self, arrival: Expr | None, tested: Tested) -> Iterator[Stmt]:
        """Load a plane of the inputs, of cells that are in memory: the first that arrives, or the one after `row`."""
        for step in self.plan.inputs:
            row = None if arrival is None else sub(arrival, step.lag)
            source = self.stream.source(step, self.cell(row))
            if row is not None:
                source = self.pointed(self.sources[step.index], step)
            if tested is not Tested.ALL:
                yield self._vectors(source.type.size, partial(self._vector_load, step, source))
            elif row is None:
                yield from self._loaded_line(step, source)
            else:
                yield from self._loaded_plane(step, row, source)

    def _loaded_line(self, step: StreamStep, source: Access) -> Iterator[Stmt]:
        """Load cells in one dimension, from the second buffer where statements write."""
        target, there = self._loaded(step, self.v), self.holds(self.memory_of(step))
        if self.stream.from_homes:
            yield self.each(Load((target,), source, guard=there))
            return
        home = Load((target,), self.stream.home(step, self.cell(None)), guard=there)
        yield self.each(If(self.is_made(step), (Load((target,), source),), (home,)))

    def _loaded_plane(self, step: StreamStep, row: Expr, source: Access) -> Iterator[Stmt]:
        """Load cells in memory, by vectors where all are; second buffers have those of planes that statements write."""
        target, there = self._loaded(step, self.v), self.holds(self.memory_of(step))
        has_plane = self.stream.has_plane(step, row)
        other = (self.each(Load((target,), source, guard=both(has_plane, there))),)
        if not self.stream.from_homes:
            stored = self.stream.has_stored(step, row)
            single = self.each(Load((target,), source, guard=there))
            pointer = Pointer(self.ahead, self.stream.home(step, self.cell(row, own=False)), const=True)
            home = Load((target,), self.pointed(self.ahead, step), guard=both(has_plane, there))
            other = (If(stored, (single,), (pointer, self.each(home))),)
            has_plane = stored
        width = self.vector // source.type.size if self.vector else 1
        if width > 1:
            vectors = each(self.points, self.v, self._vector_load(step, source, width), step=width)
            other = (If(both(self.wide, self.within, has_plane), (vectors,), other),)
        yield from other

    @abstractmethod
    def at_home(self, step: StreamStep, later: int, cell: Sequence[Expr] | None = None) -> Access:
        """Return an element of the user's array, of a cell in a plane of a step.

        The plane is the one that is made after that at `row`, or so much later.
        """

    # Planes that come later ---------------------------------------------------------------------------
    def prefetch(self, end: Expr, tested: Tested) -> Iterator[Stmt]:
        """Prefetch lines of a later plane to L2.

        They are of what is loaded without tests, if it comes before `end`, or, in planes with tests, of inputs that are
        in memory.
        """
        if tested is not Tested.ALL:
            ahead = [stmt for step in self.plan.inputs for stmt in self._lines_ahead(step)]
            for step in self.from_home() if tested is Tested.SIDES else ():
                first = self.at_home(step, PREFETCHED, tuple(lift(0) for _ in self.v))
                kept = self.in_row(Unary("~", self.written(step), self.word))
                ahead += self._rows_ahead(step, first, kept)
            yield If(compare("<", add(self.row, PREFETCHED), end), tuple(ahead))
            return
        for step in self.plan.inputs:
            row = self._plane_ahead(step)
            has_plane = self.stream.has_plane if self.stream.from_homes else self.stream.has_stored
            yield If(both(self.within, has_plane(step, row)), tuple(self._lines_ahead(step)))
        for step in self.from_home() if len(self.v) == 1 else ():
            row = self._plane_ahead(step)
            line = Prefetch(self.stream.home(step, (row, *self.corner)))
            yield If(both(self.within, self.stream.has_plane(step, row)), (line,))

    def _lines_ahead(self, step: StreamStep) -> Iterator[Stmt]:
        place = mul(self.pitch(step, 0), PREFETCHED)
        first = Access(self.sources[step.index], (place,), self.stream.element(step))
        yield from self._rows_ahead(step, first)

    def _rows_ahead(self, step: StreamStep, first: Access, when: Expr | None = None) -> Iterator[Stmt]:
        """Prefetch the lines of a thread's rows, or of some, of which the first one begins here."""
        if len(self.v) == 1:
            yield Prefetch(first)
            return
        fetch = Prefetch(self.pointed(self.ahead, step, (*self.v[:-1], lift(0))))
        rows = each(self.points[:-1], self.v[:-1], fetch if when is None else If(when, (fetch,)))
        yield Scope((Pointer(self.ahead, first, const=True), rows))

    @abstractmethod
    def from_home(self) -> Iterator[StreamStep]:
        """Yield the steps whose elements of the user's arrays tiles at sides load when they need them, each once."""

    def _plane_ahead(self, step: StreamStep) -> Expr:
        return sub(self.row, step.lag - AHEAD - PREFETCHED)

    # Loads and stores ---------------------------------------------------------------------------------
    def _loaded(self, step: StreamStep, cell: Sequence[Expr]) -> Access:
        """Return the target of a cell of an input: planes that have not arrived yet are no part of the ring."""
        if self.plan.streamed:
            return Access(self.next[step.index], tuple(cell), self.stream.element(step))
        return self.rings[step.index].at(0, cell)

    def _vector_load(self, step: StreamStep, source: Access, width: int) -> Stmt:
        return Load(tuple(self._loaded(step, cell) for cell in self._neighbours(width)), source)

    def _vector_store(self, step: StreamStep, target: Access, guard: Expr, width: int) -> Stmt:
        values = tuple(self.rings[step.index].at(0, cell) for cell in self._neighbours(width))
        return Store(target, values, guard=guard)

    def is_made(self, step: StreamStep, row: Expr | None = None) -> Expr:
        """Return the condition that some statement writes a cell, in the plane that a step makes or in another one."""
        return some([self.is_written(writer, step, row) for writer in self.stream.writers(step)])

    def store(self, store: StreamStore, tested: Tested) -> Stmt:
        """Store the cells that the tile owns.

        Into second buffers go all that are in memory, as those that no statement writes are read there, too.
        """
        step = self.plan.steps[store.step]
        row = self.made_row(step)
        target = self.stream.target(store, self.cell(row))
        if row is not None:
            target = self.pointed(self.targets[step.index], step)
        owned, there = self.holds(self.own), self.holds(self.memory_of(step))
        all_cells, tested = self.stream.to_shadows and self.plan.streamed, self.stream.tested(step, tested)
        if all_cells and tested is Tested.ALL:
            stores: tuple[Stmt, ...] = self._stored_plane(step, target, owned, there)
        elif not all_cells and tested is not Tested.NOTHING:
            sides = self.holds(self.written(step)) if tested is Tested.SIDES else self.is_made(step)
            stores = (self.each(self._vector_store(step, target, both(owned, sides), 1)),)
        else:
            stores = tuple(self.stored_cells(step, target))
        whens: list[Expr] = []
        if row is not None:
            stores = (*stores, Advance(self.targets[step.index], self.pitch(step, 0)))
            whens.append(compare(">=", row, self.own_first))
            if step.lag < self.stream.final_lag:
                whens.append(compare("<", row, self.own_end))
        if store.becomes is None and self.stream.last is not None:
            whens.append(self.stream.last)
        return If(both(*whens), stores) if whens else Scope(stores)

    def stored_cells(self, step: StreamStep, target: Access) -> Iterator[Stmt]:
        """Yield the stores of the cells that the tile owns, all of which are in memory."""
        yield self._vectors(target.type.size, partial(self._vector_store, step, target, self.holds(self.own)))

    def _stored_plane(self, step: StreamStep, target: Access, owned: Expr, there: Expr) -> tuple[Stmt, ...]:
        plane = self.stream.has_plane(step, self.made_row(step)) if self.stream.has_several_extents else both()
        single: Stmt = self.each(self._vector_store(step, target, both(owned, there, plane), 1))
        width = self.vector // target.type.size if self.vector else 1
        if width > 1:
            vectors = each(self.points, self.v, self._vector_store(step, target, owned, width), step=width)
            single = If(both(self.wide, self.within, plane), (vectors,), (single,))
        return (single,)


def vector_bytes(sizes: Sequence[int], axis: Axis) -> int:
    """Return the bytes of the widest vectors that the cells of a thread are made of in every tile, or 0 for none."""
    for width in reversed(VECTOR_BYTES):
        cells = [width // size for size in sizes]
        whole = all(0 < n <= VECTOR_ELEMENTS and axis.points % n == 0 and axis.width % n == 0 for n in cells)
        if whole and axis.aligned and max(cells) > 1:
            return width
    return 0
