"""Cells at the ends of warps that lie beside one another in a tile of one dimension, in shared memory.

before: a[-1] = shuffle_up(a[V - 1]);                   lane 0 has no neighbour in its warp
after:  if (lane == 31) ends[slot][1 + w][1] = a[V - 1]; barrier;
        a[-1] = shuffle_up(a[V - 1]);  if (lane <= 0) a[-1] = ends[slot][1 + (w - 1)][1];
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polytile.codegen.lowering.streaming.plane_rings import Ring
from polytile.ir.arith import add, both, compare, lift, mul, zero
from polytile.ir.expr import Access, Expr, If, Name, Stmt
from polytile.ir.gpu_ops import Load, Store
from polytile.ir.memory import Space, Storage
from polytile.machine import WARP_SIZE


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

    def shown(self, slot: Expr) -> Iterator[Stmt]:
        """Store the cells that other warps read, each by the lane that has it."""
        cells = WARP_SIZE * self.ring.points[-1]
        places = [*range(self.behind), *range(cells - self.before, cells)]
        for column, place in enumerate(places):
            lane, own = divmod(place, self.ring.points[-1])
            target = Access(self.name, (slot, add(self.warp, 1), lift(column)), self.ring.element)
            yield Store(target, (self.ring.at(0, (own,)),), guard=compare("==", self.lane, lane))

    def fetched(self, column: int, slot: Expr) -> Stmt:
        """Load a column, counted from the thread's first, in the lanes for which it is in another warp."""
        width = self.ring.points[-1]
        lanes = column // width
        if lanes < 0:
            beyond, warps, first = compare("<", self.lane, -lanes), 0, self.before + self.behind
        else:
            beyond, warps, first = compare(">=", self.lane, WARP_SIZE - lanes), 2, -WARP_SIZE * width
        place = add(mul(self.lane, width), first + column)
        source = Access(self.name, (slot, add(self.warp, warps), place), self.ring.element)
        return If(beyond, (Load((self.ring.at(0, (column,)),), source),))
