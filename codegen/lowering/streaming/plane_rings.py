"""Where values of steps are in a thread's registers: rings of planes, the latest first, with cells of neighbours.

before: the step after reads columns -1 .. 1 of the plane before the latest, and the latest and the one before that
after:  double x3[3][1 + V + 1]: V columns of the lane's own in each plane, and room for one of a neighbour on either
        side, which is there for the second plane alone
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift
from polytile.ir.expr import Access, Assign, CType, Expr, For, Literal, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray
from polytile.ir.stream_plan import StreamPlan, StreamRead, StreamStep, planes_behind


def age(plan: StreamPlan, read: StreamRead) -> int:
    """How many planes of the source came after the one that is read."""
    found = planes_behind(plan.steps, read, plan.streamed)
    if found < 0 or (found == 0 and read.source >= read.step):
        raise InternalError(f"step {read.step} reads planes of step {read.source} that are not there yet")
    return found


@dataclass(frozen=True, slots=True)
class Side:
    """Cells of neighbours on one side: how many, and in which planes."""

    cells: int = 0
    first: int = 0
    last: int = 0

    def with_read(self, cells: int, age: int) -> Side:
        if cells <= 0:
            return self
        first = min(self.first, age) if self.cells else age
        return Side(max(self.cells, cells), first, max(self.last, age))


@dataclass(frozen=True, slots=True)
class Ring:
    """The planes of a step that a thread holds: `slots` of `points` cells, and what is beside them along dimension
    `beside` of these."""

    step: StreamStep
    name: str
    element: CType
    slots: int
    points: tuple[int, ...]
    beside: int
    before: Side
    behind: Side

    @property
    def extents(self) -> tuple[int, ...]:
        extents = list(self.points)
        extents[self.beside] += self.before.cells + self.behind.cells
        return (self.slots, *extents)

    def declared(self) -> Stmt:
        return PrivateArray(self.name, self.element, self.extents, Literal("0"))

    def at(self, age: int, cell: Sequence[Expr | int]) -> Access:
        """A cell, counted from the first that is the thread's own."""
        place = [lift(c) for c in cell]
        place[self.beside] = add(place[self.beside], self.before.cells)
        return Access(self.name, (lift(age), *place), self.element)

    def ageing(self, cell: Sequence[Expr]) -> Iterator[Stmt]:
        """Each plane moves on, before the next one comes."""
        for k in range(self.slots - 1, 0, -1):
            yield Assign(self.at(k, cell), "", self.at(k - 1, cell))


def rings(
    plan: StreamPlan, beside: int, near: Sequence[StreamRead], elements: Sequence[CType], names: Sequence[str]
) -> tuple[Ring, ...]:
    """The ring of each step, for reads from registers, of which those `near` are of neighbours along a dimension."""
    found = []
    for step in plan.steps:
        slots, before, behind = 1, Side(), Side()
        for read in (r for r in plan.reads if r.source == step.index):
            slots = max(slots, age(plan, read) + 1)
            if read in near:
                offset = read.offset[plan.streamed + beside]
                before = before.with_read(-offset, age(plan, read))
                behind = behind.with_read(offset, age(plan, read))
        if slots > step.slots:
            raise InternalError(f"step {step.index} keeps {step.slots} planes, and {slots} are read")
        ring = Ring(step, names[step.index], elements[step.index], slots, plan.points, beside, before, behind)
        found.append(ring)
    return tuple(found)


def each(points: Sequence[int], cell: Sequence[Name], *body: Stmt, step: int = 1) -> Stmt:
    """Loops over the cells of a thread, which are unrolled; over every so many along the last dimension."""
    for name, count in zip(reversed(cell), reversed(points), strict=True):
        body = (For(name.name, lift(0), compare("<", name, count), step, body, name.type, unroll=0),)
        step = 1
    return body[0]
