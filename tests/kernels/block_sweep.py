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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polytile.codegen.passes.unroll import unroll
from polytile.ir.arith import add, binary, both, compare, div, either, fma, least, lift, mod, most, mul, select, sub
from polytile.ir.device import (
    BARRIER_TYPE,
    WARP,
    Arrive,
    AsyncCopy,
    Await,
    CommitCopies,
    InitBarrier,
    Load,
    Pointer,
    PrivateArray,
    Rotate,
    Shuffle,
    Store,
    WaitCopies,
)
from polytile.ir.expr import (
    BOOL,
    FLOAT,
    INT,
    LLONG,
    Access,
    Assign,
    Binary,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
)
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch, ceil_div
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array

from .block_tile import BlockSweep
from .common import host_program

NZ, NY, NX, ROWS, PITCH, SPAN = SIZES = tuple(Name(n) for n in ("nz", "ny", "nx", "rows", "pitch", "span"))
ACROSS, DOWN = TILES = Name("across"), Name("down")
THREAD, LANE, GROUP, TILE, LEFT, TOP, FROM, UNTIL = (
    Name(n) for n in ("thread", "lane", "group", "tile", "left", "top", "from", "until")
)
PLANE, FIRST, SLOT, PHASE, OWN = (Name(n) for n in ("plane", "first", "slot", "phase", "own"))
S, U, V, Q, K = (Name(n) for n in "suvqk")
BEGIN, END = Name("begin", LLONG), Name("end", LLONG)
READY = Access("ready", (lift(0),), BARRIER_TYPE)
SETS, GETS = "the rows of each group are there for the others", "rows of other groups are read"


