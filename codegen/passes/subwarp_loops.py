"""Lanes of a warp share data-dependent loops that only add up (vector CSR kernels; Bell and Garland, SC 2009).

before: thread i { s = 0; j = row[i]; while (j < row[i + 1]) { s += val[j] * x[col[j]]; j += 1; } y[i] = s; }
after:  lanes 0 to 15 of i { s = 0; part = 0; j = row[i] + lane; while (j < row[i + 1]) { part += ...; j += 16; }
                             s += segment_sum<16>(part); if (lane == 0) y[i] = s; }
or:     all threads of block i { ...; j += 1024; } parts[warp] = warp_sum(part); barrier;
                             s += warp_sum(parts[thread % 32]); ... }

All lanes run what one thread ran, and the first of them stores. Neighbouring elements are loaded together, and long
rows keep more threads busy. How many lanes pay depends on how long the rows are: the host takes the average, from the
size of an array that the loop goes through, and chooses among kernels when it runs. The order of additions changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import LoweredPlan
from polytile.codegen.passes.reduction_loops import (
    LONGEST_STEP,
    ReductionLoop,
    is_global,
    is_linear,
    only_first_lane_reads,
    reduction_loops,
    stores,
    update_of,
)
from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, div, mul
from polytile.ir.def_use import names_of
from polytile.ir.expr import (
    LLONG,
    Access,
    Assign,
    Binary,
    Cast,
    CType,
    Declare,
    Expr,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
    While,
)
from polytile.ir.expr_trees import rewrite, with_bodies
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex, WarpReduce
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, Launch, with_launches
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import fresh
from polytile.ir.reductions import Accumulation, combined, identity, partial_type
from polytile.machine import MAX_BLOCK_THREADS, WARP_SIZE, Machine

_LARGEST = 2**31 - 1 - MAX_BLOCK_THREADS * LONGEST_STEP  # of a place in an array to which a lane may add


def subwarp_loops(program: HostProgram, plans: Sequence[LoweredPlan], machine: Machine) -> HostProgram:
    """Share the loops of a thread that data end among threads of a warp."""
    floating = {k.name for k, p in zip(program.kernels, plans, strict=True) if p.reassociate}
    taken = names_of(program.body) | {p.name for p in program.parameters} | {a.name for a in program.arguments}
    kernels: list[Kernel] = []
    launched: dict[str, Callable[[Launch], Stmt]] = {}
    for kernel in program.kernels:
        kernels.append(kernel)
        shared = _shared(kernel, taken, machine, floating=kernel.name in floating)
        if shared is not None:
            launched[kernel.name] = shared.launch
            kernels += [shared.kernel(lanes) for _, lanes in machine.tuning.rows.lanes]
    if not launched:
        return program
    return replace(program, kernels=tuple(kernels), body=with_launches(program.body, launched))


@dataclass(frozen=True, slots=True)
class _Shared:
    """A kernel of whose threads several lanes can take the part."""

    plain: Kernel
    loops: tuple[ReductionLoop, ...]
    machine: Machine
    taken: frozenset[str]  # names that neither the kernel nor the host may give to something else

    # The launch ------------------------------------------------------------------------------------------------------
    def launch(self, plain: Launch) -> Stmt:
        """Build the choice of a kernel by the average length of the first loop."""
        x, y, z = plain.grid
        array, dimension = self.loops[0].length
        extents = self.plain.storage_of(array).extents
        size = extents[dimension]
        assert size is not None
        elements, average = _wide(size), Name(fresh("average", self.taken), LLONG)
        rows = mul(x, self.plain.block[0])
        length = elements if dimension else div(elements, rows)
        chosen: Stmt = plain
        for least, lanes in reversed(self.machine.tuning.rows.lanes):
            grid = mul(x, min(lanes, self.plain.block[0])), y, z
            chosen = If(compare(">=", average, least), (Launch(self.name(lanes), grid),), (chosen,))
        fits = Binary("&&", compare(">", rows, 0), compare("<=", elements, _LARGEST))
        return If(fits, (Scope((Declare(average.name, LLONG, length), chosen)),), (plain,))

    def name(self, lanes: int) -> str:
        return f"{self.plain.name}_lanes{lanes}"

    # The kernel ------------------------------------------------------------------------------------------------------
    def kernel(self, lanes: int) -> Kernel:
        """Build the kernel in which `lanes` threads do what one did."""
        rows = max(1, self.plain.block[0] // lanes)
        shares = self.plain.block[0] // rows  # blocks that do what one did
        thread = mul(Binary("%", BlockIndex("x"), Literal(str(shares))), rows)
        thread = add(ThreadIndex("y"), thread) if rows > 1 else thread
        block = Binary("/", BlockIndex("x"), Literal(str(shares)))

        def place(node: Any) -> Any:
            match node:
                case ThreadIndex(axis="x"):
                    return thread
                case BlockIndex(axis="x"):
                    return block
            return node

        body = tuple(rewrite(stmt, place) for stmt in self.plain.body)
        return replace(
            self.plain,
            name=self.name(lanes),
            min_blocks=self.plain.min_blocks if lanes <= self.plain.block[0] else 0,
            max_registers=min(self.plain.max_registers, self.machine.most_registers(lanes * rows)),
            block=(lanes, rows, 1),
            coordinates=tuple(Coordinate(c.name, rewrite(c.source, place)) for c in self.plain.coordinates),
            body=self._body(body, lanes),
            storage=(*self.plain.storage, *(home for one in self.loops for home in self._homes(one, lanes))),
            summary=(*self.plain.summary, f"{lanes} lanes run what one thread would, and share its loops"),
        )

    def _body(self, body: tuple[Stmt, ...], lanes: int) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for k, stmt in enumerate(body):
            loop = next((one for one in self.loops if one.loop is stmt), None)
            following = body[k + 1] if k + 1 < len(body) else None
            own = next((one for one in self.loops if one.loop is following), None)
            if loop is not None:
                found += self._loop(loop, lanes)
            elif own is not None and isinstance(stmt, Declare) and stmt.value is not None:
                found.append(replace(stmt, value=Binary("+", stmt.value, mul(ThreadIndex("x"), own.step), stmt.type)))
            elif stores(self.plain, stmt):
                found.append(If(compare("==", ThreadIndex("x"), 0), (stmt,)))
            else:
                found.append(with_bodies(stmt, lambda inner: self._body(inner, lanes)))
        return tuple(found)

    def _loop(self, loop: ReductionLoop, lanes: int) -> Iterator[Stmt]:
        """Yield the loop with partial results, and their combination."""
        parts = [Name(fresh(f"{u.target.array}_part", self.taken), _type(u)) for u in loop.updates]
        for part, update in zip(parts, loop.updates, strict=True):
            yield Declare(part.name, part.type, identity(update.op, part.type))
        *inside, step = loop.loop.body
        assert isinstance(step, Assign)
        by = Literal(str(lanes * loop.step))
        named = {u.target: part for u, part in zip(loop.updates, parts, strict=True)}
        body = tuple(_partial(stmt, named) for stmt in inside)
        yield replace(loop.loop, body=(*body, replace(step, value=by)))
        homes, width, values = self._homes(loop, lanes), lanes, list[Expr](parts)
        if homes:
            yield from self._shown(parts, loop, homes)
            width = lanes // WARP_SIZE
            values = [_part_of_warp(home, width) for home in homes]
        for part, update, gathered in zip(parts, loop.updates, values, strict=True):
            total = WarpReduce(update.op, gathered, width)
            stored: Stmt = Assign(update.target, update.op if update.op in "+*&|^" else "", total)
            if update.op in ("min", "max"):
                value = Name(fresh(f"{update.target.array}_all", self.taken), part.type)
                yield Declare(value.name, value.type, total)
                stored = Assign(update.target, "", combined(update.op, update.target, value, part.type))
            elif is_global(self.plain, update.target):
                value = Name(fresh(f"{update.target.array}_all", self.taken), part.type)
                yield Declare(value.name, value.type, total)
                stored = Assign(update.target, update.op, value)
            kept = not is_global(self.plain, update.target)
            yield stored if kept else If(compare("==", ThreadIndex("x"), 0), (stored,))

    # Threads of several warps ----------------------------------------------------------------------------------------
    def _homes(self, loop: ReductionLoop, lanes: int) -> tuple[Storage, ...]:
        """Return the shared arrays in which each warp of a row stores its partial result of each element."""
        if lanes <= WARP_SIZE:
            return ()
        first, warps = self.loops.index(loop), (Literal(str(lanes // WARP_SIZE)),)
        names = [fresh(f"{u.target.array}_parts{first or ''}", self.taken) for u in loop.updates]
        types = [_type(u) for u in loop.updates]
        return tuple(Storage(n, Space.SHARED, t, warps, n) for n, t in zip(names, types, strict=True))

    def _shown(self, parts: Sequence[Name], loop: ReductionLoop, homes: Sequence[Storage]) -> Iterator[Stmt]:
        """Yield the reduction within each warp, and its store for the other warps to read."""
        warp = Binary("/", ThreadIndex("x"), Literal(str(WARP_SIZE)))
        first = compare("==", Binary("%", ThreadIndex("x"), Literal(str(WARP_SIZE))), 0)
        for part, update, home in zip(parts, loop.updates, homes, strict=True):
            yield Assign(part, "", WarpReduce(update.op, part))
            yield If(first, (Assign(Access(home.array, (warp,), home.element), "", part),))
        yield Barrier("the parts of all warps must be there before threads combine them")


def _part_of_warp(home: Storage, warps: int) -> Access:
    """Return the part that a thread gives to the combination of all warps' parts."""
    return Access(home.array, (Binary("%", ThreadIndex("x"), Literal(str(warps))),), home.element)


