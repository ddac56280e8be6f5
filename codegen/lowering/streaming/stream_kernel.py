"""What the forms of stream kernels share: where values are in memory, who makes them, and where no test is needed.

One of a plan's kernels reads the user's arrays and writes their second buffers, the other reads those and writes the
user's. Where there is no time loop, the one kernel has no inputs and writes the user's arrays. A cell that no statement
writes is the user's in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polytile.codegen.lowering.streaming.cell_conditions import AffineForm, Range, conjunction
from polytile.codegen.lowering.streaming.written_cells import TIME, Bounds, Cells, Writer, cell_name
from polytile.ir.arith import add, both, compare, either, lift
from polytile.ir.expr import BOOL, Access, CType, Expr, Literal, Name, Unary
from polytile.ir.scop import Scop
from polytile.ir.stream_plan import StreamPlan, StreamStep, StreamStore
from polytile.ir.substitute import with_values

AHEAD = 1  # planes that inputs are loaded before they arrive
PREFETCHED = 2  # planes before that, in which L2 fetches them: 4 or 8 took up to 10% longer on an H100


@dataclass(frozen=True, slots=True)
class Stream:
    """One kernel of a plan; `to_shadows`: the first of the two. `time` is its first iteration, `last` whether no block
    follows (None: none ever does). Each tile owns `chunk` planes (None: all)."""

    scop: Scop
    plan: StreamPlan
    cells: Cells
    to_shadows: bool
    time: Expr
    last: Name | None
    chunk: Expr | None = None

    @property
    def integer(self) -> CType:
        return self.cells.integer

    @property
    def final_lag(self) -> int:
        """How far the last plane that is stored is behind the inputs."""
        return max(self.plan.steps[store.step].lag for store in self.plan.stores)

    @property
    def nowhere(self) -> tuple[Expr, ...]:
        return (lift(0),) * self.plan.dims

    def element(self, step: StreamStep) -> CType:
        return self.scop.array(step.array).element

    def writers(self, step: StreamStep) -> tuple[Writer, ...]:
        """Those who make a step's values; of an input, those who did in an iteration before."""
        if step.is_input:
            return self.cells.of_array(step.array)
        return tuple(self.cells.writers[name] for name in step.statements)

    def main(self, step: StreamStep) -> Writer | None:
        """The writer of all cells but those at sides, if there is one."""
        found = [w for w in self.writers(step) if not w.equalities]
        return found[0] if len(found) == 1 else None

    def always_tested(self, step: StreamStep) -> bool:
        """Whether tiles that are away from all sides still have cells that other writers make, or none."""
        main = self.main(step)
        return main is None or main.others is not None

    # Places ------------------------------------------------------------------------------------------
    def place(self, step: StreamStep, cell: tuple[Expr, ...]) -> Mapping[str, Expr]:
        """What names of time and cell stand for."""
        time = add(self.time, step.iteration)
        return {TIME: time, **{cell_name(k): value for k, value in enumerate(cell)}}

    def home(self, step: StreamStep, cell: tuple[Expr, ...]) -> Access:
        """The element of the user's array."""
        writer = self.main(step) or self.writers(step)[0]
        at = self.place(step, cell)
        return Access(step.array, tuple(with_values(s, at) for s in writer.element), self.element(step))

    def same_elements(self, before: StreamStep, step: StreamStep) -> bool:
        """Whether a cell is the same element in two steps."""
        later = step.iteration - before.iteration
        return before.array == step.array and all(later in w.returns for w in self.writers(step))

    def shadow(self, step: StreamStep, cell: tuple[Expr, ...]) -> Access:
        return Access(self.plan.shadow(step.index), cell, self.element(step))

    def source(self, step: StreamStep, cell: tuple[Expr, ...]) -> Access:
        """Where an input is loaded from, if some statement made it."""
        return self.home(step, cell) if self.to_shadows else self.shadow(step, cell)

    def target(self, store: StreamStore, cell: tuple[Expr, ...]) -> Access:
        """Where the values of a step go."""
        if self.to_shadows and store.becomes is not None:
            return self.shadow(self.plan.steps[store.becomes], cell)
        return self.home(self.plan.steps[store.step], cell)

    @property
    def stores(self) -> tuple[StreamStore, ...]:
        """Those that this kernel does: what becomes no input goes to the user's arrays alone."""
        return tuple(s for s in self.plan.stores if s.becomes is not None or not self.to_shadows)

    # Conditions --------------------------------------------------------------------------------------
    def bounds(self, step: StreamStep) -> tuple[Bounds, ...]:
        """The cells whose elements of the user's array are in memory."""
        return self.cells.memory[step.array][-self.plan.dims :]

    def exists(self, step: StreamStep, cell: tuple[Expr, ...]) -> Expr:
        tests = (
            compare(op, index, side)
            for index, sides in zip(cell, self.bounds(step), strict=True)
            for op, side in zip((">=", "<="), sides, strict=True)
        )
        return both(*tests)

    def conditions(self, writer: Writer, at: Mapping[str, Expr]) -> Iterator[tuple[AffineForm | None, Expr]]:
        """The tests of whether it writes a cell, with what they are of, if they are that simple."""
        for bound in writer.bounds:
            yield bound, bound.condition(self.pivot(bound), at, self.integer)
        if writer.others is not None:
            others = with_values(writer.others, at)
            yield None, others

    def pivot(self, bound: AffineForm) -> str:
        """The fastest dimension that a bound is of, or the time."""
        names = [cell_name(k) for k in reversed(range(self.plan.dims)) if bound.factor(cell_name(k))]
        return names[0] if names else TIME

    # Tiles away from all sides -----------------------------------------------------------------------
    def inside(self, tile: Mapping[str, Range]) -> Inside:
        """Where no cell of a tile needs a test, by the ranges of its cells along the dimensions that do not stream."""
        found = Inside([], [], [])
        for writer, (least, most), times in self._uses():
            first, last = (add(self.time, k) for k in times)
            ranges = {**tile, TIME: (first, last)}
            for bound in writer.bounds:
                factor = bound.factor(cell_name(0)) if self.plan.streamed else 0
                if not factor:
                    found.tile.append(compare(">=", bound.least(ranges, self.integer), 0))
                elif factor > 0:
                    found.low.append(add(bound.limit(cell_name(0), ranges, self.integer), most))
                else:
                    found.high.append(add(bound.limit(cell_name(0), ranges, self.integer), least + 1))
        for step in self.plan.inputs:
            self._loads(step, tile, found)
        return Inside(*(list(dict.fromkeys(part)) for part in (found.tile, found.low, found.high)))

    def _uses(self) -> Iterator[tuple[Writer, tuple[int, int], tuple[int, int]]]:
        """Each writer with the least and most lag, and the first and last iteration, at which its cells are made."""
        steps = self.plan.made if self.to_shadows else self.plan.steps
        for name, writer in self.cells.writers.items():
            own = [s for s in steps if (main := self.main(s)) is not None and main.statement.name == name]
            if own:
                lags = [s.lag - AHEAD if s.is_input else s.lag for s in own]
                iterations = [s.iteration for s in own]
                yield writer, (min(lags), max(lags)), (min(iterations), max(iterations))

    def _loads(self, step: StreamStep, tile: Mapping[str, Range], found: Inside) -> None:
        for k, (first, last) in enumerate(self.bounds(step)):
            if cell_name(k) in tile:
                low, high = tile[cell_name(k)]
                found.tile.extend([compare(">=", low, first), compare("<=", high, last)])
            else:
                found.low.append(add(first, step.lag - AHEAD))
                found.high.append(add(last, step.lag + 1 - AHEAD))


@dataclass(frozen=True, slots=True)
class Inside:
    """The tests of a whole tile, and the first planes (and behind the last ones) of the inputs for which no cell needs
    one."""

    tile: list[Expr]
    low: list[Expr]
    high: list[Expr]

    @property
    def holds(self) -> Expr:
        return conjunction(self.tile) or Literal("1", BOOL)


def negated(condition: Expr) -> Expr:
    return Unary("!", condition, BOOL)


def some(conditions: list[Expr]) -> Expr:
    return either(*conditions) if conditions else lift(0)