def block_sweep(sweep: BlockSweep) -> Kernel:
    """The kernel. It takes the sizes of the domain, the rows of a plane in memory and their pitch, the planes of a block
    (counted through all tiles), the numbers of tiles, A and B."""
    element, ring = sweep.element, (sweep.slots, sweep.rows * sweep.vectors, sweep.threads * sweep.vector)
    exchange = (2, sweep.steps - 1, len(sweep.shown), sweep.groups, sweep.width)
    extents = {"ring": ring, **({"exchange": exchange} if sweep.steps > 1 else {})}
    shared = [Storage(n, Space.SHARED, element, tuple(map(lift, e)), n) for n, e in extents.items()]
    integers = [KernelParameter(n.name, INT) for n in (*SIZES, *TILES)]
    arrays = [KernelParameter("A", element, "A", const=True), KernelParameter("B", element, "B")]
    return Kernel(
        sweep.name,
        (*integers, *arrays),
        (sweep.threads, 1, 1),
        (Coordinate("block", "blockIdx.x"), Coordinate("thread", "threadIdx.x")),
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
        blocks = div(add(mul(mul(ACROSS64, DOWN64), nz), sub(span, 1)), span)
        return (
            Declare("across", LLONG, _tiles(nx, one.width, one.halo)),
            Declare("down", LLONG, _tiles(ny, one.height, one.reach)),
            Launch(one.name, (blocks, lift(1), lift(1))),
        )

    fits = both(compare(">=", nx, sweep.width), compare(">=", ny, sweep.height))
    even = both(*(compare("==", mod(n, sweep.vector), 0) for n in (nx, pitch)))
    body = If(both(fits, even), launch(sweep), launch(other))
    arrays = tuple(Array(name, sweep.element, (nz, rows, pitch)) for name in "AB")
    kernels = tuple(unroll(block_sweep(one)) for one in (sweep, other))
    return host_program(f"run_{sweep.name}", kernels, SIZES, arrays, (body,))


ACROSS64, DOWN64 = Name("across", LLONG), Name("down", LLONG)


def _tiles(extent: Expr, size: int, halo: int) -> Expr:
    """How many tiles cover an extent, each `halo` less than it sees at ends that are not the domain's."""
    return most(div(add(sub(extent, 2 * halo), size - 2 * halo - 1), size - 2 * halo), 1)


def _start(index: Expr, extent: Expr, size: int, count: Expr, align: int) -> Expr:
    """Where a tile begins, at a multiple of `align`: the first at 0, the last so that it ends with the extent."""
    place = div(mul(Cast(LLONG, index), sub(extent, size)), most(sub(count, 1), 1))
    return Cast(INT, mul(div(place, align), align))


def loop(iterator: Name, count: int, *body: Stmt) -> For:
    """A loop that is unrolled."""
    return For(iterator.name, lift(0), compare("<", iterator, count), 1, body, unroll=0)


@dataclass(frozen=True, slots=True)
class _Sweep:
    sweep: BlockSweep

    # Memory ------------------------------------------------------------------------------------------
    def register(self, array: str, *at: Expr | int) -> Access:
        return Access(array, tuple(map(lift, at)), self.sweep.element)

    def cells(self, back: int, u: Expr | int, v: Expr | int = V) -> Access:
        """Of the plane `back` before the latest."""
        return self.register(f"cells{back}", S, u, v)

    def sums(self, back: int, u: Expr | int, v: Expr | int = V) -> Access:
        """Of the output of that plane."""
        return self.register(f"sums{back}", S, u, v)

    def in_ring(self, u: Expr | int, q: Expr | int, thread: Expr = THREAD) -> Access:
        return self.register("ring", SLOT, add(mul(u, self.sweep.vectors), q), mul(thread, self.sweep.vector))

    def in_exchange(self, step: Expr, row: int, group: Expr, q: Expr | int) -> Access:
        """Vectors of neighbouring lanes lie side by side."""
        place = add(mul(q, self.sweep.lanes * self.sweep.pack), mul(LANE, self.sweep.pack))
        return self.register("exchange", PHASE, step, self.sweep.shown.index(row), group, place)

    def read(self, array: str, row: Expr | int, source: Access, width: int) -> Load:
        targets = tuple(self.register(array, row, add(mul(Q, width), k)) for k in range(width))
        return Load(targets, source)

    # The tiles of a block ----------------------------------------------------------------------------
    def block(self) -> Iterator[Stmt]:
        sweep, thread = self.sweep, THREAD
        yield Declare("lane", INT, mod(thread, sweep.lanes))
        yield Declare("group", INT, div(thread, sweep.lanes))
        yield If(compare("==", thread, 0), (InitBarrier(READY, sweep.threads // WARP),))
        yield Barrier("the split barrier is ready")
        yield Declare("begin", LLONG, mul(Cast(LLONG, Name("block")), SPAN))
        yield Declare("end", LLONG, least(add(BEGIN, SPAN), mul(mul(Cast(LLONG, ACROSS), DOWN), NZ)))
        yield Declare("phase", INT, lift(0))
        for k in range(1, ceil_div(sweep.radius, sweep.rows) + 1):
            yield Declare(f"above{k}", INT, most(sub(GROUP, k), 0))
            yield Declare(f"below{k}", INT, least(add(GROUP, k), sweep.groups - 1))
        more = compare("<", mul(Cast(LLONG, TILE), NZ), END)
        yield For("tile", Cast(INT, div(BEGIN, NZ)), more, 1, tuple(self.tile()), unroll=1)

    def tile(self) -> Iterator[Stmt]:
        sweep, element = self.sweep, self.sweep.element
        before = mul(Cast(LLONG, TILE), NZ)
        yield Declare("from", INT, Cast(INT, most(sub(BEGIN, before), Literal("0", LLONG))))
        yield Declare("until", INT, Cast(INT, least(sub(END, before), Cast(LLONG, NZ))))
        yield from self.place()
        yield from self.kept()
        yield Declare("first", INT, most(sub(FROM, sweep.reach), 0))
        patch = (sweep.steps, sweep.rows, sweep.columns)
        for name in self.names():
            yield PrivateArray(name, element, patch, Literal("0"))
        yield PrivateArray("x", element, patch[1:])
        yield Declare("slot", INT, lift(0))
        yield loop(K, sweep.ahead, *self.fetch(K, least(add(FIRST, K), sub(NZ, 1))))
        yield from self.sweeps()
        yield WaitCopies(0, "the ring is used anew")
        yield Barrier("the ring is used anew, when all have read it")

    def names(self) -> tuple[str, ...]:
        """Private arrays, in the order in which they change roles: each becomes what the next one was."""
        back = range(self.sweep.radius)
        free = ("free",) if self.sweep.rotate else ()
        return (*free, *(f"sums{k}" for k in reversed(back)), *(f"cells{k}" for k in reversed(back)))

    def place(self) -> Iterator[Stmt]:
        """Where the thread's cells are, and which of them no other tile stores."""
        sweep = self.sweep
        yield Declare("tx", INT, mod(TILE, ACROSS))
        yield Declare("ty", INT, div(TILE, ACROSS))
        own = []
        axes = (("x", NX, sweep.width, ACROSS, sweep.vector, sweep.halo), ("y", NY, sweep.height, DOWN, 1, sweep.reach))
        for axis, extent, size, count, align, halo in axes:
            index, first, last = (Name(f"{n}{axis}") for n in ("t", "first_", "last_"))
            yield Declare(f"{axis}0", INT, _start(index, extent, size, count, align))
            after = add(_start(add(index, 1), extent, size, count, align), halo)
            yield Declare(first.name, INT, select(compare("==", index, 0), lift(0), add(Name(f"{axis}0"), halo)))
            yield Declare(last.name, INT, select(compare("==", index, sub(count, 1)), extent, after))
            own.append((first, last))
        yield Declare("left", INT, add(Name("x0"), mul(LANE, sweep.columns)))
        yield Declare("top", INT, add(Name("y0"), mul(GROUP, sweep.rows)))
        yield Declare("own", INT, lift(0))
        inside = [
            both(compare(">=", at, first), compare("<", at, last))
            for at, (first, last) in zip((add(LEFT, mul(Q, sweep.vector)), add(TOP, U)), own, strict=True)
        ]
        bit = binary("<<", Cast(INT, both(*inside)), self.bit())
        yield loop(U, sweep.rows, loop(Q, sweep.vectors, Assign(OWN, "|", bit)))

    def bit(self) -> Expr:
        return add(mul(U, self.sweep.vectors), Q)

    def kept(self) -> Iterator[Stmt]:
        """Rows and columns of the thread that keep their values; in tiles that fit, of the first and last threads."""
        sweep, r = self.sweep, self.sweep.radius
        axes = (
            ("row", TOP, NY, sweep.rows, GROUP, sweep.groups, compare("==", Name("ty"), 0), DOWN, Name("ty")),
            ("column", LEFT, NX, sweep.columns, LANE, sweep.lanes, compare("==", Name("tx"), 0), ACROSS, Name("tx")),
        )
        for name, start, extent, cells, thread, threads, first, count, index in axes:
            yield PrivateArray(f"kept_{name}", BOOL, (cells,))
            for k in range(cells):
                if sweep.anywhere:
                    near = either(
                        compare("<", add(start, k), r), compare(">=", add(start, k), sub(extent, r))
                    )
                else:
                    low, high = ceil_div(r - k, cells), ceil_div(r - (cells - 1 - k), cells)
                    last = compare("==", index, sub(count, 1))
                    near = either(
                        both(first, compare("<", thread, low)) if low > 0 else Literal("0", BOOL),
                        both(last, compare(">=", thread, threads - high)) if high > 0 else Literal("0", BOOL),
                    )
                yield Assign(Access(f"kept_{name}", (lift(k),), BOOL), "", near)

    # Planes ------------------------------------------------------------------------------------------
    def fetch(self, slot: Expr, plane: Expr) -> Iterator[Stmt]:
        sweep = self.sweep
        to = Access("ring", (slot, self.bit(), mul(THREAD, sweep.vector)), sweep.element)
        copy = AsyncCopy(to, self.register("a", self.offset(copied=True)), sweep.vector)
        yield Pointer("a", Access("A", (plane, *self.origin()), sweep.element), const=True)
        yield loop(U, sweep.rows, loop(Q, sweep.vectors, copy))
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
        sweep, turns = self.sweep, 2 * self.sweep.radius + 1
        stop = add(UNTIL, sweep.reach)
        if not sweep.split:
            yield self.planes(FIRST, stop, turns if sweep.rotate else 1, inside=False)
            return
        low = most(add(FROM, sweep.reach), sweep.reach + sweep.radius)
        yield Declare("low", INT, least(most(low, FIRST), stop))
        yield Declare("high", INT, most(least(stop, sub(NZ, sweep.ahead + 1)), Name("low")))
        yield self.planes(FIRST, Name("low"), 1, inside=False)
        yield self.planes(Name("low"), Name("high"), turns if sweep.rotate else 1, inside=True)
        yield self.planes(Name("high"), stop, 1, inside=False)

    def planes(self, first: Expr, stop: Expr, turns: int, *, inside: bool) -> For:
        return For("plane", first, compare("<", PLANE, stop), 1, tuple(self.plane(inside)), unroll=turns)

    def plane(self, inside: bool) -> Iterator[Stmt]:
        """One plane arrives, and goes through all steps."""
        sweep = self.sweep
        yield Declare("next", INT, add(SLOT, sweep.ahead))
        wrapped = select(compare(">=", Name("next"), sweep.slots), sub(Name("next"), sweep.slots), Name("next"))
        yield Assign(Name("next"), "", wrapped)
        coming = add(PLANE, sweep.ahead)
        yield from self.fetch(Name("next"), coming if inside else least(coming, sub(NZ, 1)))
        yield WaitCopies(sweep.ahead, "the thread's cells of this plane are there")
        yield loop(U, sweep.rows, loop(Q, sweep.vectors, self.read("x", U, self.in_ring(U, Q), sweep.vector)))
        yield loop(S, sweep.steps, *self.arrive(inside))
        if sweep.rotate:
            yield Rotate(self.names())
        yield Barrier(SETS, "warp")
        yield If(compare("==", mod(THREAD, WARP), 0), (Arrive(READY, SETS),))
        complete = compare(">=", sub(PLANE, sweep.reach), FROM)
        yield from self.stores() if inside else (If(complete, tuple(self.stores())),)
        yield loop(S, sweep.steps, *self.own_rows())
        yield Await(READY, PHASE, GETS)
        yield loop(S, sweep.steps, *self.other_rows())
        yield Assign(PHASE, "^", lift(1))
        yield Assign(SLOT, "", select(compare("==", SLOT, sweep.slots - 1), lift(0), add(SLOT, 1)))

    def stores(self) -> Iterator[Stmt]:
        width = self.sweep.vector
        values = tuple(self.register("x", U, add(mul(Q, width), k)) for k in range(width))
        guard = compare("!=", binary("&", binary(">>", OWN, self.bit()), 1), 0)
        done = (sub(PLANE, self.sweep.reach), *self.origin())
        yield Pointer("b", Access("B", done, self.sweep.element))
        store = Store(self.register("b", self.offset(copied=False)), values, guard=guard)
        yield loop(U, self.sweep.rows, loop(Q, self.sweep.vectors, store))

    # One step ----------------------------------------------------------------------------------------
    def arrive(self, inside: bool) -> Iterator[Stmt]:
        """x arrives; afterwards it is what the step completes."""
        sweep, r = self.sweep, self.sweep.radius
        done = sub(PLANE, mul(add(S, 1), r))
        kept = either(Access("kept_row", (U,), BOOL), Access("kept_column", (V,), BOOL))
        if not inside:
            at_end = either(compare("<", done, r), compare(">=", done, sub(NZ, r)))
            yield Declare("at_end", BOOL, at_end)
            kept = either(Name("at_end", BOOL), Access("kept_row", (U,), BOOL), Access("kept_column", (V,), BOOL))
        update = self.rotated if sweep.rotate else self.moved
        yield loop(U, sweep.rows, loop(V, sweep.columns, *self.complete(kept), *update(), self.set("x", "y")))
        if sweep.steps > 1:
            shown = tuple(stmt for row in sweep.shown for stmt in self.show(row))
            yield If(compare("<", S, sweep.steps - 1), shown)

    def set(self, array: str, value: str) -> Stmt:
        return Assign(self.register(array, U, V), "", Name(value, self.sweep.element))

    def complete(self, kept: Expr) -> Iterator[Stmt]:
        sweep, r = self.sweep, self.sweep.radius
        y, x = Name("y", sweep.element), self.register("x", U, V)
        yield Declare("y", sweep.element, fma(self.constant(sweep.coefficients[0][r]), x, self.sums(r - 1, U)))
        yield Assign(y, "", select(kept, self.cells(r - 1, U), y))

    def begun(self, target: Access | Name) -> Iterator[Stmt]:
        """The output of the plane that arrives, as far as it is of planes before."""
        planes, r = self.sweep.coefficients[0], self.sweep.radius
        product = Binary("*", self.constant(planes[-r]), self.cells(r - 1, U), self.sweep.element)
        yield Assign(target, "", product)
        for k in range(r - 1, 0, -1):
            yield Assign(target, "", fma(self.constant(planes[-k]), self.cells(k - 1, U), target))

    def moved(self) -> Iterator[Stmt]:
        sweep, r, x = self.sweep, self.sweep.radius, self.register("x", U, V)
        new = Name("begun", sweep.element)
        yield Declare("begun", sweep.element, None)
        yield from self.begun(new)
        for k in range(r - 1, 0, -1):
            yield Assign(self.sums(k, U), "", self.passed(k, x))
        yield Assign(self.sums(0, U), "", new)
        for k in range(r - 1, 0, -1):
            yield Assign(self.cells(k, U), "", self.cells(k - 1, U))
        yield Assign(self.cells(0, U), "", x)

    def rotated(self) -> Iterator[Stmt]:
        """The same where the values are; what holds them changes its role afterwards."""
        r, x = self.sweep.radius, self.register("x", U, V)
        yield from self.begun(self.cells(r - 1, U))
        for k in range(1, r):
            yield Assign(self.sums(k - 1, U), "", self.passed(k, x))
        yield Assign(self.register("free", S, U, V), "", x)

    def passed(self, k: int, x: Expr) -> Expr:
        return fma(self.constant(self.sweep.coefficients[0][k]), x, self.sums(k - 1, U))

    def show(self, row: int) -> Iterator[Stmt]:
        pack = self.sweep.pack
        values = tuple(self.register("x", row, add(mul(Q, pack), k)) for k in range(pack))
        yield loop(Q, self.sweep.columns // pack, Store(self.in_exchange(S, row, GROUP, Q), values))

    def own_rows(self) -> Iterator[Stmt]:
        """Terms along the rows, and along the columns as far as the thread has all that come before."""
        sweep, r = self.sweep, self.sweep.radius
        _, rows, columns = sweep.coefficients
        yield PrivateArray("line", sweep.element, (sweep.columns + 2 * r,))
        along = [loop(V, sweep.columns, Assign(self.register("line", add(V, r)), "", self.cells(0, U)))]
        sides: list[Stmt] = []
        for d in range(1, r + 1):
            lanes, width = lift(ceil_div(d, sweep.columns)), sweep.lanes
            up, down = self.cells(0, U, -d % sweep.columns), self.cells(0, U, (d - 1) % sweep.columns)
            sides.append(Assign(self.register("line", r - d), "", Shuffle("up", up, lanes, width)))
            sides.append(Assign(self.register("line", r + sweep.columns - 1 + d), "", Shuffle("down", down, lanes, width)))
        terms = [self.add_to(U, c, self.register("line", add(V, r + d))) for d, c in columns.items()]
        yield loop(U, sweep.rows, *along, *sides, loop(V, sweep.columns, *terms))
        for u in range(sweep.rows):
            near = [self.add_to(u, c, self.cells(0, u + d)) for d, c in rows.items() if self.is_own(u, d)]
            if near:
                yield loop(V, sweep.columns, *near)

    def is_own(self, u: int, d: int) -> bool:
        """Whether the term at `d` of row u, and all before it, are the thread's own."""
        return u >= self.sweep.radius and u + d < self.sweep.rows

    def add_to(self, u: Expr | int, coefficient: float, value: Expr) -> Stmt:
        return Assign(self.sums(0, u), "", fma(self.constant(coefficient), value, self.sums(0, u)))

    # Rows of others ----------------------------------------------------------------------------------
    def other_rows(self) -> Iterator[Stmt]:
        """Terms along the columns that need rows of other groups, and those that come after them."""
        sweep, r = self.sweep, self.sweep.radius
        beyond = (*range(-r, 0), *range(sweep.rows, sweep.rows + r))
        yield PrivateArray("beyond", sweep.element, (2 * r, sweep.columns))
        ring = tuple(self.row_of_others(at, k, sweep.vector) for at, k in enumerate(beyond))
        exchange = tuple(self.row_of_others(at, k, sweep.pack, exchanged=True) for at, k in enumerate(beyond))
        yield If(compare("==", S, 0), ring, exchange if sweep.steps > 1 else ())
        rows = {k: self.register("beyond", at, V) for at, k in enumerate(beyond)}
        for u in range(sweep.rows):
            rest = {d: c for d, c in sweep.coefficients[1].items() if not self.is_own(u, d)}
            terms = [self.add_to(u, c, rows.get(u + d, self.cells(0, u + d))) for d, c in rest.items()]
            yield loop(V, sweep.columns, *terms)

    def row_of_others(self, at: int, k: int, width: int, exchanged: bool = False) -> Stmt:
        """Row k, counted from the thread's first; behind the tile's rim another one, which nobody needs."""
        groups, row = divmod(k, self.sweep.rows)
        group = Name(f"above{-groups}" if groups < 0 else f"below{groups}")
        thread = add(mul(group, self.sweep.lanes), LANE)
        source = self.in_exchange(sub(S, 1), row, group, Q) if exchanged else self.in_ring(row, Q, thread)
        return loop(Q, self.sweep.columns // width, self.read("beyond", at, source, width))

    def constant(self, value: float) -> Literal:
        return Literal(f"{value!r}f" if self.sweep.element == FLOAT else repr(value), self.sweep.element)
