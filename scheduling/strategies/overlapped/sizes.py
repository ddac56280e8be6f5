"""Sizes of overlapped tiles: how many iterations a block has, how wide tiles are, and how many planes each owns.

More iterations fetch values less often, but tiles lose more of their cells to the halo, and need more registers or
shared memory, so that fewer warps have a place. The estimate of time weighs that, for the sizes that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil, prod, sqrt

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead
from polytile.ir.time_tile import Exchange, TileThreads
from polytile.machine import REGISTER_FILE_PARTITIONS, WARP_SIZE
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.analysis.stencil_values import StencilValues
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.block_tile_time import NEARLY
from polytile.scheduling.cost.machine_model import registers_alone
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.stream_resources import StreamFigures, TileFigures, stream_figures
from polytile.scheduling.cost.stream_time import StreamCost, StreamSizes, TileCost, stream_sizes
from polytile.scheduling.strategies.overlapped.plane_schedule import MOST_DIMENSIONS
from polytile.scheduling.strategies.overlapped.stream_steps import StreamSteps, stream_steps

AS_FAST = 1.03  # the times of two plans, by estimates that are within 10 or 12%
MOST_ROUNDS = {Exchange.WARP: 3, Exchange.BLOCK: 4}  # in which tiles get their places


@dataclass(frozen=True, slots=True)
class SizedPlan:
    """A plan, and the microseconds of the whole SCoP with it, and where memory is as slow as the architecture has it;
    `looked_at` are the former for each number of iterations."""

    plan: OverlappedTiles
    microseconds: float
    slow: float
    looked_at: tuple[tuple[int, float], ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of --explain."""
        yield from self.plan.lines()
        yield f"about {self.microseconds:.4g} us{'' if self.plan.once else ' for all iterations'}"
        if len(self.looked_at) > 1:
            others = ", ".join(f"{count}: {time:.4g}" for count, time in self.looked_at)
            yield f"us by iterations of a kernel: {others}"


def sized_plan(problem: Problem, values: StencilValues) -> SizedPlan:
    """Return the plan of the sizes that are asked for, or the fastest by estimate.

    Raises NotAStencilError where there is none, UsageError where sizes that are asked for do not fit together.
    """
    return _Search(problem, values).best()


