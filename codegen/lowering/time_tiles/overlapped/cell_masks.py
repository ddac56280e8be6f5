"""The cells of a thread, and which of them a tile owns, has memory for, or writes: as the bits of a register each,
which are found once a tile.

before: for each plane, step and cell: (left + v >= 1) & (left + v <= m - 2) & (top + u >= 1) & (top + u <= n - 2)
after:  unsigned columns_S0 = .., rows_S0 = ..;     bit v is of column v of the thread's cells, bit u of row u
        unsigned cells_S0 = ..;                     bit u * V + v is of cell (u, v)
        for each plane and step:    bool made = (row - 1 >= 1) & (row - 1 <= l - 2);
            for each cell:          made & cells_S0 >> u * V + v & 1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream
from polytile.codegen.lowering.time_tiles.overlapped.tile_grid import Axis, axes
from polytile.codegen.lowering.time_tiles.rings import each
from polytile.codegen.lowering.time_tiles.written_cells import Bounds, Writer, cell_name
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, binary, both, compare, known, lift, mul, sub
from polytile.ir.expr import LLONG, UINT, ULLONG, Assign, Cast, CType, Declare, Expr, Literal, Name, Stmt, Ternary
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import StreamStep

SIDES = ("columns", "rows")  # what is along the dimensions that do not stream, fastest first


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of whether a statement writes a cell: those that are the same for all cells of a plane, those of one
    dimension that does not stream, in all planes and iterations, and others."""

    plane: tuple[Expr, ...]
    along: tuple[tuple[Expr, ...], ...]
    others: tuple[Expr, ...]


