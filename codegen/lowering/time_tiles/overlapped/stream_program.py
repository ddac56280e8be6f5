"""From a plan of overlapped tiles to its two kernels and the host's loop around them.

before: for (t = first; t <= last; t++) ...
after:  for (t0 = first; t0 < rest; t0 += 2 T) { to shadows <<<>>> (t0); t1 = t0 + T; from shadows <<<>>> (t1, ..) }
        what remains: for (t = rest; t <= last; t++) ...
        where these pay for many cells alone, rest is first for fewer: all remains; where none can, it is left out

before: for (i) B[i] = ..; for (i) C[i] = ..                    no loop over time
after:  if (rest) in <<<>>> ()                                  1 where there are cells, and all arrays have buffers
        if (!rest), as before
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from polytile.codegen.lowering.kernel_arrays import array_storage, parameters_of, statement_lines
from polytile.codegen.lowering.lower import wide
from polytile.codegen.lowering.time_tiles.overlapped.block_tiles import BlockTiles
from polytile.codegen.lowering.time_tiles.overlapped.kernel_body import KernelBody
from polytile.codegen.lowering.time_tiles.overlapped.shared_planes import SharedPlanes
from polytile.codegen.lowering.time_tiles.overlapped.stream_kernel import Stream
from polytile.codegen.lowering.time_tiles.overlapped.tile_grid import axes, chunks, owned_planes
from polytile.codegen.lowering.time_tiles.overlapped.warp_strips import WarpStrips
from polytile.codegen.lowering.time_tiles.written_cells import Cells, cells_of
from polytile.codegen.passes.prune_signature import pruned
from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, count_between, div, least, lift, most, mul, select
from polytile.ir.expr import LLONG, CType, Declare, Expr, For, If, Name, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex
from polytile.ir.kernel import Coordinate, Kernel, Launch
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import MOST_OF_A_SIDE, OverlappedTiles, StreamStep
from polytile.ir.scop import Scop
from polytile.ir.time_tile import Exchange
from polytile.machine import WARP_SIZE


@dataclass(frozen=True, slots=True)
class StreamProgram:
    """The kernels, a pair but for a DAG that is not iterated, the host's statements that run all whole pairs of blocks,
    and the name of the first iteration behind them, which these declare, as they do a bound of cells, if there is
    one. With `leaves_none` there is no iteration behind them, for any sizes."""

    kernels: tuple[Kernel, ...]
    prefix: tuple[Stmt, ...]
    rest: Name
    least_cells: Name | None = None
    leaves_none: bool = False


def stream_kernels(scop: Scop, plan: OverlappedTiles, names: Names, integer: CType) -> StreamProgram:
    """Generate the program of a plan, but for the iterations that are no whole pair of blocks."""
    return _Program(scop, plan, names, cells_of_plan(scop, plan, integer)).program()


def cells_of_plan(scop: Scop, plan: OverlappedTiles, integer: CType) -> Cells:
    """Return what is known of the cells that a plan's statements write."""
    statements = tuple(dict.fromkeys(name for step in plan.made for name in step.statements))
    back = None if plan.once else max((-step.iteration for step in plan.inputs), default=0)
    return cells_of(scop, statements, plan.dims, back, integer)


def bounded_cells(cells: Cells) -> Expr:
    """Count the cells of space as OverlappedTiles.least_cells does."""
    sides = (count_between(wide(first), wide(last)) for first, last in cells.range)
    return reduce(mul, (least(side, MOST_OF_A_SIDE) for side in sides))


