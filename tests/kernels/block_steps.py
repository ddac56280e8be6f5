"""One plane of a block sweep: what it does at each step, in registers, and which rows of other threads it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.ir.arith import add, compare, either, fma, lift, mul, select, sub
from polytile.ir.expr import BOOL, FLOAT, Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import Load, PrivateArray, Shuffle, Store
from polytile.ir.kernel import ceil_div

from .block_tile import LANE, NZ, BlockSweep

THREAD, PLANE, SLOT, PHASE = (Name(n) for n in ("thread", "plane", "slot", "phase"))
S, U, V, Q = (Name(n) for n in "suvq")  # step, row and column of a thread, vector of a row


def loop(iterator: Name, count: int, *body: Stmt) -> For:
    """A loop that is unrolled."""
    return For(iterator.name, lift(0), compare("<", iterator, count), 1, body, unroll=0)


@dataclass(frozen=True, slots=True)
class Steps:
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

    def in_ring(self, slot: Expr, u: Expr | int, q: Expr | int, thread: Expr = THREAD) -> Access:
        vector = add(mul(u, self.sweep.vectors), q)
        return self.register("ring", slot, self.side_by_side(vector, thread, self.sweep.vector))

    def in_exchange(self, step: Expr, row: int, q: Expr | int, thread: Expr = THREAD) -> Access:
        pack = add(q, self.sweep.shown.index(row) * self.sweep.packs)
        return self.register("exchange", PHASE, step, self.side_by_side(pack, thread, self.sweep.pack))

    def side_by_side(self, vector: Expr, thread: Expr, width: int) -> Expr:
        """Vectors of neighbouring threads lie side by side."""
        return add(mul(vector, self.sweep.threads * width), mul(thread, width))

    def bit(self) -> Expr:
        return add(mul(U, self.sweep.vectors), Q)

    def read(self, array: str, row: Expr | int, source: Access, width: int) -> Load:
        targets = tuple(self.register(array, row, add(mul(Q, width), k)) for k in range(width))
        return Load(targets, source)

    def constant(self, value: float) -> Literal:
        return Literal(f"{value!r}f" if self.sweep.element == FLOAT else repr(value), self.sweep.element)

    def names(self) -> tuple[str, ...]:
        """Private arrays, in the order in which they change roles: each becomes what the next one was."""
        back = range(self.sweep.radius)
        free = ("free",) if self.sweep.rotate else ()
        return (*free, *(f"sums{k}" for k in reversed(back)), *(f"cells{k}" for k in reversed(back)))

    # A plane arrives at a step ------------------------------------------------------------------------
    def arrive(self, inside: bool) -> Iterator[Stmt]:
        """x arrives; afterwards it is what the step completes."""
        sweep, r = self.sweep, self.sweep.radius
        done = sub(PLANE, mul(add(S, 1), r))
        kept: list[Expr] = [Access("kept_row", (U,), BOOL), Access("kept_column", (V,), BOOL)]
        if not inside:
            at_end = either(compare("<", done, r), compare(">=", done, sub(NZ, r)))
            yield Declare("at_end", BOOL, at_end)
            kept.insert(0, Name("at_end", BOOL))
        update = self.rotated if sweep.rotate else self.moved
        yield loop(U, sweep.rows, loop(V, sweep.columns, *self.complete(either(*kept)), *update(), self.set("x", "y")))
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
        yield loop(Q, self.sweep.packs, Store(self.in_exchange(S, row, Q), values))

    # Terms in the plane ------------------------------------------------------------------------------
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
            sides.append(
                Assign(self.register("line", r + sweep.columns - 1 + d), "", Shuffle("down", down, lanes, width))
            )
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
            if terms:
                yield loop(V, sweep.columns, *terms)

    def row_of_others(self, at: int, k: int, width: int, exchanged: bool = False) -> Stmt:
        """Row k, counted from the thread's first; behind the tile's rim other cells, which nobody needs."""
        groups, row = divmod(k, self.sweep.rows)
        thread = self.thread_beyond(groups)
        source = self.in_exchange(sub(S, 1), row, Q, thread) if exchanged else self.in_ring(SLOT, row, Q, thread)
        return loop(Q, self.sweep.columns // width, self.read("beyond", at, source, width))

    def thread_beyond(self, groups: int) -> Expr:
        """Where threads have more rows than others need, behind the rim those of the row before or after."""
        if self.sweep.rows > self.sweep.radius:
            return add(THREAD, groups * self.sweep.lanes)
        group = Name(f"above{-groups}" if groups < 0 else f"below{groups}")
        return add(mul(group, self.sweep.lanes), LANE)
