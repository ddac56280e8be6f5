"""From a plan of split tiles to its kernel, and the host's loop over bands and phases.

before: for (t = first; t <= last; t++) ...
after:  for (band = first / H; band <= last / H; band++)
            for (phase = 0; phase <= d; phase++)                    shrinking tiles first
                split <<<tiles of the phase's colours>>> (band's first step, those that there are, phase)

after:  rest = first; for (band = rest / H; ..) ..      where others may run the iterations before `rest`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.host_program import host_program
from polytile.codegen.lowering.kernel_arrays import array_storage, parameters_of, statement_lines
from polytile.codegen.lowering.lower import wide
from polytile.codegen.lowering.time_tiles.split.fill_and_drain import Transfers
from polytile.codegen.lowering.time_tiles.split.tile_coordinates import TilePlaces
from polytile.codegen.lowering.time_tiles.split.tile_steps import TileSteps, rings_of
from polytile.codegen.lowering.time_tiles.split.touched_cells import Band
from polytile.codegen.lowering.time_tiles.written_cells import Cells, cells_of
from polytile.codegen.passes.prune_signature import pruned
from polytile.ir.arith import add, binary, both, compare, div, either, least, lift, mod, most, mul, select, sub
from polytile.ir.expr import BOOL, LLONG, Call, CType, Declare, Expr, For, If, Name, Stmt
from polytile.ir.gpu_ops import BlockIndex, Leave, Shuffle, ThreadIndex
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Comment, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.machine import WARP_SIZE


def split_program(
    scop: Scop, plan: SplitTiles, buffers: tuple[Buffer, ...], integer: CType, *, behind: bool = False
) -> HostProgram:
    """Generate the host program of a plan; one that may run `behind` others declares its first iteration at once."""
    return _Program(scop, plan, integer, behind=behind).program(buffers)


class _Program:
    def __init__(self, scop: Scop, plan: SplitTiles, integer: CType, *, behind: bool) -> None:
        self.scop, self.plan, self.integer, self.names = scop, plan, integer, Names.of(scop)
        self.cells: Cells = cells_of(scop, [w.statement for w in plan.writes], plan.dims, 0, integer)
        self.start, self.begin, self.finish = (self._name(n) for n in ("t0", "first_step", "last_step"))
        self.last, self.phase = self._name("is_last"), self._name("phase")
        self.rest = Name(self.names.fresh("rest"), LLONG) if behind else None
        axes = ("row", "column")[2 - plan.dims :]
        self.first = tuple(self._name(f"first_{axis}_tile") for axis in axes)
        self.counts = tuple(self._name(f"{axis}_tiles") for axis in axes)

    def _name(self, wanted: str) -> Name:
        return Name(self.names.fresh(wanted), self.integer)

    # The host ----------------------------------------------------------------------------------------
    def program(self, buffers: tuple[Buffer, ...]) -> HostProgram:
        kernel = self._kernel()
        return host_program(self.scop, buffers, (kernel,), tuple(self._host(kernel)), self.plan.shape)

    def _host(self, kernel: Kernel) -> Iterator[Stmt]:
        first_time, last_time = (wide(side) for side in self.cells.times)
        if self.rest is not None:
            yield Declare(self.rest.name, LLONG, first_time)
        times = (self.rest or first_time, last_time)
        for k, cut in enumerate(self.plan.cuts):
            cells = tuple(wide(side) for side in self.cells.range[k])
            window = self._everywhere(k)
            first = _floor(add(sub(cells[0], window[1]), cut.period - 1), cut.period)  # the first that ends behind it
            yield Declare(self.first[k].name, LLONG, first)
            end = _floor(sub(cells[1], window[0]), cut.period)
            yield Declare(self.counts[k].name, LLONG, most(add(sub(end, Name(self.first[k].name, LLONG)), 1), 0))
        band = Name(self.names.fresh("band"), LLONG)
        phases = lift(len(self.plan.phases))
        phase = Name(self.phase.name, LLONG)
        launch = Launch(kernel.name, (wide(self._blocks()), lift(1), lift(1)))
        each = For(phase.name, lift(0), compare("<", phase, phases), 1, (launch,), LLONG)
        height = self.plan.iterations
        start = Name(self.start.name, LLONG)
        values = (
            Declare(start.name, LLONG, mul(band, height)),
            Declare(self.begin.name, LLONG, most(sub(times[0], start), 0)),
            Declare(self.finish.name, LLONG, least(sub(times[1], start), height - 1)),
            Declare(self.last.name, LLONG, compare(">=", add(start, height), add(times[1], 1))),
        )
        used = {node.name for node in kernel.nodes if isinstance(node, Name)} | {start.name}
        body = (*(value for value in values if value.name in used), each)
        first, last = (_floor(side, height) for side in times)
        bands: Stmt = For(band.name, first, compare("<=", band, last), 1, body, LLONG)
        guards = [] if self.cells.some is None or not self._others else [wide(self.cells.some)]
        guards.append(compare("<=", times[0], times[1]))
        yield If(both(*guards), (bands,))

    @property
    def _others(self) -> bool:
        """Return whether conditions beyond sides tell where statements write."""
        return any(w.others is not None for w in self.cells.writers.values())

    def _everywhere(self, k: int) -> tuple[int, int]:
        """Return the first and last place that a tile writes at any step, of either kind."""
        shrinking, growing = self._written(k)
        return min(shrinking[0], growing[0]), max(shrinking[1], growing[1])

    def _written(self, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the first and last place that a tile writes at any step, for one that shrinks and one that grows."""
        cut, height = self.plan.cuts[k], self.plan.iterations
        windows = [self.plan.written(w, k) for w in self.plan.writes]
        shrinking = min(w.low[0] for w in windows), max(w.high[0] for w in windows)
        first = min(w.low[1] - cut.lower_growth(height) for w in windows)
        return shrinking, (first, max(w.high[1] + cut.upper_growth(height) for w in windows))

    def _blocks(self) -> Expr:
        tiles: Expr = lift(1)
        for count in self.counts:
            tiles = mul(tiles, Name(count.name, LLONG))
        if self.plan.dims == 1:
            return div(add(tiles, self.plan.tiles - 1), self.plan.tiles)
        if not self.plan.merged:
            return tiles
        return mul(tiles, select(compare("==", Name(self.phase.name, LLONG), 1), lift(2), lift(1)))

    # The kernel --------------------------------------------------------------------------------------
    def _kernel(self) -> Kernel:
        names, plan = self.names.copy(), self.plan
        block = Name(names.fresh("block"), self.integer)
        axes = ("x", "y")[: plan.dims]
        indices = tuple(Name(names.fresh(n), self.integer) for n in ("thread", "thread_row")[: plan.dims])
        warp, lane = (Name(names.fresh(n), self.integer) for n in ("warp", "lane"))
        places = TilePlaces(plan, self.cells, names)
        rings = rings_of(self.scop, plan, names)
        band = Band(self.start, self.begin, self.finish, self.last)
        steps = TileSteps(self.scop, plan, places, rings, band, names, (warp, lane))
        moves = Transfers(self.scop, plan, places, rings, band, names, (warp, lane))
        work = (
            *(ring.declared() for ring in rings.values()),
            Comment("fill"),
            moves.fill(),
            steps.loop(),
            Comment("drain"),
            moves.drain(),
        )
        body: tuple[Stmt, ...] = tuple(self._threads(indices, warp, lane))
        if plan.tile_warps == 1 and plan.dims == 1:
            body += tuple(self._of_warp(places, names, block, warp, lane, work))
        else:
            own = indices if plan.dims == 1 else (warp, lane)
            body += (*self._tile(places, block, names), self._leaves(places))
            body += (*steps.prepared(), *places.declared(own), *work)
        return pruned(
            Kernel(
                name=f"{self.scop.name}_split",
                parameters=self._parameters(),
                block=(WARP_SIZE * plan.warps, 1, 1) if plan.dims == 1 else (WARP_SIZE, plan.warps, 1),
                coordinates=(
                    Coordinate(block.name, BlockIndex("x")),
                    *(Coordinate(n.name, ThreadIndex(axis)) for n, axis in zip(indices, axes, strict=True)),
                ),
                storage=(*self._storage(), *steps.storage(), *moves.storage()),
                body=body,
                summary=self._summary(),
                index_type=self.integer.name,
            )
        )

    def _threads(self, indices: Sequence[Name], warp: Name, lane: Name) -> Iterator[Stmt]:
        """Declare the number of a thread's warp, and its lane.

        ptxas knows that a number which comes from one lane is the same in all: branches on it need not make lanes
        converge again before they shuffle.
        """
        thread = indices[0]
        number = div(thread, WARP_SIZE) if self.plan.dims == 1 else indices[1]
        yield Declare(warp.name, self.integer, Shuffle("from", number, lift(0)))
        yield Declare(lane.name, self.integer, mod(thread, WARP_SIZE) if self.plan.dims == 1 else thread)

    def _of_warp(
        self, places: TilePlaces, names: Names, block: Name, warp: Name, lane: Name, work: Sequence[Stmt]
    ) -> Iterator[Stmt]:
        """Yield the statements for a tile of each warp."""
        number = Name(names.fresh("number"), self.integer)
        yield Declare(number.name, self.integer, add(mul(block, self.plan.warps), warp))
        inside = (*self._tile(places, number, names), *places.declared((lane,)), *work)
        yield If(compare("<", number, self.counts[0]), inside)

    def _tile(self, places: TilePlaces, number: Name, names: Names) -> Iterator[Stmt]:
        """Declare which tile this is, and how it changes."""
        rest: Expr = number
        for k in reversed(range(self.plan.dims)):
            own = rest if self.plan.dims == 1 else mod(rest, self.counts[k])
            yield Declare(places.tile[k].name, self.integer, add(own, self.first[k]))
            rest = div(rest, self.counts[k])
        if self.plan.dims == 1:
            yield Declare(places.grows[0].name, BOOL, compare("==", self.phase, 1))
            return
        if not self.plan.merged:
            for k, bit in enumerate((2, 1)):
                yield Declare(places.grows[k].name, BOOL, compare("!=", binary("&", self.phase, bit), 0))
            return
        colour = Name(names.fresh("colour"), self.integer)
        yield Declare(colour.name, self.integer, rest)
        for k in range(2):  # of the two colours of the second phase, the first grows along the last dimension
            one = both(compare("==", self.phase, 1), compare("==", colour, 1 - k))
            yield Declare(places.grows[k].name, BOOL, either(compare("==", self.phase, 2), one))

    def _leaves(self, places: TilePlaces) -> Stmt:
        """End blocks whose tiles write nothing.

        The launch has a tile wherever one of either kind does, and the grid of a phase is not as wide for those that
        shrink as for those that grow.
        """
        empty = []
        for k, cut in enumerate(self.plan.cuts):
            corner, cells = mul(places.tile[k], cut.period), self.cells.range[k]
            first, last = (places.chosen(k, (a, b)) for a, b in zip(*self._written(k), strict=True))
            empty += [compare("<", add(corner, last), cells[0]), compare(">", add(corner, first), cells[1])]
        return If(either(*empty), (Leave("the tile has no places"),))

    def _parameters(self) -> tuple[KernelParameter, ...]:
        integers = [p.name for p in self.scop.parameters]
        integers += [n.name for n in (*self.first, *self.counts, self.start, self.begin, self.finish, self.last)]
        return parameters_of((*integers, self.phase.name), self._storage(), self.integer)

    def _storage(self) -> tuple[Storage, ...]:
        return array_storage(self.scop, {w.array for w in self.plan.writes})

    def _summary(self) -> tuple[str, ...]:
        lines = statement_lines(self.scop.statement(w.statement) for w in self.plan.writes)
        return (*lines, f"split schedule; {self.plan.iterations} steps from {self.start.name} on, tiles in registers")


def _floor(value: Expr, by: int) -> Expr:
    return value if by == 1 else Call("floord", (value, lift(by)), LLONG)
