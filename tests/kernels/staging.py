"""One operand of a contraction on its way to shared memory: tiles of x times k, each thread copying its share.

Before: X[x][k] (contiguous along k) or X[k][x], of any extents
After:  tile[slot][row][column], as X has it or transposed; element (x, k) of the tile is `element(slot, x, k)`

One pointer runs along k. Beside it a thread keeps 32-bit offsets, one for each x it copies: x beyond the extent is
clamped to it (what comes of those rows is never stored), so that only k beyond its extent needs a guard, which fills
with zeros. A copy takes `vector` elements that are contiguous in X; the extent along them, the pitch and the array's
address have to be multiples of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.diagnostics import InternalError
from polytile.ir.arith import Value, add, compare, div, least, lift, mod, mul, sub
from polytile.ir.expr import INT, Access, Assign, CType, Declare, Expr, If, Name, Stmt
from polytile.ir.gpu_ops import Advance, AsyncCopy, Pointer, PrivateArray
from polytile.ir.kernel import ceil_div
from polytile.ir.memory import Space, Storage
from polytile.machine import WARP_SIZE

from .contraction_parts import repeat

SECTOR, ROW = 32, 256  # bytes that neighbouring threads copy, at most: of a transposed operand, of others


@dataclass(frozen=True, slots=True)
class Staging:
    """`name` of the running pointer, `array` it runs in, of `extent` x `depth` elements with rows `pitch` apart; the
    tile is `x` times `k`, rows of `shared_pitch`."""

    name: str
    array: str
    element_type: CType
    along_k: bool
    transposed: bool
    x: int
    k: int
    shared_pitch: int
    threads: int
    vector: int
    extent: Name
    depth: Name
    pitch: Name

    def __post_init__(self) -> None:
        if self.columns % self.vector or (self.transposed and self.vector > 1):
            raise InternalError(f"{self.array}: a tile of rows of {self.columns} in copies of {self.vector}")

    # Who copies what ---------------------------------------------------------------------------------
    @property
    def rows(self) -> int:
        """Of the tile, as the array has it."""
        return self.x if self.along_k else self.k

    @property
    def columns(self) -> int:
        return self.k if self.along_k else self.x

    @property
    def lanes(self) -> int:
        """Threads that share out a row."""
        widest = (SECTOR if self.transposed else ROW) // self.element_type.size
        lanes, vector = 1, self.vector
        while 2 * lanes <= WARP_SIZE and 2 * lanes * vector <= widest and self.columns % (2 * lanes * vector) == 0:
            lanes *= 2
        return lanes

    @property
    def step(self) -> int:
        """Rows between two copies of a thread."""
        return self.threads // self.lanes

    @property
    def width(self) -> int:
        """Columns between two copies of a thread."""
        return self.lanes * self.vector

    @property
    def across(self) -> int:
        """Copies of a thread in one row."""
        return self.columns // self.width

    @property
    def copies(self) -> int:
        """Copies of a thread in one tile."""
        return ceil_div(self.rows, self.step) * self.across

    # Names -------------------------------------------------------------------------------------------
    @property
    def tile(self) -> str:
        return f"{self.name}_tile"

    @property
    def row(self) -> Name:
        return Name(f"{self.name}_row")

    @property
    def column(self) -> Name:
        return Name(f"{self.name}_column")

    @property
    def left(self) -> Name:
        """What is left of k from the thread's first copy on."""
        return Name(f"{self.name}_left")

    def offset(self, index: Value) -> Access:
        return Access(f"{self.name}_offset", (lift(index),), INT)

    def storage(self, stages: int) -> Storage:
        """Of the ring of tiles."""
        lines = self.x if self.along_k != self.transposed else self.k
        extents = tuple(lift(n) for n in (stages, lines, self.shared_pitch))
        return Storage(self.tile, Space.SHARED, self.element_type, extents, self.tile)

    def element(self, slot: Expr, x: Value, k: Value) -> Access:
        """The element (x, k) of the tile in `slot`."""
        place = (x, k) if self.along_k != self.transposed else (k, x)
        return Access(self.tile, (slot, *(lift(v) for v in place)), self.element_type)

    # Statements --------------------------------------------------------------------------------------
    def start(self, thread: Name, origin: Expr) -> Iterator[Stmt]:
        """Before the first tile, whose x begins at `origin`."""
        yield Declare(self.row.name, INT, div(thread, self.lanes))
        yield Declare(self.column.name, INT, mul(mod(thread, self.lanes), self.vector))
        place = (origin, lift(0)) if self.along_k else (lift(0), origin)
        yield Pointer(self.name, Access(self.array, place, self.element_type), const=True)
        count = self.copies // self.across if self.along_k else self.across
        yield PrivateArray(f"{self.name}_offset", INT, (count,))
        yield repeat(Name("p"), count, self._place(Name("p"), origin))
        yield Declare(self.left.name, INT, sub(self.depth, self.column if self.along_k else self.row))

    def _place(self, p: Expr, origin: Expr) -> Stmt:
        last = sub(sub(self.extent, origin), 1 if self.along_k else self.vector)
        if self.along_k:
            offset = add(mul(least(add(self.row, mul(p, self.step)), last), self.pitch), self.column)
        else:
            offset = add(mul(self.row, self.pitch), least(add(self.column, mul(p, self.width)), last))
        return Assign(self.offset(p), "", offset)

    def copy(self, number: int, slot: Expr) -> Stmt:
        """The thread's copy of this number of the tile that the pointer is at."""
        down, right = divmod(number, self.across)
        row, column = add(self.row, down * self.step), add(self.column, right * self.width)
        if self.along_k:
            source, beyond = add(self.offset(down), right * self.width), right * self.width
        else:
            source, beyond = add(self.offset(right), mul(self.pitch, down * self.step)), down * self.step
        target = self.element(slot, *((row, column) if self.along_k else (column, row)))
        guard = compare(">", self.left, beyond)
        copy = AsyncCopy(target, Access(self.name, (source,), self.element_type), self.vector, guard)
        partial = (down + 1) * self.step > self.rows
        return If(compare("<", row, self.rows), (copy,)) if partial else copy

    def advance(self) -> Iterator[Stmt]:
        """To the next tile."""
        yield Advance(self.name, lift(self.k) if self.along_k else mul(self.pitch, self.k))
        yield Assign(self.left, "-", lift(self.k))
