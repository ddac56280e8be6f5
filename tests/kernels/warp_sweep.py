"""A 2-D stencil, several steps at once, in registers alone: each warp sweeps down a strip of columns.

Before, one kernel a step:

    for each of T steps
        for each cell at least r away from every side
            B[i][j] = sum of coefficient[d][e] * A[i + d][j + e], -r <= d, e <= r; A and B change places

After, one kernel for T steps. A warp owns `chunk` rows of a strip. Its lanes hold V neighbouring columns each; rows
stream in, and every step keeps, for each column, the sums of the 2 r outputs that have begun and are not complete. When
row p arrives at a step it completes the output of row p - r, which arrives at the next step at once. Neighbours in
other lanes come by shuffles. Strips and chunks overlap by T r columns (rounded up to whole lanes) and rows on either
side, in which everything is computed more than once; nothing is shared, and nobody waits.

A sum has its terms in the order of rows, and of columns in a row: a product first, then one fused multiply-add for
each. Cells within r of a side keep their values: where a warp can see such cells, selects keep them, and loads and
stores are guarded; all other warps run a copy of the loop without either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.ir.arith import add, both, compare, div, either, fma, least, lift, mod, most, mul, select, sub
from polytile.ir.expr import BOOL, INT, LLONG, Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import Advance, BlockIndex, Load, Pointer, PrivateArray, Shuffle, Store, ThreadIndex
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter, Launch, ceil_div
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array
from polytile.machine import WARP_SIZE

from .common import host_program
from .sweep import STEP, Sweep, V

ROWS, COLUMNS, PITCH, CHUNK, STRIPS = (Name(n) for n in ("rows", "columns", "pitch", "chunk", "strips"))
STRIP, LANE, LEFT, FROM, UNTIL, ROW = (Name(n) for n in ("strip", "lane", "left", "from", "until", "row"))
OWN, EDGE = Name("own", BOOL), Name("edge", BOOL)


def sweep_program(sweep: Sweep) -> HostProgram:
    """T steps from A to B, which have `rows` rows of `columns` cells, `pitch` apart; `chunk` rows a warp."""
    rows, columns, pitch, chunk = (Name(n.name, LLONG) for n in (ROWS, COLUMNS, PITCH, CHUNK))
    covered = add(sub(columns, 2 * sweep.halo), sweep.width - 1)  # the first and last strip own what is beside them
    warps = mul(div(add(rows, sub(chunk, 1)), chunk), Name("strips", LLONG))
    body = (
        Declare("strips", LLONG, most(div(covered, sweep.width), 1)),
        Launch(sweep.name, (div(add(warps, sweep.warps - 1), sweep.warps), lift(1), lift(1))),
    )
    arrays = tuple(Array(name, sweep.element, (rows, pitch)) for name in "AB")
    return host_program(f"run_{sweep.name}", (warp_sweep(sweep),), (ROWS, COLUMNS, PITCH, CHUNK), arrays, body)


def warp_sweep(sweep: Sweep) -> Kernel:
    """The kernel. It takes the sizes, the rows of a chunk, the number of strips, A and B; warps share out the strips
    of one chunk after another."""
    integers = [KernelParameter(n.name, INT) for n in (ROWS, COLUMNS, PITCH, CHUNK, STRIPS)]
    arrays = [KernelParameter("A", sweep.element, "A", const=True), KernelParameter("B", sweep.element, "B")]
    return Kernel(
        sweep.name,
        (*integers, *arrays),
        (WARP_SIZE * sweep.warps, 1, 1),
        (Coordinate("block", BlockIndex("x")), Coordinate("thread", ThreadIndex("x"))),
        tuple(Storage(n, Space.GLOBAL, sweep.element, (ROWS, PITCH), n, read_only=n == "A") for n in "AB"),
        tuple(_body(sweep)),
        (f"{sweep.steps} steps of a stencil of radius {sweep.radius}, {sweep.columns} columns a lane",),
        min_blocks=sweep.min_blocks,
    )


def _body(sweep: Sweep) -> Iterator[Stmt]:
    warp, aside = Name("warp"), sweep.halo // sweep.columns
    yield Declare("warp", INT, add(mul(Name("block"), sweep.warps), div(Name("thread"), WARP_SIZE)))
    yield Declare("lane", INT, mod(Name("thread"), WARP_SIZE))
    yield Declare("strip", INT, mod(warp, STRIPS))
    yield Declare("from", INT, mul(div(warp, STRIPS), CHUNK))
    first, last = compare("==", STRIP, 0), compare("==", STRIP, sub(STRIPS, 1))
    left = both(either(first, compare(">=", LANE, aside)), either(last, compare("<", LANE, WARP_SIZE - aside)))
    above = compare("<", FROM, sweep.reach)
    below = compare(">=", add(UNTIL, sweep.reach), ROWS)  # the row after the last one is loaded too
    work = (
        Declare("until", INT, least(add(FROM, CHUNK), ROWS)),
        Declare("left", INT, add(mul(STRIP, sweep.width), mul(LANE, sweep.columns))),
        Declare("own", BOOL, left),
        Declare("edge", BOOL, either(first, last, above, below)),
        If(EDGE, tuple(_Copy(sweep, edge=True).statements()), tuple(_Copy(sweep, edge=False).statements())),
    )
    yield If(compare("<", FROM, ROWS), work)


@dataclass(frozen=True, slots=True)
class _Copy:
    """The loop over rows, with the selects and guards of the domain's sides or without."""

    sweep: Sweep
    edge: bool

    def statements(self) -> Iterator[Stmt]:
        sweep, start = self.sweep, sub(FROM, self.sweep.reach)
        yield PrivateArray("sums", sweep.element, (2 * sweep.radius, sweep.steps, sweep.columns), Literal("0"))
        yield PrivateArray("line", sweep.element, (sweep.columns + 2 * sweep.radius,))
        yield PrivateArray("next", sweep.element, (sweep.columns,))
        yield PrivateArray("output", sweep.element, (sweep.columns,))
        if self.edge:
            yield PrivateArray("side", BOOL, (sweep.columns,))
            yield sweep.each(Assign(Access("side", (V,), BOOL), "", self.kept(add(LEFT, V), COLUMNS)))
        yield Declare("begin", INT, most(start, 0) if self.edge else start)
        begin = Name("begin")
        yield Pointer("a", Access("A", (begin, LEFT), sweep.element), const=True)
        yield Pointer("b", Access("B", (FROM, LEFT), sweep.element))
        yield from self.loads(begin)
        yield self.arrived()
        rows = compare("<", ROW, add(UNTIL, sweep.reach))
        yield For("row", begin, rows, 1, tuple(self.iteration()), unroll=1 if self.edge else sweep.unroll)

    def iteration(self) -> Iterator[Stmt]:
        """The next row is loaded, this one goes through all steps, and what comes out is stored."""
        sweep = self.sweep
        yield Advance("a", PITCH)
        yield from self.loads(add(ROW, 1))
        yield For("s", lift(0), compare("<", STEP, sweep.steps), 1, tuple(self.step()), unroll=0)
        complete = compare(">=", sub(ROW, sweep.reach), FROM)
        yield If(complete, (*self.stores(), Advance("b", PITCH)))
        yield self.arrived()

    def arrived(self) -> Stmt:
        return self.sweep.each(Assign(self.sweep.line(V), "", self.sweep.register("next", V)))

    # Memory ------------------------------------------------------------------------------------------
    def loads(self, row: Expr) -> Iterator[Stmt]:
        for k in range(0, self.sweep.columns, self.sweep.vector):
            targets = tuple(self.sweep.register("next", k + i) for i in range(self.sweep.vector))
            inside = both(compare("<", row, ROWS), compare("<", add(LEFT, k), COLUMNS))
            yield Load(targets, self.sweep.register("a", k), guard=inside if self.edge else None)

    def stores(self) -> Iterator[Stmt]:
        """Of whole vectors; where the last one of a row is not whole, of elements."""
        width = self.sweep.vector
        for k in range(0, self.sweep.columns, width):
            values = tuple(self.sweep.line(k + i) for i in range(width))
            whole = compare("<=", add(LEFT, k + width), COLUMNS)
            guard = both(OWN, whole) if self.edge else OWN
            yield Store(self.sweep.register("b", k), values, guard=guard)
            if self.edge and width > 1:
                rest = tuple(self.single(k + i) for i in range(width - 1))
                yield If(both(OWN, compare(">", add(LEFT, k + width), COLUMNS)), rest)

    def single(self, k: int) -> Stmt:
        return Store(self.sweep.register("b", k), (self.sweep.line(k),), guard=compare("<", add(LEFT, k), COLUMNS))

    # One step ----------------------------------------------------------------------------------------
    def step(self) -> Iterator[Stmt]:
        sweep, radius = self.sweep, self.sweep.radius
        yield from self.neighbours()
        if self.edge:
            for back in range(radius + 1):
                row = sub(sub(ROW, mul(STEP, radius)), back)
                yield Declare(f"kept{back}", BOOL, self.kept(row, ROWS))
        yield sweep.each(*(stmt for slot in range(-1, 2 * radius) for stmt in self.terms(slot)))
        yield sweep.each(Assign(sweep.line(V), "", sweep.register("output", V)))

    def neighbours(self) -> Iterator[Stmt]:
        """The columns of other lanes, as far as the stencil reaches."""
        sweep = self.sweep
        for d in range(1, max(-column for _, column in sweep.terms) + 1):
            value = Shuffle("up", sweep.line(-d % sweep.columns), lift(ceil_div(d, sweep.columns)))
            yield Assign(sweep.line(-d), "", value)
        for d in range(1, max(column for _, column in sweep.terms) + 1):
            value = Shuffle("down", sweep.line((d - 1) % sweep.columns), lift(ceil_div(d, sweep.columns)))
            yield Assign(sweep.line(sweep.columns - 1 + d), "", value)

    def terms(self, slot: int) -> Iterator[Stmt]:
        """The arriving row's terms of one output: of the one it completes (slot -1), which goes to the next step, or of
        one that moves up a slot; the last one begins."""
        sweep, radius = self.sweep, self.sweep.radius
        target = sweep.register("output", V) if slot < 0 else sweep.sums(slot)
        before = sweep.sums(slot + 1)
        offset = radius - 1 - slot  # of the arriving row from the output's
        total: Expr | None = None if offset == -radius else before
        for (row, column), coefficient in sorted(sweep.terms.items()):
            if row == offset:
                factor, value = sweep.constant(coefficient), sweep.line(V, column)
                product = Binary("*", factor, value, sweep.element)
                yield Assign(target, "", product if total is None else fma(factor, value, total))
                total = target
        if self.edge and offset >= 0:
            kept = either(Name(f"kept{offset}", BOOL), Access("side", (V,), BOOL))
            yield Assign(target, "", select(kept, sweep.line(V) if offset == 0 else before, target))

    def kept(self, index: Expr, extent: Expr) -> Expr:
        """Whether cells at this row or column are so near to a side that they keep their values."""
        radius = self.sweep.radius
        return either(compare("<", index, radius), compare(">=", index, sub(extent, radius)))