class _Program:
    def __init__(self, scop: Scop, plan: OverlappedTiles, names: Names, cells: Cells) -> None:
        self.scop, self.plan, self.names, self.cells = scop, plan, names, cells
        self.integer = cells.integer
        self.axes = axes(plan, cells)
        counts = ("strips", "tile_rows")[: len(self.axes)][::-1]
        self.counts = tuple(Name(names.fresh(name), self.integer) for name in counts)
        self.times = tuple(Name(names.fresh(name), self.integer) for name in ("t0", "t1"))
        self.last = Name(names.fresh("is_last"), self.integer) if plan.blocks > 1 else None
        chosen = plan.chunk and not plan.tiles_at_once  # before it runs
        self.chunk: Expr | None = lift(plan.chunk) if chosen else None
        if plan.tiles_at_once:
            self.chunk = Name(names.fresh("chunk"), self.integer)
        self.least_cells = Name(names.fresh("least_cells"), LLONG) if plan.least_cells else None

    def program(self) -> StreamProgram:
        kernels = tuple(self._kernel(number) for number in range(self.plan.kernels))
        rest = Name(self.names.fresh("rest"), LLONG)
        prefix = (*self._sizes(), *self._host(kernels, rest))
        alone = self.least_cells is None and self.scop.main == self.scop.statements
        none = alone and self.cells.leaves_none(self._height)
        return StreamProgram(kernels, prefix, rest, self.least_cells, none)

    # The host ----------------------------------------------------------------------------------------
    def _sizes(self) -> Iterator[Stmt]:
        for name, axis in zip(self.counts, self.axes, strict=True):
            yield Declare(name.name, LLONG, wide(axis.count))
        if isinstance(self.chunk, Name):
            yield Declare(self.chunk.name, LLONG, wide(owned_planes(self.plan, self.cells, self.counts)))
        if self.least_cells is not None:
            yield Declare(self.least_cells.name, LLONG, lift(self.plan.least_cells))

    def _host(self, kernels: Sequence[Kernel], rest: Name) -> tuple[Stmt, ...]:
        grid = wide(self._blocks()), lift(1), lift(1)
        if self.plan.once:
            runs = lift(1) if self.cells.some is None else select(wide(self.cells.some), lift(1), lift(0))
            launch = If(compare(">", rest, 0), tuple(Launch(kernel.name, grid) for kernel in kernels))
            return Declare(rest.name, LLONG, runs), launch
        first, height = wide(self.cells.times[0]), self._height
        t0 = Name(self.times[0].name, LLONG)
        launches = tuple(self._launches(kernels, grid, t0, rest))
        return (
            Declare(rest.name, LLONG, add(first, mul(self._turns(), height))),
            For(t0.name, first, compare("<", t0, rest), height, _asked_for(launches, kernels), LLONG),
        )

    def _launches(
        self, kernels: Sequence[Kernel], grid: tuple[Expr, Expr, Expr], t0: Name, rest: Name
    ) -> Iterator[Stmt]:
        """Yield the launches of a pair of blocks, or of one that is in place, which may have a kernel for each step."""
        yield Launch(kernels[0].name, grid)
        if self.plan.exchange.is_one_step:
            yield from (Launch(kernel.name, grid) for kernel in kernels[1:])
        if self.last is not None:
            t1 = Name(self.times[1].name, LLONG)
            yield Declare(t1.name, LLONG, add(t0, self.plan.iterations))
            yield Declare(self.last.name, LLONG, compare(">=", add(t1, self.plan.iterations), rest))
            yield Launch(kernels[1].name, grid)

    @property
    def _height(self) -> int:
        """Return the iterations of a turn of the host's loop, or the single one of a DAG that is not iterated."""
        return self.plan.blocks * self.plan.iterations

    def _turns(self) -> Expr:
        """Return the number of turns of the host's loop: none where arrays may have no buffers, or cells are few."""
        first, last = (wide(side) for side in self.cells.times)
        turns = div(most(count_between(first, last), 0), self._height)
        if self.least_cells is not None:
            turns = select(compare(">=", bounded_cells(self.cells), self.least_cells), turns, lift(0))
        return turns if self.cells.some is None else select(wide(self.cells.some), turns, lift(0))

    def _blocks(self) -> Expr:
        tiles = reduce(mul, self.counts, chunks(self.plan, self.cells, self.chunk))
        warps = self.plan.warps if self.plan.exchange is Exchange.WARP else 1
        return div(add(tiles, warps - 1), warps)

    # A kernel ----------------------------------------------------------------------------------------
    def _kernel(self, number: int) -> Kernel:
        to_shadows = number < self.plan.blocks - 1
        time = lift(0) if self.plan.once else self.times[0 if self.plan.blocks == 1 else number]
        stream = Stream(self.scop, self.plan, self.cells, to_shadows, time, self.last, self.chunk)
        names = self.names.copy()
        block = Name(names.fresh("block"), self.integer)
        axes = ("x", "y", "z")[: len(self.plan.threads)][::-1]
        threads = tuple(Name(names.fresh("thread" if axis == "x" else f"thread_{axis}"), self.integer) for axis in axes)
        form = self._form(stream, names, block, threads, number)
        arrays = self._storage(stream, number)
        storage = (*arrays, *form.storage())
        integers = (*(p.name for p in self.scop.parameters), *(n.name for n in self.counts))
        also = (self.chunk, stream.time, self.last)
        integers += tuple(one.name for one in also if isinstance(one, Name))
        return pruned(
            Kernel(
                name=f"{self.scop.name}_{self._suffix(number)}",
                parameters=parameters_of(integers, arrays, self.integer),
                block=self._threads(),
                coordinates=(
                    Coordinate(block.name, BlockIndex("x")),
                    *(Coordinate(n.name, ThreadIndex(axis)) for n, axis in zip(threads, axes, strict=True)),
                ),
                storage=storage,
                body=tuple(form.body()),
                summary=self._summary(stream, number),
                index_type=self.integer.name,
                min_blocks=self.plan.min_blocks,
                bounds=form.bounds(),
                apart=tuple(dict.fromkeys(s.array for s in self.plan.inputs)) if self.plan.in_place else (),
            )
        )

    def _suffix(self, number: int) -> str:
        if self.plan.exchange.is_one_step:
            return f"in{number}" if len(self.plan.made) > 1 else "in"
        return "out" if number else "in"

    def _form(
        self, stream: Stream, names: Names, block: Name, threads: tuple[Name, ...], number: int
    ) -> KernelBody | SharedPlanes:
        if self.plan.exchange.is_one_step:
            return SharedPlanes(stream, names, self.counts, block, threads, self.plan.made[number])
        if self.plan.exchange is Exchange.WARP:
            return WarpStrips(stream, names, self.counts, block, threads[-1])
        return BlockTiles(stream, names, self.counts, block, threads)

    def _threads(self) -> tuple[int, int, int]:
        if self.plan.exchange is Exchange.WARP:
            return WARP_SIZE * self.plan.warps, 1, 1
        x, y, z = (*reversed(self.plan.threads), 1, 1)[:3]
        return x, y, z

    def _made(self, number: int) -> tuple[StreamStep, ...]:
        """Return the steps that a kernel makes."""
        return self.plan.made[number : number + 1] if self.plan.exchange.is_one_step else self.plan.made

    def _storage(self, stream: Stream, number: int) -> tuple[Storage, ...]:
        made = {step.index for step in self._made(number)}
        stores = (store for store in stream.stores if store.step in made)
        return array_storage(self.scop, {stream.target(store, stream.nowhere).array for store in stores})

    def _summary(self, stream: Stream, number: int) -> tuple[str, ...]:
        made = {name for step in self._made(number) for name in step.statements}
        lines = statement_lines(self.scop.statement(name) for name in self.cells.writers if name in made)
        if not isinstance(stream.time, Name):
            return tuple(lines)
        if self.plan.in_place:
            return (*lines, f"iteration {stream.time.name}, in place")
        where = "to" if stream.to_shadows else "from"
        return (*lines, f"{self.plan.iterations} iterations from {stream.time.name} on, {where} the second buffers")


def _asked_for(body: Sequence[Stmt], kernels: Sequence[Kernel]) -> tuple[Stmt, ...]:
    """Remove declarations of what neither a kernel nor a later statement uses."""
    used = {p.name for kernel in kernels for p in kernel.parameters}
    kept: list[Stmt] = []
    for stmt in reversed(body):
        if not isinstance(stmt, Declare) or stmt.name in used:
            used |= {n.name for n in walk(stmt) if isinstance(n, Name)}
            kept.append(stmt)
    return tuple(reversed(kept))
