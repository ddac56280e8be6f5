"""Where values of steps are in a warp's registers: rings of planes, with columns of neighbouring lanes where asked for.

before: the step after reads columns -1 .. 1 of the plane before the latest, and the latest and the one before that
after:  double x3[3][1 + V + 1]: the latest plane first, each with V columns of the lane's own, and room for one of a
        neighbour on either side, which is there for the second plane alone
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift
from polytile.ir.expr import Access, Assign, CType, Expr, For, Literal, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray, Shuffle
from polytile.ir.kernel import ceil_div
from polytile.ir.stream_plan import StreamPlan, StreamRead, StreamStep


def age(plan: StreamPlan, read: StreamRead) -> int:
    """How many planes of the source came after the one that is read."""
    reader, source = plan.steps[read.step], plan.steps[read.source]
    along = read.offset[0] if plan.streamed else 0
    found = reader.lag - source.lag - along
    if found < 0 or (found == 0 and read.source >= read.step):
        raise InternalError(f"step {read.step} reads planes of step {read.source} that are not there yet")
    return found


@dataclass(frozen=True, slots=True)
class Side:
    """Columns of neighbours on one side: how many, and in which planes."""

    columns: int = 0
    first: int = 0
    last: int = 0

    def with_read(self, columns: int, age: int) -> Side:
        if columns <= 0:
            return self
        first = min(self.first, age) if self.columns else age
        return Side(max(self.columns, columns), first, max(self.last, age))


@dataclass(frozen=True, slots=True)
class Ring:
    """The planes of a step that a lane holds: `slots`, the latest first, of `columns` cells and what is beside them."""

    step: StreamStep
    name: str
    element: CType
    slots: int
    columns: int
    left: Side
    right: Side

    @property
    def width(self) -> int:
        return self.left.columns + self.columns + self.right.columns

    def declared(self) -> Stmt:
        return PrivateArray(self.name, self.element, (self.slots, self.width), Literal("0"))

    def at(self, age: int, column: Expr | int) -> Access:
        """A column, counted from the first that is the lane's own."""
        return Access(self.name, (lift(age), add(column, self.left.columns)), self.element)

    def fetches(self, age: int) -> Iterator[Stmt]:
        """The columns of other lanes in a plane, if this is when they come."""
        if self.left.columns and age == self.left.first:
            for d in range(1, self.left.columns + 1):
                value = Shuffle("up", self.at(age, -d % self.columns), lift(ceil_div(d, self.columns)))
                yield Assign(self.at(age, -d), "", value)
        if self.right.columns and age == self.right.first:
            for d in range(1, self.right.columns + 1):
                value = Shuffle("down", self.at(age, (d - 1) % self.columns), lift(ceil_div(d, self.columns)))
                yield Assign(self.at(age, self.columns - 1 + d), "", value)

    def ageing(self, v: Name) -> Iterator[Stmt]:
        """Each plane moves on, before the next one comes."""
        for k in range(self.slots - 1, 0, -1):
            yield Assign(self.at(k, v), "", self.at(k - 1, v))

    def ageing_sides(self) -> Iterator[Stmt]:
        for side, columns in (self.left, range(-self.left.columns, 0)), (self.right, self._beyond()):
            for k in range(side.last, side.first, -1):
                yield from (Assign(self.at(k, c), "", self.at(k - 1, c)) for c in columns)

    def _beyond(self) -> range:
        return range(self.columns, self.columns + self.right.columns)


def rings(plan: StreamPlan, columns: int, elements: tuple[CType, ...], names: tuple[str, ...]) -> tuple[Ring, ...]:
    """The ring of each step."""
    found = []
    for step in plan.steps:
        slots, left, right = 1, Side(), Side()
        for read in (r for r in plan.reads if r.source == step.index):
            slots = max(slots, age(plan, read) + 1)
            left = left.with_read(-read.offset[-1], age(plan, read))
            right = right.with_read(read.offset[-1], age(plan, read))
        if slots > step.slots:
            raise InternalError(f"step {step.index} keeps {step.slots} planes, and {slots} are read")
        found.append(Ring(step, names[step.index], elements[step.index], slots, columns, left, right))
    return tuple(found)


def each(v: Name, count: int, *body: Stmt) -> For:
    """A loop over the cells of a thread, which is unrolled."""
    return For(v.name, lift(0), compare("<", v, count), 1, body, unroll=0)
