"""What the forms of stream kernels share: where values are in memory, who makes them, and where no test is needed.

One of a plan's kernels reads the user's arrays and writes their second buffers, the other reads those and writes the
user's. Where there is no time loop, the one kernel has no inputs and writes the user's arrays. A cell that no statement
writes is the user's in all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum, auto

from polytile.codegen.lowering.time_tiles.cell_conditions import AffineForm, Range, conjunction
from polytile.codegen.lowering.time_tiles.written_cells import TIME, Bounds, Cells, Writer, cell_name, extents_of
from polytile.dataclass import dataclass
from polytile.ir.arith import add, both, compare, either, lift
from polytile.ir.expr import BOOL, Access, CType, Expr, Literal, Name, Unary
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep, StreamStore
from polytile.ir.scop import Scop
from polytile.ir.substitute import with_values

AHEAD = 1  # planes that inputs are loaded before they arrive
PREFETCHED = 2  # planes before that, in which L2 fetches them: 4 or 8 took up to 10% longer on an H100


class Tested(Enum):
    """What is tested of the cells of a plane: all, but for the plane itself, or nothing."""

    ALL = auto()
    SIDES = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Stream:
    """One kernel of a plan; `to_shadows`: the first of the two. `time` is its first iteration, `last` whether no block
    follows (None: none ever does). Each tile owns `chunk` planes (None: all)."""

    scop: Scop
    plan: OverlappedTiles
    cells: Cells
    to_shadows: bool
    time: Expr
    last: Name | None
    chunk: Expr | None = None

    @property
    def integer(self) -> CType:
        return self.cells.integer

    @property
    def from_homes(self) -> bool:
        """Return whether inputs are read from the user's arrays."""
        return self.to_shadows or self.plan.in_place or self.plan.exchange.is_one_step

    @property
    def final_lag(self) -> int:
        """Return how far the last plane that is stored lags the inputs."""
        return max(self.plan.steps[store.step].lag for store in self.plan.stores)

    @property
    def nowhere(self) -> tuple[Expr, ...]:
        return (lift(0),) * self.plan.dims

    def element(self, step: StreamStep) -> CType:
        return self.scop.array(step.array).element

    def writers(self, step: StreamStep) -> tuple[Writer, ...]:
        """Return the writers of a step's values; of an input, those in an earlier iteration."""
        if step.is_input:
            return self.cells.of_array(step.array)
        return tuple(self.cells.writers[name] for name in step.statements)

    def main(self, step: StreamStep) -> Writer | None:
        """Return the writer of all cells but those at sides, if there is one."""
        found = [w for w in self.writers(step) if not w.equalities]
        return found[0] if len(found) == 1 else None

    def always_tested(self, step: StreamStep) -> bool:
        """Return whether tiles that are away from all sides still have cells that other writers make, or none."""
        main = self.main(step)
        return main is None or main.others is not None

    def is_kept(self, step: StreamStep) -> bool:
        """Return whether somebody may read cells of a step that no statement writes."""
        return self.scop.array(step.array).live_in

    def tested(self, step: StreamStep, tested: Tested) -> Tested:
        """Return what is tested of a step's cells where `tested` is enough for those away from sides."""
        return Tested.ALL if self.always_tested(step) else tested

    # Places ------------------------------------------------------------------------------------------
    def place(self, step: StreamStep, cell: tuple[Expr, ...]) -> Mapping[str, Expr]:
        """Return the values of the names of time and cell."""
        time = add(self.time, step.iteration)
        return {TIME: time, **{cell_name(k): value for k, value in enumerate(cell)}}

    def home(self, step: StreamStep, cell: tuple[Expr, ...]) -> Access:
        """Return the element of the user's array."""
        writer = self.main(step) or self.writers(step)[0]
        at = self.place(step, cell)
        return Access(step.array, tuple(with_values(s, at) for s in writer.element), self.element(step))

    def same_elements(self, before: StreamStep, step: StreamStep) -> bool:
        """Return whether a cell is the same element in two steps."""
        later = step.iteration - before.iteration
        return before.array == step.array and all(later in w.returns for w in self.writers(step))

    def shadow(self, step: StreamStep, cell: tuple[Expr, ...]) -> Access:
        return Access(self.plan.shadow(step.index), cell, self.element(step))

    def source(self, step: StreamStep, cell: tuple[Expr, ...]) -> Access:
        """Return where an input is loaded from, if some statement made it, or none ever does."""
        if not self.cells.of_array(step.array):
            return Access(step.array, cell, self.element(step))
        return self.home(step, cell) if self.from_homes else self.shadow(step, cell)

    def target(self, store: StreamStore, cell: tuple[Expr, ...]) -> Access:
        """Return where the values of a step go."""
        if self.to_shadows and store.becomes is not None:
            return self.shadow(self.plan.steps[store.becomes], cell)
        return self.home(self.plan.steps[store.step], cell)

    @property
    def stores(self) -> tuple[StreamStore, ...]:
        """Return the stores that this kernel does: what becomes no input goes to the user's arrays alone."""
        return tuple(s for s in self.plan.stores if s.becomes is not None or not self.to_shadows)

    # Conditions --------------------------------------------------------------------------------------
    def bounds(self, step: StreamStep) -> tuple[Bounds, ...]:
        """Return the bounds of the cells whose elements of the user's array are in memory."""
        if step.array not in self.cells.memory:
            return extents_of(self.scop, self.scop.array(step.array), self.integer)
        return self.cells.memory[step.array][-self.plan.dims :]

    def has_plane(self, step: StreamStep, plane: Expr | None) -> Expr:
        """Return the condition that a plane of the user's array is in memory."""
        if plane is None:
            return both()
        first, last = self.bounds(step)[0]
        return both(compare(">=", plane, first), compare("<=", plane, last))

    def has_stored(self, step: StreamStep, plane: Expr) -> Expr:
        """Return the condition that a plane is in the second buffer.

        Tiles own planes in which some statement writes.
        """
        first, last = self.cells.range[0]
        there = both(compare(">=", plane, first), compare("<=", plane, last))
        return both(there, self.has_plane(step, plane)) if self.has_several_extents else there

    @property
    def has_several_extents(self) -> bool:
        """Return whether arrays may have other planes, rows or columns than others."""
        return len({self.bounds(step) for step in self.plan.steps}) > 1

    def conditions(self, writer: Writer, at: Mapping[str, Expr]) -> Iterator[tuple[AffineForm | None, Expr]]:
        """Yield the tests of whether a writer writes a cell, with the forms that they test, if they are that simple."""
        for bound in writer.bounds:
            yield bound, bound.condition(self.pivot(bound), at, self.integer)
        if writer.others is not None:
            others = with_values(writer.others, at)
            yield None, others

    def pivot(self, bound: AffineForm) -> str:
        """Return the fastest dimension that a bound is of, or the time."""
        names = [cell_name(k) for k in reversed(range(self.plan.dims)) if bound.factor(cell_name(k))]
        return names[0] if names else TIME

    # Tiles away from all sides -----------------------------------------------------------------------
    def inside(self, tile: Mapping[str, Range]) -> Inside:
        """Return where no cell of a tile needs a test, by the ranges of its cells along unstreamed dimensions."""
        found = Inside([], [], [], [], [])
        for writer, (least, most), times in self._uses():
            first, last = (add(self.time, k) for k in times)
            ranges = {**tile, TIME: (first, last)}
            for bound in writer.bounds:
                factor = bound.factor(cell_name(0)) if self.plan.streamed else 0
                if not factor:
                    among = found.sides if self.is_along(bound, tile) else found.tile
                    among.append(compare(">=", bound.least(ranges, self.integer), 0))
                elif factor > 0:
                    found.low.append(add(bound.limit(cell_name(0), ranges, self.integer), most))
                else:
                    found.high.append(add(bound.limit(cell_name(0), ranges, self.integer), least + 1))
        for step in (s for s in self.plan.steps if s.is_input or self.is_kept(s)):
            self._in_memory(step, tile, found)
        parts = found.sides, found.tile, found.memory, found.low, found.high
        return Inside(*(list(dict.fromkeys(part)) for part in parts))

    def is_along(self, bound: AffineForm, tile: Collection[str]) -> bool:
        """Return whether a bound is of one of these dimensions, in all planes and iterations."""
        places = bound.names & {TIME, *(cell_name(k) for k in range(self.plan.dims))}
        return len(places) == 1 and places <= set(tile)

    def _uses(self) -> Iterator[tuple[Writer, tuple[int, int], tuple[int, int]]]:
        """Yield each writer with the least and most lag, and first and last iteration, at which its cells are made."""
        with_inputs = not self.from_homes and not self.plan.streamed
        steps = self.plan.steps if with_inputs else self.plan.made
        for name, writer in self.cells.writers.items():
            own = [s for s in steps if (main := self.main(s)) is not None and main.statement.name == name]
            if own:
                lags = [s.lag - AHEAD if s.is_input else s.lag for s in own]
                iterations = [s.iteration for s in own]
                yield writer, (min(lags), max(lags)), (min(iterations), max(iterations))

    def _in_memory(self, step: StreamStep, tile: Mapping[str, Range], found: Inside) -> None:
        """Add the conditions that what is loaded of a step is in memory.

        That is inputs, of which second buffers have the planes that are written; and cells that no statement writes, a
        plane early.
        """
        for k, (first, last) in enumerate(self.bounds(step)):
            if cell_name(k) in tile:
                low, high = tile[cell_name(k)]
                found.memory.extend([compare(">=", low, first), compare("<=", high, last)])
            else:
                stored = self.cells.range[:1] if step.is_input and not self.from_homes else ()
                for low, high in ((first, last), *stored) if self.has_several_extents else stored or ((first, last),):
                    found.low.append(add(low, step.lag - AHEAD))
                    found.high.append(add(high, step.lag + 1 - AHEAD))


@dataclass(frozen=True, slots=True)
class Inside:
    """The tests of a whole tile: along one dimension for what statements write, of other kinds, for what is loaded; and
    the first planes (and behind the last ones) of the inputs for which no cell needs one."""

    sides: list[Expr]
    tile: list[Expr]
    memory: list[Expr]
    low: list[Expr]
    high: list[Expr]

    @property
    def in_memory(self) -> Expr:
        return conjunction(self.memory) or Literal("1", BOOL)


def negated(condition: Expr) -> Expr:
    return Unary("!", condition, BOOL)


def some(conditions: list[Expr]) -> Expr:
    return either(*conditions) if conditions else lift(0)
