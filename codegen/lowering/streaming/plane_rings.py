"""Where values of steps are in a thread's registers: rings of planes, the latest first, with cells of neighbours.

before: the step after reads columns -1 .. 1 of the plane before the latest, and the latest and the one before that
after:  double x3[3][1 + V + 1]: V columns of the lane's own in each plane, and room for one of a neighbour on either
        side, which is there for the second plane alone
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift
from polytile.ir.expr import INT, Access, Assign, Cast, CType, Expr, For, Literal, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray, Shuffle
from polytile.ir.stream_plan import StreamPlan, StreamRead, planes_behind, read_when
from polytile.machine import REGISTER_BYTES


def age(plan: StreamPlan, read: StreamRead) -> int:
    """How many planes of the source came after the one that is read, when it is read."""
    found = read_when(plan.steps, read, plan.streamed, plan.exchange)
    if found < 0 or (found == 0 and read.source >= read.step):
        raise InternalError(f"step {read.step} reads planes of step {read.source} that are not there yet")
    return found


def late(plan: StreamPlan, read: StreamRead) -> int:
    """How many planes after that the step which reads it is complete, whose terms are summed up until then."""
    return planes_behind(plan.steps, read, plan.streamed) - age(plan, read)


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
    """The planes that a thread holds, of a step: `slots` of `points` cells, and along each dimension of these what is
    before and behind them."""

    name: str
    element: CType
    slots: int
    points: tuple[int, ...]
    before: tuple[Side, ...]
    behind: tuple[Side, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        sides = zip(self.before, self.points, self.behind, strict=True)
        return (self.slots, *(before.cells + points + behind.cells for before, points, behind in sides))

    def declared(self) -> Stmt:
        return PrivateArray(self.name, self.element, self.extents, Literal("0"))

    def at(self, age: int, cell: Sequence[Expr | int]) -> Access:
        """A cell, counted from the first that is the thread's own."""
        place = (add(c, before.cells) for c, before in zip(cell, self.before, strict=True))
        return Access(self.name, (lift(age), *place), self.element)

    def ageing(self, cell: Sequence[Expr]) -> Iterator[Stmt]:
        """Each plane moves on, before the next one comes."""
        for k in range(self.slots - 1, 0, -1):
            yield Assign(self.at(k, cell), "", self.at(k - 1, cell))


def rings(plan: StreamPlan, elements: Sequence[CType], names: Sequence[str]) -> tuple[Ring, ...]:
    """The ring of each step."""
    found = []
    for step in plan.steps:
        slots, before, behind = 1, [Side()] * len(plan.points), [Side()] * len(plan.points)
        for read in (r for r in plan.reads if r.source == step.index):
            slots = max(slots, age(plan, read) + 1)
            for k, offset in enumerate(read.offset[plan.streamed :]):
                before[k] = before[k].with_read(-offset, age(plan, read))
                behind[k] = behind[k].with_read(offset, age(plan, read))
        if slots > step.slots:
            raise InternalError(f"step {step.index} keeps {step.slots} planes, and {slots} are read")
        element = elements[step.index]
        found.append(Ring(names[step.index], element, slots, plan.points, tuple(before), tuple(behind)))
    return tuple(found)


def column_of_lane(ring: Ring, age: int, column: int, rows: Sequence[Expr | int] = ()) -> Stmt:
    """What gets a column of another lane, counted from the thread's first, in a row of the thread's."""
    lanes, own = divmod(column, ring.points[-1])
    value: Expr = ring.at(age, (*rows, own))
    if value.type.size < REGISTER_BYTES:
        value = Cast(INT, value)
    return Assign(ring.at(age, (*rows, column)), "", Shuffle("up" if lanes < 0 else "down", value, lift(abs(lanes))))


def each(points: Sequence[int], cell: Sequence[Name], *body: Stmt, step: int = 1) -> Stmt:
    """Loops over the cells of a thread, which are unrolled; over every so many along the last dimension."""
    for name, count in zip(reversed(cell), reversed(points), strict=True):
        body = (For(name.name, lift(0), compare("<", name, count), step, body, name.type, unroll=0),)
        step = 1
    return body[0]


def over(values: range, name: Name, *body: Stmt) -> Stmt:
    """A loop that is unrolled."""
    first, end = values.start, values[-1] + 1
    return For(name.name, lift(first), compare("<", name, end), values.step, body, name.type, unroll=0)


def runs(values: Sequence[int]) -> Iterator[range]:
    """Increasing numbers as one range, if they are that, else as ranges of neighbours."""
    steps = {b - a for a, b in pairwise(values)}
    if len(steps) <= 1 and values:
        yield range(values[0], values[-1] + 1, *steps)
        return
    start = 0
    for k in range(1, len(values) + 1):
        if k == len(values) or values[k] > values[k - 1] + 1:
            yield range(values[start], values[k - 1] + 1)
            start = k
