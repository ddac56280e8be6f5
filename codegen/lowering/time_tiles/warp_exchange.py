"""What warps of a tile show each other in shared memory: rows at their edges, or cells at their ends.

Warps below one another show rows (ir/edge_rows.py):

before: x0[1][4] = row 0 of the warp below
after:  edges0[slot][1 + 2 w][..] = x0[0][0]; barrier; x0[0][4] = edges0[slot][1 + 2 (w + 1)][..]

Warps beside one another, in one dimension, show cells:

before: a[-1] = shuffle_up(a[V - 1]);                   lane 0 has no neighbour in its warp
after:  if (lane == 31) ends[slot][1 + w][1] = a[V - 1]; barrier;
        a[-1] = shuffle_up(a[V - 1]);  if (lane <= 0) a[-1] = ends[slot][1 + (w - 1)][1];
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polytile.codegen.lowering.time_tiles.rings import Ring
from polytile.ir.arith import add, binary, both, compare, div, lift, mod, mul, zero
from polytile.ir.edge_rows import EdgeRows, columns_at_once
from polytile.ir.expr import Access, Assign, Expr, For, If, Name, Stmt
from polytile.ir.gpu_ops import Load, Store
from polytile.ir.memory import Space, Storage
from polytile.machine import WARP_SIZE


class Edges:
    """The rows of a step that warps show each other, in `slots` planes of shared memory.

    A row is in parts of a few columns of each lane, side by side: lanes that read or write them together meet no bank
    twice.
    """

    def __init__(self, ring: Ring, name: str, rows: EdgeRows, slots: int, warp: Name, lane: Name) -> None:
        self.ring, self.name, self.rows, self.slots, self.warp, self.lane = ring, name, rows, slots, warp, lane
        self.width = columns_at_once(ring.points[-1], ring.element.size)
        self.parts = ring.points[-1] // self.width

    @property
    def extents(self) -> tuple[int, ...]:
        return self.slots, self.rows.height, self.parts, WARP_SIZE * self.width

    def storage(self) -> Storage:
        extents = tuple(lift(n) for n in self.extents)
        return Storage(self.name, Space.SHARED, self.ring.element, extents, self.name)

    def zeros(self, slot: Name, cell: Sequence[Name]) -> Stmt:
        """Set rows of planes before the first ones to zero, and rows beside the tile: nobody needs their values."""
        row, column = cell
        flat = mod(column, WARP_SIZE * self.width), div(column, WARP_SIZE * self.width)
        target = Access(self.name, (slot, row, *reversed(flat)), self.ring.element)
        body: Stmt = Assign(target, "", zero(target.type))
        for name, first, end, step in (
            (column, self.lane, self.parts * WARP_SIZE * self.width, WARP_SIZE),
            (row, self.warp, self.rows.height, self.rows.warps),
            (slot, lift(0), self.slots, 1),
        ):
            body = For(name.name, first, compare("<", name, end), step, (body,), name.type, unroll=1)
        return body

    def beside_tile(self) -> Iterator[Stmt]:
        """Store zeros in the rows above the first warp and below the last one, which no warp shows."""
        rows, zeros = self.rows, (zero(self.ring.element),) * self.width
        for warp, beside in ((0, range(-rows.above, 0)), (rows.warps - 1, range(rows.rows, rows.rows + rows.below))):
            places = (
                self._place(lift(slot), row, part)
                for slot in range(self.slots)
                for row in beside
                for part in range(self.parts)
            )
            stores = tuple(Store(place, zeros) for place in places)
            if stores:
                yield If(compare("==", self.warp, warp), stores)

    def fetched(self, row: int, age: int, phase: Name) -> Iterator[Stmt]:
        """Load a row of another warp, counted from the thread's first, in the plane that was made so long ago."""
        slot = self._slot(add(phase, self.slots - age if age else 0))
        for part in range(self.parts):
            yield Load(self._cells(row, age, part), self._place(slot, row, part))

    def shown(self, phase: Name) -> Iterator[Stmt]:
        """Store the thread's part of the rows that others read of the plane that it has made."""
        for row in self.rows.shown:
            for part in range(self.parts):
                yield Store(self._place(self._slot(phase), row, part), self._cells(row, 0, part))

    def _cells(self, row: int, age: int, part: int) -> tuple[Access, ...]:
        return tuple(self.ring.at(age, (row, part * self.width + k)) for k in range(self.width))

    def _slot(self, plane: Expr) -> Expr:
        power = self.slots & (self.slots - 1) == 0
        return binary("&", plane, self.slots - 1) if power else mod(plane, self.slots)

    def _place(self, slot: Expr, row: int, part: int) -> Access:
        number = add(mul(self.warp, len(self.rows.shown)), self.rows.number(row))
        return Access(self.name, (slot, number, lift(part), mul(self.lane, self.width)), self.ring.element)


class WarpEnds:
    """The first cells of each warp that others read, and behind them its last ones, in `slots` planes of shared memory.

    Statements read so many cells `before` and `behind` those that they make. There is a warp on either side of the
    tile, in whose cells is nothing that matters.
    """

    def __init__(
        self, ring: Ring, name: str, offsets: Iterable[int], warps: int, slots: int, warp: Name, lane: Name
    ) -> None:
        self.ring, self.name, self.warps, self.slots, self.warp, self.lane = ring, name, warps, slots, warp, lane
        found = [0, *offsets]
        self.before, self.behind = -min(found), max(found)

    def storage(self) -> Storage:
        extents = (self.slots, self.warps + 2, self.before + self.behind)
        return Storage(self.name, Space.SHARED, self.ring.element, tuple(map(lift, extents)), self.name)

    def beside_tile(self) -> Iterator[Stmt]:
        """Store zeros in the cells beside the first and the last warp, which no warp shows."""
        width = self.before + self.behind
        for warp, row in ((0, 0), (self.warps - 1, self.warps + 1)):
            own = both(compare("==", self.warp, warp), compare("<", self.lane, width))
            for slot in range(self.slots):
                target = Access(self.name, (lift(slot), lift(row), self.lane), self.ring.element)
                yield Store(target, (zero(self.ring.element),), guard=own)

    def shown(self, phase: Name) -> Iterator[Stmt]:
        """Store the cells that other warps read, each by the lane that has it."""
        cells = WARP_SIZE * self.ring.points[-1]
        places = [*range(self.behind), *range(cells - self.before, cells)]
        for column, place in enumerate(places):
            lane, own = divmod(place, self.ring.points[-1])
            target = Access(self.name, (mod(phase, self.slots), add(self.warp, 1), lift(column)), self.ring.element)
            yield Store(target, (self.ring.at(0, (own,)),), guard=compare("==", self.lane, lane))

    def fetched(self, column: int, phase: Name) -> Stmt:
        """Load a column, counted from the thread's first, in the lanes for which it is in another warp."""
        width = self.ring.points[-1]
        lanes = column // width
        if lanes < 0:
            beyond, warps, first = compare("<", self.lane, -lanes), 0, self.before + self.behind
        else:
            beyond, warps, first = compare(">=", self.lane, WARP_SIZE - lanes), 2, -WARP_SIZE * width
        place = add(mul(self.lane, width), first + column)
        source = Access(self.name, (mod(phase, self.slots), add(self.warp, warps), place), self.ring.element)
        return If(beyond, (Load((self.ring.at(0, (column,)),), source),))