class _Search:
    def __init__(self, problem: Problem, values: StencilValues) -> None:
        self.problem, self.values, self.choices = problem, values, problem.choices
        self.machine, self.tuning = problem.machine, problem.machine.tuning.stream
        self.slow = self.machine.speed.with_slow_memory
        scop, dims = problem.scop, values.dims
        self.place = scop.statement(values.fields[0].statements[0]).location
        if dims > MOST_DIMENSIONS:
            raise NotAStencilError(f"space has {dims} dimensions, more than {MOST_DIMENSIONS}", self.place)
        self.exchange = Exchange.BLOCK if dims == MOST_DIMENSIONS else Exchange.WARP
        # Large ones, of planes too: small grids take about as long with tiles for large ones as with their own.
        assumed = assumed_sizes(scop, problem.machine.tuning.tiles.assumed_elements, least_rank=2)
        known = fix_parameters(scop.context, {**assumed, **problem.options.parameters})
        self.sizes: StreamSizes = stream_sizes(scop, dims, known, values.once)
        self.known = all(p.name in problem.options.parameters for p in scop.parameters)

    def best(self) -> SizedPlan:
        found: list[SizedPlan] = []
        reason: NotAStencilError | None = None
        for iterations in self._iterations():
            try:
                own = self._of(iterations)
            except NotAStencilError as error:
                reason = reason or error
                continue
            if own is None:
                what = "all fields" if self.values.once else "several iterations"
                reason = NotAStencilError(f"no tile of {what} fits into registers and memory", self.place)
                break  # more need more of everything
            found.append(own)
        if not found:
            raise reason or NotAStencilError("no time loop", self.place)
        fastest = min(found, key=self._on_all_parts)
        return replace(fastest, looked_at=tuple((f.plan.iterations, f.microseconds) for f in found))

    def _on_all_parts(self, one: SizedPlan) -> float:
        """Return the time to compare: of tiles that stream over planes, the geometric mean of both times.

        These tiles fetch the less the more iterations they have.
        """
        return sqrt(one.microseconds * one.slow) if one.plan.streamed else one.microseconds

    def _iterations(self) -> Sequence[int]:
        """Return the iterations of a block to try: few enough for a pair of blocks, also those that leave no rest."""
        if self.values.once:
            return (1,)
        if self.choices.time_tile:
            return (self.choices.time_tile,)
        counts, all_of_them = self.tuning.iterations, int(self.sizes.iterations)
        even = (n for n in range(1, counts[-1] + 1) if all_of_them % (2 * n) == 0 and self.known)
        return [n for n in sorted({*counts, *even}) if 2 * n <= all_of_them] or counts[:1]

    def _of(self, iterations: int) -> SizedPlan | None:
        """Return the fastest plan of so many iterations that fits, or None."""
        retimed = not self.problem.options.strict
        steps = stream_steps(self.problem.scop, self.values, iterations, self.exchange, retimed)
        of_steps: StreamFigures | None = None
        found: list[SizedPlan] = []
        costs: list[StreamCost] = []
        for plan in self._tiles(steps):
            of_steps = of_steps or stream_figures(plan, self.problem.scop)
            figures = of_steps.of(plan)
            if not self._fits(plan, figures):
                continue
            cost = TileCost(plan, figures, self.machine, self.sizes)
            for chunk, at_once in self._chunks(cost):
                own = StreamCost(cost, chunk, at_once)
                found.append(SizedPlan(plan, own.microseconds(self.machine.speed), own.microseconds(self.slow)))
                costs.append(own)
        if not found:
            return None
        best = _with_least_work(found, self._time)
        return replace(best, plan=self._whole(next(c for one, c in zip(found, costs, strict=True) if one is best)))

    def _whole(self, own: StreamCost) -> OverlappedTiles:
        """Return the plan with the planes that tiles own, and with what compilers are told."""
        cost, plan = own.tiles, own.tiles.plan
        unrolled, blocks = self._unrolls(plan, cost.figures), self._min_blocks(cost)
        return replace(plan, chunk=own.chunk, tiles_at_once=own.tiles_at_once, unrolled=unrolled, min_blocks=blocks)

    def _time(self, one: SizedPlan) -> float:
        """Return the time by which tiles of equally many iterations are compared."""
        return one.microseconds if self.exchange is Exchange.BLOCK else self._on_all_parts(one)

    def _chunks(self, cost: TileCost) -> Sequence[tuple[int, int]]:
        """Return the planes that a tile owns, and how many tiles there are, as asked for or to try.

        To try are so many planes that all tiles have their place in a few rounds, with one warp of a scheduler or block
        of a multiprocessor or more.
        """
        plan, asked, planes = cost.plan, self.choices.tile, self.sizes.cells[0]
        if not plan.streamed:
            return ((0, 0),)
        if len(asked) == plan.dims:
            return ((asked[0], 0),)
        schedulers = REGISTER_FILE_PARTITIONS if plan.exchange is Exchange.WARP else 1
        places, most = self.machine.sms * schedulers, cost.resident // (plan.warps if schedulers == 1 else schedulers)
        if not self.known:
            return [(self.tuning.least_chunk, k * places) for k in range(1, MOST_ROUNDS[self.exchange] * most + 1)]
        chunks = {int(k * places // cost.across) for k in range(1, MOST_ROUNDS[self.exchange] * most + 1)}
        lengths = {ceil(planes / n) for n in chunks if n > 0 and planes / n >= self.tuning.least_chunk}
        return [(length, 0) for length in sorted(lengths | {0})]

    def _min_blocks(self, cost: TileCost) -> int:
        """Return the blocks of a multiprocessor that the estimate counts on, where they are several; else 0.

        Without this, ptxas may take more registers than it needs.
        """
        if cost.plan.exchange is Exchange.WARP:
            return 0
        blocks = cost.resident // cost.plan.warps
        return blocks if blocks > 1 else 0

    def _unrolls(self, plan: OverlappedTiles, figures: TileFigures) -> bool:
        """Return whether to unroll: not where threads of a block are short of registers.

        ptxas takes 25 to 50 more for several planes at once.
        """
        return plan.exchange is Exchange.WARP or figures.registers <= registers_alone(self.machine, plan.warps)

    def _fits(self, plan: OverlappedTiles, figures: TileFigures) -> bool:
        if self.choices.time_tile and self.choices.tile:
            return True
        if figures.instructions > self.tuning.instructions or figures.shared_bytes > self._shared_memory:
            return False
        most = registers_alone(self.machine, plan.warps)
        return figures.registers <= (NEARLY * most if plan.exchange is Exchange.BLOCK else most)

    @property
    def _shared_memory(self) -> int:
        """Return the shared memory of a block: as much as there is, unless it is bounded."""
        asked = self.problem.options.max_shared_memory
        return self.machine.shared_per_block if asked is None else asked

    # Tiles --------------------------------------------------------------------------------------------
    def _tiles(self, steps: StreamSteps) -> Iterator[OverlappedTiles]:
        """Yield the plans whose tiles have cells of their own."""
        for threads, points in self._shapes(steps.dims - int(steps.dims > 1)):
            block, halo = TileThreads(self.exchange, threads, points), steps.overlap(points)
            widths = block.tile
            if all(width > narrower for width, narrower in zip(widths, halo, strict=True)):
                splits = self.machine.splits_barriers and has_inner_rows(steps.reads, points)
                yield steps.plan(block, split_barrier=splits)
            elif self.choices.tile and self.choices.time_tile:
                raise UsageError(
                    f"--tile: {_by(widths)} is too narrow for --time-tile {steps.iterations}: {_by(halo)} is halo",
                    hint=f"more than {max(halo)}, or fewer iterations",
                )

    def _shapes(self, rank: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield the threads of a block, and the cells of each."""
        widths = self._widths(rank)
        for threads in self._threads(rank, widths):
            if widths:
                yield threads, self._asked_points(widths, self._lanes(threads))
            else:
                yield from ((threads, points) for points in self._points())

    def _lanes(self, threads: tuple[int, ...]) -> tuple[int, ...]:
        """Return the threads that share a tile, along each of its dimensions."""
        return (WARP_SIZE,) if self.exchange is Exchange.WARP else threads

    def _points(self) -> Sequence[tuple[int, ...]]:
        if self.exchange is Exchange.BLOCK:
            return self.tuning.patches
        return [(columns,) for columns in self.tuning.columns[self.values.dims - 1]]

    def _widths(self, rank: int) -> tuple[int, ...]:
        """Return the widths of a tile, as asked for; one number stands for each dimension."""
        asked = self.choices.tile
        return asked * rank if len(asked) == 1 else asked[-rank:]

    def _threads(self, rank: int, widths: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        asked, warps = self.choices.block, self.tuning.stacked_warps
        if not asked and self.exchange is Exchange.WARP:
            return [(self.tuning.warps,)]
        if not asked:
            fitting = [n for n in warps if not widths or widths[0] % n == 0]
            return [(n, WARP_SIZE) for n in fitting or warps[:1]]
        asked = asked if self.exchange is Exchange.WARP else asked[-rank:]
        count = prod(asked)
        if count % WARP_SIZE:
            raise UsageError(f"--block: {count} threads are no whole warps", hint=f"a multiple of {WARP_SIZE}")
        if self.exchange is Exchange.WARP:
            return [(count // WARP_SIZE,)]
        if len(asked) == rank and asked[-1] != WARP_SIZE:
            raise UsageError(
                f"--block: {asked[-1]} threads across the last dimension are no warp of {WARP_SIZE}",
                hint=f"{count // WARP_SIZE},{WARP_SIZE}",
            )
        return [(count // WARP_SIZE, WARP_SIZE)]

    def _asked_points(self, widths: Sequence[int], lanes: Sequence[int]) -> tuple[int, ...]:
        for width, count in zip(widths, lanes, strict=True):
            if width % count:
                raise UsageError(
                    f"--tile: {width} cells are not the same number for each of {count} threads",
                    hint=f"a multiple of {count}",
                )
        return tuple(width // count for width, count in zip(widths, lanes, strict=True))


def _with_least_work(found: Sequence[SizedPlan], time: Callable[[SizedPlan], float]) -> SizedPlan:
    """Return the plan with the fewest redundant cells, of those that are about as fast as the fastest by a time.

    It loses least where the estimate of what a cell takes is wrong.
    """
    about = AS_FAST * min(map(time, found))
    return min((one for one in found if time(one) <= about), key=lambda one: (one.plan.redundancy, time(one)))


def has_inner_rows(reads: Sequence[StreamRead], points: tuple[int, ...]) -> bool:
    """Return whether patches have rows for which no rows of other warps are read.

    These are computed before a wait for such rows.
    """
    offsets = [0, *(read.offset[1] for read in reads)] if len(points) > 1 else [0]
    return len(points) > 1 and points[0] > max(offsets) - min(offsets)


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
