"""Stores of a warp's strip by way of shared memory, so that its lanes store neighbouring columns together.

A lane keeps V columns side by side, so that few come from other lanes. Storing one of each touches V times as many
sectors as it fills, and the L2 cache takes every part of a sector as a write of its own.

before: for (v) to3[v] = x3[0][v];                                      lanes are V columns apart
after:  for (v) strip[warp][V * lane + v] = x3[0][v];  __syncwarp();
        for (v) to3[32 * v - (V - 1) * lane] = strip[warp][32 * v + lane];  __syncwarp();

Banks: with an odd V no two lanes meet in one, with an even V lanes put as many columns as a vector holds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polytile.dataclass import dataclass
from polytile.ir.arith import add, lift, mul
from polytile.ir.edge_rows import columns_at_once
from polytile.ir.expr import Access, CType, Expr, Name, Stmt
from polytile.ir.gpu_ops import Store
from polytile.ir.kernel import Barrier
from polytile.ir.memory import Space, Storage
from polytile.machine import REGISTER_BYTES, WARP_SIZE

FILLED = "other lanes read what each has put into the strip"
EMPTIED = "the next plane's columns replace those that were stored"


@dataclass(frozen=True, slots=True)
class StripInShared:
    """A row of `columns` cells of each lane, for each of a block's `warps`; `place` is the warp's number there."""

    name: str
    element: CType
    columns: int
    warps: int
    place: Name
    lane: Name

    def storage(self) -> Storage:
        extents = lift(self.warps), lift(WARP_SIZE * self.columns)
        return Storage(self.name, Space.SHARED, self.element, extents, self.name)

    def stores(
        self,
        values: Sequence[Expr],
        target: Callable[[Expr], Access],
        each: Callable[[Stmt], Stmt],
        v: Name,
        owned: Expr,
    ) -> Iterator[Stmt]:
        """Store the `values` of the lane's columns: column 32 v + lane of the strip, where it is `owned`, goes to the
        target of its distance from the lane's first column. `each` loops over v."""
        width = columns_at_once(self.columns, self.element.size)
        first = mul(self.lane, self.columns)
        for k in range(0, self.columns, width):
            yield Store(self._at(add(first, k)), tuple(values[k : k + width]))
        yield Barrier(FILLED, "warp")
        across, moved = add(mul(v, WARP_SIZE), self.lane), moved_column(v, self.lane, self.columns)
        yield each(Store(target(moved), (self._at(across),), guard=owned))
        yield Barrier(EMPTIED, "warp")

    def _at(self, column: Expr) -> Access:
        return Access(self.name, (self.place, column), self.element)


def words(element: CType) -> int:
    """Return the number of registers of an element.

    An access of a warp to shared memory, or a shuffle, takes so many cycles.
    """
    return max(1, element.size // REGISTER_BYTES)


def pays(columns: int, element: CType, shuffled: int) -> bool:
    """Return whether stores through shared memory are faster, where warps shuffle so many words for a plane.

    Stores of one column each are as many writes in L2 as they touch sectors, and shared memory serves shuffles, too.

    Measured on an H100: 2 to 50% faster where this holds, up to 4% slower in stars of large radius, which shuffle most.
    """
    sectors = columns * min(columns * element.size, WARP_SIZE)
    return columns > 1 and sectors >= 2 * (shuffled + 2 * columns * words(element))


def moved_column(v: Expr, lane: Expr, columns: int) -> Expr:
    """Return the place of column 32 v + lane of a strip, counted from the first of the lane's own `columns`."""
    return add(mul(v, WARP_SIZE), mul(lane, 1 - columns)) if columns > 1 else v
