"""A 3-D star stencil, several steps at once: each block sweeps a tile of rows and columns through the planes.

Before, one kernel a step:

    for each of T steps
        for each cell at least r away from every side
            B[z][y][x] = sum of coefficient[d] * A[(z, y, x) + d], d on the axes within r; A and B change places

After, one kernel for T steps. A tile is G groups of U rows by L lanes of V columns; a thread holds its U x V cells of
every step in registers. Planes arrive in a ring in shared memory, copied some planes ahead. When plane p arrives at a
step it completes the output of plane p - r, which arrives at the next step at once. A thread keeps its cells of the r
latest planes, and the sums that have begun of their outputs: neighbours along the planes are its own. Those in other
lanes come by shuffles, those in other groups through shared memory, twice buffered: all steps write the rows that
others need, arrive at one split barrier, do what needs no other group, and wait.

Tiles overlap, and are spread evenly so that the first and the last end at the domain's sides. A sum has its terms in
the order of planes; in its own plane along the row first, then along the column. The first is a product, the others are
fused multiply-adds. Cells within r of a side keep their values, by selects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.ir.arith import add, binary, both, compare, div, least, lift, mod, most, mul, select, sub
from polytile.ir.expr import (
    BOOL,
    INT,
    LLONG,
    Access,
    Assign,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
)
from polytile.ir.gpu_ops import (
    BARRIER_TYPE,
    Advance,
    Arrive,
    AsyncCopy,
    Await,
    BlockIndex,
    CommitCopies,
    InitBarrier,
    Pointer,
    PrivateArray,
    Rotate,
    Store,
    ThreadIndex,
    WaitCopies,
)
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch, ceil_div
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array
from polytile.machine import WARP_SIZE

from .block_steps import PHASE, PLANE, SLOT, THREAD, Q, S, Steps, U, loop
from .block_tile import ACROSS, DOWN, GROUP, LEFT, NX, NY, NZ, PITCH, ROWS, SIZES, SPAN, TILES, TOP, BlockSweep
from .common import UNROLL, host_program, optimised

TILE, FROM, UNTIL, FIRST, OWN, K = (Name(n) for n in ("tile", "from", "until", "first", "own", "k"))
BASE, TURN, LOW, HIGH = (Name(n) for n in ("base", "turn", "low", "high"))
BEGIN, END = Name("begin", LLONG), Name("end", LLONG)
DISTANCE = Name("distance", LLONG)  # of planes, in elements
READY = Access("ready", (lift(0),), BARRIER_TYPE)
SETS, GETS = "the rows of each group are there for the others", "rows of other groups are read"


def block_sweep(sweep: BlockSweep) -> Kernel:
    """The kernel. It takes the sizes of the domain, the rows of a plane in memory and their pitch, the planes of a
    block (counted through all tiles), the numbers of tiles, A and B."""
    element, ring = sweep.element, (sweep.slots, sweep.height * sweep.width)
    exchange = (2, sweep.steps - 1, len(sweep.shown) * sweep.groups * sweep.width)
    extents = {"ring": ring, **({"exchange": exchange} if sweep.steps > 1 else {})}
    shared = [Storage(n, Space.SHARED, element, tuple(map(lift, e)), n) for n, e in extents.items()]
    integers = [KernelParameter(n.name, INT) for n in (*SIZES, *TILES)]
    arrays = [KernelParameter("A", element, "A", const=True), KernelParameter("B", element, "B")]
    return Kernel(
        sweep.name,
        (*integers, *arrays),
        (sweep.threads, 1, 1),
        (Coordinate("block", BlockIndex("x")), Coordinate("thread", ThreadIndex("x"))),
        (
            *(Storage(n, Space.GLOBAL, element, (NZ, ROWS, PITCH), n, read_only=n == "A") for n in "AB"),
            *shared,
            Storage("ready", Space.SHARED, BARRIER_TYPE, (lift(1),), "ready"),
        ),
        tuple(_Sweep(sweep).block()),
        (f"{sweep.steps} steps of a star of radius {sweep.radius}: tiles of {sweep.height} x {sweep.width} cells",),
        min_blocks=1,
    )


def block_sweep_program(sweep: BlockSweep) -> HostProgram:
    """T steps from A to B, `nz` planes of `ny` rows of `nx` cells in arrays of `rows` rows a plane and `pitch` cells a
    row; sizes for which the kernel is not made go to one for all sizes."""
    other = sweep.for_all_sizes()
    nz, ny, nx, rows, pitch, span = (Name(n.name, LLONG) for n in SIZES)

    def launch(one: BlockSweep) -> tuple[Stmt, ...]:
        counts = [axis.count(extent) for axis, extent in zip(one.axes, (nx, ny), strict=True)]
        across, down = (Name(n.name, LLONG) for n in TILES)
        blocks = div(add(mul(mul(across, down), nz), sub(span, 1)), span)
        declared = (Declare(n.name, LLONG, count) for n, count in zip(TILES, counts, strict=True))
        return (*declared, Launch(one.name, (blocks, lift(1), lift(1))))

    fits = both(compare(">=", nx, sweep.width), compare(">=", ny, sweep.height))
    even = both(*(compare("==", mod(n, sweep.vector), 0) for n in (nx, pitch)))
    body = If(both(fits, even), launch(sweep), launch(other))
    arrays = tuple(Array(name, sweep.element, (nz, rows, pitch)) for name in "AB")
    kernels = tuple(optimised(block_sweep(one), UNROLL) for one in (sweep, other))
    return host_program(f"run_{sweep.name}", kernels, SIZES, arrays, (body,))


@dataclass(frozen=True, slots=True)
class _Sweep(Steps):
    # The tiles of a block ----------------------------------------------------------------------------
    def block(self) -> Iterator[Stmt]:
        sweep, thread = self.sweep, THREAD
        yield Declare("lane", INT, mod(thread, sweep.lanes))
        yield Declare("group", INT, div(thread, sweep.lanes))
        yield If(compare("==", thread, 0), (InitBarrier(READY, sweep.threads // WARP_SIZE),))
        yield Barrier("the split barrier is ready")
        yield Declare("begin", LLONG, mul(Cast(LLONG, Name("block")), SPAN))
        yield Declare("end", LLONG, least(add(BEGIN, SPAN), mul(mul(Cast(LLONG, ACROSS), DOWN), NZ)))
        yield Declare("phase", INT, lift(0))
        yield Declare("distance", LLONG, mul(Cast(LLONG, ROWS), PITCH))
        for k in range(1, ceil_div(sweep.radius, sweep.rows) + 1) if sweep.rows <= sweep.radius else ():
            yield Declare(f"above{k}", INT, most(sub(GROUP, k), 0))
            yield Declare(f"below{k}", INT, least(add(GROUP, k), sweep.groups - 1))
        more = compare("<", mul(Cast(LLONG, TILE), NZ), END)
        yield For("tile", Cast(INT, div(BEGIN, NZ)), more, 1, tuple(self.tile()), unroll=1)

    def tile(self) -> Iterator[Stmt]:
        sweep, element = self.sweep, self.sweep.element
        before = mul(Cast(LLONG, TILE), NZ)
        yield Declare("from", INT, Cast(INT, most(sub(BEGIN, before), Literal("0", LLONG))))
        yield Declare("until", INT, Cast(INT, least(sub(END, before), Cast(LLONG, NZ))))
        yield Declare("tx", INT, mod(TILE, ACROSS))
        yield Declare("ty", INT, div(TILE, ACROSS))
        for axis in sweep.axes:
            yield from axis.place()
        yield from self.own_and_kept()
        yield Declare("first", INT, most(sub(FROM, sweep.reach), 0))
        patch = (sweep.steps, sweep.rows, sweep.columns)
        for name in self.names():
            yield PrivateArray(name, element, patch, Literal("0"))
        yield PrivateArray("x", element, patch[1:])
        yield Declare("slot", INT, lift(0))
        yield Pointer("a", Access("A", (FIRST, *self.origin()), element), const=True)
        yield Pointer("b", Access("B", (sub(FIRST, sweep.reach), *self.origin()), element))
        yield loop(K, sweep.ahead, *self.fetch(K, compare("<", add(FIRST, K), NZ)))
        yield from self.sweeps()
        yield WaitCopies(0, "the ring is used anew")
        yield Barrier("the ring is used anew, when all have read it")

    def own_and_kept(self) -> Iterator[Stmt]:
        """Vectors that no other tile stores, as bits; rows and columns that keep their values."""
        sweep, (x, y) = self.sweep, self.sweep.axes
        yield Declare("own", INT, lift(0))
        bit = binary("<<", Cast(INT, both(x.owns(mul(Q, sweep.vector)), y.owns(U))), self.bit())
        yield loop(U, sweep.rows, loop(Q, sweep.vectors, Assign(OWN, "|", bit)))
        for name, axis in (("kept_row", y), ("kept_column", x)):
            yield PrivateArray(name, BOOL, (axis.cells,))
            for k in range(axis.cells):
                yield Assign(Access(name, (lift(k),), BOOL), "", axis.keeps(k))

    # Planes ------------------------------------------------------------------------------------------
    def fetch(self, slot: Expr, exists: Expr | None) -> Iterator[Stmt]:
        """The next plane, or zeros where there is none any more."""
        sweep, source = self.sweep, self.register("a", self.offset(copied=True))
        copy = AsyncCopy(self.in_ring(slot, U, Q), source, sweep.vector, guard=exists)
        yield loop(U, sweep.rows, loop(Q, sweep.vectors, copy))
        yield Advance("a", DISTANCE)
        yield CommitCopies()

    def origin(self) -> tuple[Expr, Expr]:
        """Of offsets in a plane, which may be long where the thread's cells may lie outside."""
        return (lift(0), lift(0)) if self.sweep.anywhere else (TOP, LEFT)

    def offset(self, copied: bool) -> Expr:
        """Of vector q in row u; what is copied for cells outside is never used."""
        column = mul(Q, self.sweep.vector)
        if not self.sweep.anywhere:
            return add(mul(U, PITCH), column)
        row, column = add(TOP, U), add(LEFT, column)
        if copied:
            row, column = least(row, sub(NY, 1)), least(column, sub(NX, 1))
        return add(mul(Cast(LLONG, row), PITCH), column)

    def sweeps(self) -> Iterator[Stmt]:
        """All planes in one loop, or those that need no tests for the domain's ends in one of their own."""
        sweep, stop = self.sweep, add(UNTIL, self.sweep.reach)
        turns = sweep.turns
        if not sweep.split:
            yield self.planes(FIRST, stop, turns)
            return
        low = most(add(FROM, sweep.reach), sweep.reach + sweep.radius)
        groups = div(sub(least(stop, sub(NZ, sweep.ahead)), LOW), turns)
        yield Declare("low", INT, least(most(low, FIRST), stop))
        yield Declare("high", INT, add(LOW, mul(most(groups, 0), turns)))
        yield self.planes(FIRST, LOW, 1)
        body = loop(TURN, turns, Declare("plane", INT, add(BASE, TURN)), *self.plane(inside=True))
        yield For("base", LOW, compare("<", BASE, HIGH), turns, (body,), unroll=1)
        yield self.planes(HIGH, stop, 1)

    def planes(self, first: Expr, stop: Expr, turns: int) -> For:
        return For("plane", first, compare("<", PLANE, stop), 1, tuple(self.plane(inside=False)), unroll=turns)

    def plane(self, inside: bool) -> Iterator[Stmt]:
        """One plane arrives, and goes through all steps."""
        sweep = self.sweep
        yield Declare("next", INT, add(SLOT, sweep.ahead))
        wrapped = select(compare(">=", Name("next"), sweep.slots), sub(Name("next"), sweep.slots), Name("next"))
        yield Assign(Name("next"), "", wrapped)
        coming = add(PLANE, sweep.ahead)
        yield from self.fetch(Name("next"), None if inside else compare("<", coming, NZ))
        yield WaitCopies(sweep.ahead, "the thread's cells of this plane are there")
        yield loop(U, sweep.rows, loop(Q, sweep.vectors, self.read("x", U, self.in_ring(SLOT, U, Q), sweep.vector)))
        yield loop(S, sweep.steps, *self.arrive(inside))
        if sweep.rotate:
            yield Rotate(self.names())
        yield Barrier(SETS, "warp")
        yield If(compare("==", mod(THREAD, WARP_SIZE), 0), (Arrive(READY, SETS),))
        yield from self.stores(None if inside else compare(">=", sub(PLANE, sweep.reach), FROM))
        yield loop(S, sweep.steps, *self.own_rows())
        yield Await(READY, PHASE, GETS)
        yield loop(S, sweep.steps, *self.other_rows())
        yield Advance("b", DISTANCE)
        yield Assign(PHASE, "^", lift(1))
        yield Assign(SLOT, "", select(compare("==", SLOT, sweep.slots - 1), lift(0), add(SLOT, 1)))

    def stores(self, complete: Expr | None) -> Iterator[Stmt]:
        """The plane of the last step, where the block has all that it is made of."""
        sweep = self.sweep
        values = tuple(self.register("x", U, add(mul(Q, sweep.vector), k)) for k in range(sweep.vector))
        own = OWN if complete is None or not sweep.predicated else select(complete, OWN, lift(0))
        guard = compare("!=", binary("&", binary(">>", own, self.bit()), 1), 0)
        store = Store(self.register("b", self.offset(copied=False)), values, guard=guard)
        stores = loop(U, sweep.rows, loop(Q, sweep.vectors, store))
        yield stores if complete is None or sweep.predicated else If(complete, (stores,))

    # One step ----------------------------------------------------------------------------------------
    # Rows of others ----------------------------------------------------------------------------------
