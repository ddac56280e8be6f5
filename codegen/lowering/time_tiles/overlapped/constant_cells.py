"""Cells that no statement makes, such as boundaries: they keep what their elements of the user's arrays have.

before: A[(t + 1) % 2][0][j] is never written, so that every second iteration sees the one value, the others the other
after:  step 1 has it from memory, loaded a plane early; step 2 reads it two iterations before, in the ring of step 0;
        step 3 in the ring of step 1, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.time_tiles.overlapped.loads_and_stores import Transfers
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream, Tested, negated
from polytile.ir.arith import add, both, mul, sub
from polytile.ir.expr import Access, Assign, Expr, If, Stmt
from polytile.ir.gpu_ops import Advance, Load, Pointer, PrivateArray
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import StreamStep


class ConstantCells(Transfers):
    """Where each step has the values of such cells; only tiles at sides of space have some."""

    def __init__(self, stream: Stream, names: Names) -> None:
        super().__init__(stream, names)
        self.loaded = [s for s in self.plan.made if stream.is_kept(s) and self._same_before(s) is None]
        sides = [s for s in self.loaded if self.has_sides and not stream.always_tested(s)]
        early = sides if self.has_sides else self.loaded if self.plan.streamed and self.is_roomy else ()
        self.early = {s.index: names.fresh(f"early{s.index}") for s in early if not s.retimed}
        self.early_in = Tested.SIDES if self.has_sides else Tested.ALL
        self.user = names.fresh("user")
        self.homes = dict(self._homes(sides))

    def _homes(self, sides: Sequence[StreamStep]) -> Iterator[tuple[int, tuple[str, StreamStep]]]:
        """Yield the pointer to the elements of a step's cells in the user's array, and the step that it follows.

        It moves with the planes of that step.
        """
        found: dict[int, tuple[str, StreamStep]] = {}
        for step in (*(self.plan.inputs if self.stream.from_homes else ()), *sides):
            same = (found[k] for k in found if self.stream.same_elements(self.plan.steps[k], step))
            own = self.sources[step.index] if step.is_input else None
            found[step.index] = next(same, None) or (own or self.supply.fresh(f"home{step.index}"), step)
        yield from found.items()

    @property
    def has_sides(self) -> bool:
        """Return whether tiles at sides have a loop of their own for planes that need no tests.

        They have it where there are registers for it.
        """
        return False

    @property
    def is_roomy(self) -> bool:
        """Return whether registers suffice for addresses of later planes and what cells at sides need."""
        return True

    def _same_before(self, step: StreamStep) -> Access | None:
        """Return the same element in the planes of an earlier step, or None where it is no longer there."""
        for before in reversed(self.plan.steps[: step.index]) if self.is_roomy else ():
            ring, late = self.rings[before.index], step.lag - before.lag
            arrived = before.lower[0] <= step.lower[0] or not self.plan.streamed  # the plane, since the stream began
            if arrived and self.stream.same_elements(before, step) and 0 <= late < ring.slots:
                return ring.at(late, self.v)
        return None

    def kept(self, step: StreamStep, tested: Tested) -> Stmt:
        """Return the load of a cell that no statement writes.

        Its value is what its element had before, in registers, or in the user's array.
        """
        target, row = self.rings[step.index].at(0, self.v), self.made_row(step)
        if tested is self.early_in and step.index in self.early:
            return Assign(target, "", self._early(step))
        before = self._same_before(step)
        if before is not None:
            return Assign(target, "", before)
        if tested is Tested.SIDES:
            return Load((target,), self.at_home(step, -1))
        return Load((target,), self._user(step), guard=self._is_there(step, row))

    def kept_pointer(self, step: StreamStep) -> Iterator[Stmt]:
        """Declare the pointer that `kept` reads from in planes with tests.

        64-bit addresses of single cells take registers.
        """
        row, is_early = self.made_row(step), step.index in self.early and self.early_in is Tested.ALL
        if row is not None and self.stream.is_kept(step) and not is_early and self._same_before(step) is None:
            yield Pointer(self.user, self.stream.home(step, self.cell(row, own=False)), const=True)

    def _user(self, step: StreamStep) -> Access:
        row = self.made_row(step)
        return self.stream.home(step, self.cell(row)) if row is None else self.pointed(self.user, step)

    def _is_there(self, step: StreamStep, row: Expr | None) -> Expr:
        return both(self.stream.has_plane(step, row), self.holds(self.memory_of(step)))

    # Loaded a plane early -----------------------------------------------------------------------------
    def at_home(self, step: StreamStep, later: int, cell: Sequence[Expr] | None = None) -> Access:
        pointer, first = self.homes[step.index]
        access = self.pointed(pointer, step, cell)
        planes = mul(self.pitch(step, 0), first.lag - step.lag + later)
        return Access(pointer, (add(planes, *access.subscripts),), access.type)

    def first_kept(self, start: Expr) -> Iterator[Stmt]:
        """Declare pointers to cells that no statement writes, and load those of the first plane that arrives.

        Earlier steps do not have these cells.
        """
        for pointer, step in self._own_pointers():
            yield Pointer(pointer, self.stream.home(step, self.cell(sub(start, step.lag), own=False)), const=True)
        for index, name in self.early.items():
            step = self.plan.steps[index]
            yield PrivateArray(name, self.stream.element(step), self.points)
            yield self._load(step, start)

    def next_home(self) -> Iterator[Stmt]:
        """Advance the pointers to the user's arrays to the next plane."""
        for pointer, step in self._own_pointers():
            yield Advance(pointer, self.pitch(step, 0))

    def _own_pointers(self) -> Iterator[tuple[str, StreamStep]]:
        return (home for home in dict.fromkeys(self.homes.values()) if home[0] not in self.sources.values())

    def load_kept(self, step: StreamStep, tested: Tested) -> Iterator[Stmt]:
        """Load the elements of cells that no statement writes in the plane that is made next."""
        if step.index in self.early and self.stream.tested(step, tested) is self.early_in:
            yield self._load(step, add(self.row, 1))

    def _load(self, step: StreamStep, arrival: Expr) -> Stmt:
        """Load the cells of the plane that is made when this one of the inputs arrives."""
        if self.has_sides:
            load = Load((self._early(step),), self.at_home(step, 0))
            return self.each(If(negated(self.holds(self.written(step))), (load,)))
        row = sub(arrival, step.lag)
        guard = both(self._is_there(step, row), negated(self.is_made(step, row)))
        return self.each(Load((self._early(step),), self.stream.home(step, self.cell(row)), guard=guard))

    def _early(self, step: StreamStep) -> Access:
        return Access(self.early[step.index], self.v, self.stream.element(step))

    def from_home(self) -> Iterator[StreamStep]:
        late = [s for s in self.loaded if s.index in self.homes and s.index not in self.early]  # their planes take long
        found = late if self.has_sides else self.loaded
        for k, step in enumerate(found):
            if not any(self.stream.same_elements(before, step) for before in found[:k]):
                yield step