class ThreadCells(ABC):
    """A thread's cells, `points` along each dimension that is not streamed."""

    def __init__(self, stream: Stream, names: Names) -> None:
        self.stream, self.plan, self.integer, self.supply = stream, stream.plan, stream.integer, names
        self.axes: tuple[Axis, ...] = axes(self.plan, stream.cells)
        inner = len(self.axes)
        self.corner = tuple(self.name(n) for n in ("left", "top")[:inner][::-1])  # the thread's first cell
        self.points = self.plan.points
        self.v = tuple(self.name(n) for n in ("v", "u")[:inner][::-1])
        self.row, self.begin = self.name("row"), self.name("begin")  # the plane that arrives; the first one
        self.own_first, self.own_end = self.name("first"), self.name("until")  # of the planes that are owned
        self.made_here = self.name("made", self.word)
        self.own = self.name("own", self.word)
        self.sides = {name: self._sides(name) for name in stream.cells.writers}
        self.cells = {name: self.name(f"cells_{name}", self.word) for name in stream.cells.writers}
        bounds = dict.fromkeys(stream.bounds(step)[self.plan.streamed :] for step in self.plan.steps)
        self.there: dict[tuple[Bounds, ...], Name] = {b: self.name("there", self.word) for b in bounds}

    def name(self, wanted: str, ctype: CType | None = None) -> Name:
        return Name(self.supply.fresh(wanted), ctype or self.integer)

    @property
    def word(self) -> CType:
        """Return the type of a set of cells, which has a bit for each cell."""
        count = prod(self.points)
        if count > 8 * ULLONG.size:
            raise InternalError(f"a thread has {count} cells of a plane")
        return UINT if count <= 8 * UINT.size else ULLONG

    def _sides(self, writer: str) -> tuple[Name, ...]:
        named = SIDES[: len(self.points)][::-1]
        return tuple(self.name(f"{side}_{writer}", self.word) for side in named)

    # Cells -------------------------------------------------------------------------------------------
    def each(self, *body: Stmt) -> Stmt:
        return each(self.points, self.v, *body)

    def cell(self, row: Expr | None, own: bool = True) -> tuple[Expr, ...]:
        """Return a cell of the thread, or its first."""
        inner = tuple(add(c, v) for c, v in zip(self.corner, self.v, strict=True)) if own else self.corner
        return inner if row is None else (row, *inner)

    def made_row(self, step: StreamStep) -> Expr | None:
        return sub(self.row, step.lag) if self.plan.streamed else None

    def pitch(self, step: StreamStep, k: int) -> Expr:
        """Return the number of elements from one cell to the next along a dimension."""
        inner = self.stream.scop.array(step.array).extents[k - self.plan.dims + 1 :] if k + 1 < self.plan.dims else ()
        factors = [e for e in inner if e is not None]
        if len(factors) > 1:  # a plane may have more elements than an `int` counts
            factors[0] = Cast(LLONG, factors[0])
        return reduce(mul, factors, lift(1))

    # Sets of cells ------------------------------------------------------------------------------------
    @abstractmethod
    def owned(self, k: int) -> Expr:
        """Return the condition that the tile stores cells at this place along a dimension."""

    @property
    def has_bits(self) -> bool:
        """Return whether there are registers for the cells that statements write."""
        return True

    def sets(self) -> Iterator[Stmt]:
        """Declare the sets of cells that each statement writes, that have memory, and that the tile owns.

        The tile owns its cells if they have some memory.
        """
        axes = range(len(self.axes))
        if self.has_bits:
            yield from self.written_sets()
        for bounds in self.there:
            yield from self.memory_set(bounds)
        yield from self.set_of(self.own, axes, both(*(self.owned(k) for k in axes)))

    def written_sets(self, writers: Sequence[Writer] | None = None) -> Iterator[Stmt]:
        """Declare the sets of cells that all writers, or some, write in planes and iterations without tests."""
        for writer in self.stream.cells.writers.values() if writers is None else writers:
            name = writer.statement.name
            along = self.tests(writer, self.plan.steps[0]).along
            for k, side in enumerate(self.sides[name]):
                yield from self.set_of(side, (k,), both(*along[k]))
            inner = (in_set(word, v) for word, v in zip(self.sides[name], self.v, strict=True))
            yield from self.set_of(self.cells[name], range(len(self.axes)), both(*inner) if any(along) else both())

    def memory_set(self, bounds: tuple[Bounds, ...]) -> Iterator[Stmt]:
        """Declare the set of cells that have memory of these bounds."""
        pairs = zip(self.cell(None), bounds, strict=True)
        tests = [both(compare(">=", cell, first), compare("<=", cell, last)) for cell, (first, last) in pairs]
        yield from self.set_of(self.there[bounds], range(len(self.axes)), both(*tests))

    def set_of(self, word: Name, axes: Sequence[int], holds: Expr) -> Iterator[Stmt]:
        """Declare the set of places along some dimensions for which a condition holds."""
        points, v = tuple(self.points[k] for k in axes), tuple(self.v[k] for k in axes)
        always = known(holds) == 1
        yield Declare(word.name, word.type, self._bits(prod(points) if always else 0))
        if not always:
            bit = binary("<<", Cast(word.type, holds), _bit(v, points))
            yield each(points, v, Assign(word, "|", bit))

    def _bits(self, count: int) -> Literal:
        return Literal(f"{(1 << count) - 1}{'u' if self.word == UINT else 'ull'}", self.word)

    def holds(self, word: Expr) -> Expr:
        """Return the condition that the cell of loops over cells is in a set."""
        return in_set(word, _bit(self.v, self.points))

    def in_row(self, word: Expr) -> Expr:
        """Return the condition that cells of a row of loops over cells are in a set."""
        first = _bit((*self.v[:-1], lift(0)), self.points)
        shifted = word if known(first) == 0 else binary(">>", word, first)
        return compare("!=", binary("&", shifted, self._bits(self.points[-1])), 0)

    def where(self, condition: Expr, word: Expr) -> Expr:
        """Return the set where the condition holds, and the empty set elsewhere."""
        holds = known(condition)
        if holds is not None:
            return word if holds else self._bits(0)
        return Ternary(condition, word, self._bits(0), self.word)

    def memory_of(self, step: StreamStep) -> Name:
        """Return the set of cells whose elements of the user's array are in memory, if the plane is."""
        return self.there[self.stream.bounds(step)[self.plan.streamed :]]

    # Tests --------------------------------------------------------------------------------------------
    def tests(self, writer: Writer, step: StreamStep, row: Expr | None = None) -> Tests:
        """Return the tests of a statement's cells, in the plane that a step makes, or in the one at `row`."""
        at = self.stream.place(step, self.cell(self.made_row(step) if row is None else row))
        inner = {cell_name(axis.k): k for k, axis in enumerate(self.axes)}
        plane, others = list[Expr](), list[Expr]()
        along: list[list[Expr]] = [[] for _ in self.axes]
        for bound, test in self.stream.conditions(writer, at):
            places = set[str]() if bound is None else set(bound.names & set(at))
            if bound is not None and not places & set(inner):
                plane.append(test)
            elif len(places) == 1:
                along[inner[places.pop()]].append(test)
            else:
                others.append(test)
        return Tests(tuple(plane), tuple(map(tuple, along)), tuple(others))

    def written(self, step: StreamStep) -> Name:
        """Return the set of cells that the step's main statement writes in planes and iterations without tests."""
        main = self.stream.main(step)
        assert main is not None
        return self.cells[main.statement.name]

    def is_written(self, writer: Writer, step: StreamStep, row: Expr | None = None) -> Expr:
        """Return the condition that a statement writes a cell."""
        tests = self.tests(writer, step, row)
        return both(*tests.plane, self.is_cell(writer), *tests.others)

    def is_cell(self, writer: Writer) -> Expr:
        """Return the condition that a statement writes a cell in planes and iterations without tests."""
        return self.holds(self.cells[writer.statement.name])


def in_set(word: Expr, place: Expr | int) -> Expr:
    """Return the condition that a place is in the set."""
    shifted = word if known(place) == 0 else binary(">>", word, place)
    return binary("&", shifted, 1)


def _bit(place: Sequence[Expr], points: Sequence[int]) -> Expr:
    """Return the number of a cell's bit."""
    pairs = list(zip(place, points, strict=True))
    return reduce(lambda total, one: add(mul(total, one[1]), one[0]), pairs[1:], pairs[0][0])
