"""Where values of steps are in a thread's registers: rings of planes, the latest first, with cells of neighbours.

before: the step after reads columns -1 .. 1 of the plane before the latest, and the latest and the one before that
after:  double x3[3][1 + V + 1]: V columns of the lane's own in each plane, and room for one of a neighbour on either
        side, which is there for the second plane alone
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, known, lift
from polytile.ir.expr import INT, Access, Assign, Binary, Cast, CType, Expr, For, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import PrivateArray, Shuffle
from polytile.machine import REGISTER_BYTES


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

    @staticmethod
    def of(name: str, element: CType, points: tuple[int, ...], reads: Iterable[tuple[Sequence[int], int]]) -> Ring:
        """Return the ring of what is read at so many offsets along each dimension, and planes after it came."""
        slots, before, behind = 1, [Side()] * len(points), [Side()] * len(points)
        for offsets, age in reads:
            slots = max(slots, age + 1)
            for k, offset in enumerate(offsets):
                before[k], behind[k] = before[k].with_read(-offset, age), behind[k].with_read(offset, age)
        return Ring(name, element, slots, points, tuple(before), tuple(behind))

    @property
    def extents(self) -> tuple[int, ...]:
        sides = zip(self.before, self.points, self.behind, strict=True)
        return (self.slots, *(before.cells + points + behind.cells for before, points, behind in sides))

    def declared(self) -> Stmt:
        return PrivateArray(self.name, self.element, self.extents, Literal("0"))

    def at(self, age: int, cell: Sequence[Expr | int]) -> Access:
        """Return a cell, counted from the first that is the thread's own."""
        place = (_behind(c, before.cells) for c, before in zip(cell, self.before, strict=True))
        return Access(self.name, (lift(age), *place), self.element)

    def ageing(self, cell: Sequence[Expr]) -> Iterator[Stmt]:
        """Move each plane on, before the next one comes."""
        for k in range(self.slots - 1, 0, -1):
            yield Assign(self.at(k, cell), "", self.at(k - 1, cell))


def column_of_lane(ring: Ring, age: int, column: int, rows: Sequence[Expr | int] = ()) -> Stmt:
    """Shuffle a column of another lane, counted from the thread's first, in a row of the thread's."""
    lanes, own = divmod(column, ring.points[-1])
    value: Expr = ring.at(age, (*rows, own))
    if value.type.size < REGISTER_BYTES:
        value = Cast(INT, value)
    return Assign(ring.at(age, (*rows, column)), "", Shuffle("up" if lanes < 0 else "down", value, lift(abs(lanes))))


def each(points: Sequence[int], cell: Sequence[Name], *body: Stmt, step: int = 1) -> Stmt:
    """Loop over the cells of a thread, unrolled; over every so many along the last dimension."""
    for name, count in zip(reversed(cell), reversed(points), strict=True):
        body = _repeated(range(0, count, step), name, body, always=len(points) == 1)
        step = 1
    return _together(body)


def over(values: range, name: Name, *body: Stmt) -> Stmt:
    """Generate a loop that is unrolled."""
    return _together(_repeated(values, name, body))


def _repeated(values: range, name: Name, body: tuple[Stmt, ...], *, always: bool = False) -> tuple[Stmt, ...]:
    """Repeat a body for each of the values.

    No loop is generated where there is one value, the name is but a place in rings, and a loop is not `always` wanted.
    Else compilers would arrange address arithmetic and conditions in other ways, and the instructions of strips.

    before: for (int u = 2; u < 3; ++u) x0[u + 1] = 0;
    after:  x0[3] = 0;
    """
    if len(values) == 1 and not always and _is_place(name, body):
        return tuple(_with_place(stmt, name, values.start) for stmt in body)
    first, end = lift(values.start), compare("<", name, values.stop)
    return (For(name.name, first, end, values.step, body, name.type, unroll=0),)


def _is_place(name: Name, body: tuple[Stmt, ...]) -> bool:
    """Return whether a name occurs as a subscript alone, and in such as are it and a constant."""
    subscripts = (s for node in walk(*body) if isinstance(node, Access) for s in node.subscripts)
    places = sum(_constant_behind(s, name) is not None for s in subscripts)
    return places == sum(isinstance(node, Name) and node.name == name.name for node in walk(*body))


def _constant_behind(subscript: Expr, name: Name) -> int | None:
    match subscript:
        case Name(name=own) if own == name.name:
            return 0
        case Binary(op="+" | "-" as op, left=Name(name=own), right=right) if own == name.name:
            constant = known(right)
            return -constant if constant is not None and op == "-" else constant
    return None


def _with_place(stmt: Stmt, name: Name, value: int) -> Stmt:
    def change(node: Any) -> Any:
        if not isinstance(node, Access):
            return node
        behind = [_constant_behind(s, name) for s in node.subscripts]
        moved = (s if k is None else lift(value + k) for s, k in zip(node.subscripts, behind, strict=True))
        return replace(node, subscripts=tuple(moved)) if any(k is not None for k in behind) else node

    result: Stmt = rewrite(stmt, change)
    return result


def _together(body: tuple[Stmt, ...]) -> Stmt:
    return body[0] if len(body) == 1 else Scope(body)


def _behind(place: Expr | int, cells: int) -> Expr:
    """Add a number of cells to a place: `u + 1` for `u - 1` and two cells, not `u - 1 + 2`."""
    match place:
        case Binary(op="+" | "-" as op, left=left, right=right) if (constant := known(right)) is not None:
            return add(left, cells + (constant if op == "+" else -constant))
    return add(place, cells)


def runs(values: Sequence[int]) -> Iterator[range]:
    """Split increasing numbers into ranges: one range, if they are that, else ranges of neighbours."""
    steps = {b - a for a, b in pairwise(values)}
    if len(steps) <= 1 and values:
        yield range(values[0], values[-1] + 1, *steps)
        return
    start = 0
    for k in range(1, len(values) + 1):
        if k == len(values) or values[k] > values[k - 1] + 1:
            yield range(values[start], values[k - 1] + 1)
            start = k