def _partial(stmt: Stmt, named: dict[Access, Name]) -> Stmt:
    """Replace the elements in a statement of a loop by partial results."""
    found = update_of(stmt)
    if found is None or found.target not in named:
        return with_bodies(stmt, lambda inner: tuple(_partial(s, named) for s in inner))
    part = named[found.target]
    value = found.value if found.value.type == part.type else Cast(part.type, found.value)
    assert isinstance(stmt, Assign | If)
    if found.op in ("min", "max"):
        return Assign(part, "", combined(found.op, part, value, part.type), stmt.location)
    return Assign(part, "-" if found.inverse else found.op, value, stmt.location)


def _type(update: Accumulation) -> CType:
    ctype = partial_type(update)
    assert ctype is not None
    return ctype


def _shared(kernel: Kernel, taken: frozenset[str], machine: Machine, *, floating: bool) -> _Shared | None:
    """Return a kernel with loops that threads can share, if it has no others that data end; else None."""
    whiles = [n for n in kernel.nodes if isinstance(n, While)]
    if not whiles or not is_linear(kernel) or not _divide(kernel.block[0], machine):
        return None
    loops = tuple(reduction_loops(kernel, kernel.body, frozenset(), floating=floating))
    if len(loops) != len(whiles) or not only_first_lane_reads(kernel, loops):
        return None
    return _Shared(kernel, loops, machine, taken | kernel.names)


def _divide(threads: int, machine: Machine) -> bool:
    """Return whether so many threads are a multiple or a divisor of each number of threads that share a loop."""
    return all(not threads % lanes or not lanes % threads for _, lanes in machine.tuning.rows.lanes)


def _wide(value: Expr) -> Expr:
    """Return a size as the host has it."""

    def change(node: Any) -> Any:
        return replace(node, type=LLONG) if isinstance(node, Name | Literal) else node

    changed: Expr = rewrite(value, change)
    return changed
