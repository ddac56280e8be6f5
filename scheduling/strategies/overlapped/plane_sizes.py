"""Sizes of kernels of one step whose blocks share planes: what is asked for, the rest by estimate.

before: --planes registers --tile 8,64 --block 4,32
after:  two points of a thread along y, 4 rows apart, and two along x, 32 columns apart; 1 barrier a plane; chunks of
        planes with which all tiles have their place in few rounds

Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes on GPU clusters (CGO 2012), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, prod

from polytile.diagnostics import UsageError
from polytile.ir.expr import ULLONG
from polytile.ir.overlapped_tiles import OverlappedTiles, planes_behind
from polytile.ir.time_tile import Exchange, TileThreads
from polytile.machine import MAX_BLOCK_THREADS
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.plane_time import PlaneCost, PlaneTiles, plane_tiles
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.stream_time import StreamSizes, stream_sizes
from polytile.scheduling.strategies.overlapped.plane_schedule import MOST_DIMENSIONS
from polytile.scheduling.strategies.overlapped.plane_steps import plane_steps
from polytile.scheduling.strategies.overlapped.sizes import SizedPlan

EXCHANGES = {"shared": Exchange.PLANES, "registers": Exchange.COLUMNS}
BLOCKS = {1: ((128,), (256,)), 2: ((4, 32), (8, 32), (4, 64), (16, 32))}  # that are tried, by dimensions
POINTS = (1, 2)  # along each dimension, that are tried
MOST_CELLS = 8 * ULLONG.size  # that a thread has bits for
LEAST_CHUNK = 16  # planes: fewer are mostly halo
MOST_ROUNDS = 4  # in which tiles get their places


def plane_plan(problem: Problem) -> SizedPlan:
    """Return the requested plan of kernels of one step (`Choices.planes`); other sizes are the fastest by estimate.

    Raises NotAStencilError where there is none, UsageError where sizes that are asked for do not fit together.
    """
    return _Search(problem).best()


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem, self.choices, self.machine = problem, problem.choices, problem.machine
        self.exchange = EXCHANGES[self.choices.planes]
        self.steps = plane_steps(problem)
        scop, dims, made = problem.scop, self.steps.dims, next(s for s in self.steps.steps if not s.is_input)
        self.place = scop.statement(made.statements[0]).location
        if not 1 < dims <= MOST_DIMENSIONS:
            raise NotAStencilError(f"space has {dims} dimensions, and no planes that stream", self.place)
        self._check()
        assumed = assumed_sizes(scop, problem.machine.tuning.tiles.assumed_elements, least_rank=2)
        known = fix_parameters(scop.context, {**assumed, **problem.options.parameters})
        self.sizes: StreamSizes = stream_sizes(scop, dims, known, self.steps.once)
        self.known = all(p.name in problem.options.parameters for p in scop.parameters)

    def _check(self) -> None:
        steps, inputs = self.steps, [s.index for s in self.steps.steps if s.is_input]
        if not any(any(read.offset[1:]) for read in steps.reads):
            raise NotAStencilError("no cell is read that another thread reads, too", self.place)
        for source in inputs if self.exchange is Exchange.COLUMNS else ():
            beside = [r for r in steps.reads if r.source == source and any(r.offset[1:])]
            if len({planes_behind(steps.steps, r, 1) for r in beside}) > 1:
                array = steps.steps[source].array
                raise UsageError(
                    f"--planes registers: values of {array} beside a point are read in several planes",
                    hint="--planes shared keeps all of them in shared memory",
                )

    def best(self) -> SizedPlan:
        found = list(self._sized())
        if not found:
            raise UsageError(
                f"--planes {self.choices.planes}: no tile fits into {self._shared_memory} bytes of shared memory",
                hint="smaller sizes of --tile, or --barriers 2",
            )
        return min(found, key=lambda one: one.microseconds)

    def _sized(self) -> Iterator[SizedPlan]:
        for threads, points, barriers in product(self._threads(), self._points(), self._barriers()):
            own = self._asked_points(threads) or points
            plan = self._plan(threads, own, barriers)
            kernels = plane_tiles(plan, self.problem.scop, self.machine)
            if not all(map(self._fits, kernels)):
                continue
            for chunk, at_once in self._chunks(min(kernels, key=lambda one: one.resident)):
                chosen = replace(plan, chunk=chunk, tiles_at_once=at_once)
                costs = [PlaneCost(one, self.sizes.cells, self.sizes.launches(plan), chunk, at_once) for one in kernels]
                speed = self.machine.speed
                fast, slow = (sum(c.microseconds(s) for c in costs) for s in (speed, speed.with_slow_memory))
                yield SizedPlan(chosen, fast, slow)

    def _plan(self, threads: tuple[int, ...], points: tuple[int, ...], barriers: int) -> OverlappedTiles:
        """Build the plan of kernels of one step with one or two barriers.

        With one barrier, it keeps a plane more: who is late reads what the others do not overwrite yet.
        """
        more, ring = 2 - barriers, self.exchange is Exchange.PLANES
        steps = self.steps
        if ring and more:
            beside = {r.source for r in steps.reads if any(r.offset[1:])}
            grown = (replace(s, slots=s.slots + more) if s.index in beside else s for s in steps.steps)
            steps = replace(steps, steps=tuple(grown))
        shared, read_only = 0 if ring else 1 + more, bool(self.choices.read_only) and not self._updates()
        plan = steps.plan(TileThreads(self.exchange, threads, points))
        return replace(plan, barriers=barriers, shared_planes=shared, read_only=read_only)

    def _updates(self) -> bool:
        """Return whether a kernel may overwrite the cells that it reads, which the read-only path must not have.

        It may where it reads a version of its array at these alone.
        """
        steps = self.steps.steps
        sources = {r.source for r in self.steps.reads if steps[r.source].array == steps[r.step].array}
        return any(not any(any(r.offset) for r in self.steps.reads if r.source == source) for source in sources)

    def _fits(self, tiles: PlaneTiles) -> bool:
        if tiles.most_loads > MOST_CELLS:
            raise UsageError(
                f"--tile: a thread loads {tiles.most_loads} cells of a plane, more than {MOST_CELLS}",
                hint="more threads of --block, or smaller sizes",
            )
        return tiles.shared_bytes <= self._shared_memory

    @property
    def _shared_memory(self) -> int:
        asked = self.problem.options.max_shared_memory
        return self.machine.shared_per_block if asked is None else asked

    # What is tried ------------------------------------------------------------------------------------
    @property
    def _rank(self) -> int:
        return self.steps.dims - 1

    @property
    def _widths(self) -> tuple[int, ...]:
        """Return the widths of a tile, as asked for; one number stands for each dimension."""
        asked = self.choices.tile
        return asked * self._rank if len(asked) == 1 else asked[-self._rank :]

    def _threads(self) -> Sequence[tuple[int, ...]]:
        asked = self.choices.block[-self._rank :]
        if asked:
            return [(1,) * (self._rank - len(asked)) + asked]
        widths = self._widths
        if not widths:
            return BLOCKS[self._rank]
        fitting = [b for b in BLOCKS[self._rank] if all(w % n == 0 for w, n in zip(widths, b, strict=True))]
        if not fitting and prod(widths) > MAX_BLOCK_THREADS:
            raise UsageError("--tile: no block of threads divides these sizes", hint="say which, with --block 8,32")
        return fitting or [widths]

    def _points(self) -> Sequence[tuple[int, ...]]:
        if self._widths:
            return [()]
        return list(product(POINTS, repeat=self._rank))

    def _asked_points(self, threads: tuple[int, ...]) -> tuple[int, ...]:
        for width, count in zip(self._widths, threads, strict=bool(self._widths)):
            if width % count:
                raise UsageError(
                    f"--tile: {width} cells are not the same number for each of {count} threads",
                    hint=f"a multiple of {count}",
                )
        points = tuple(width // count for width, count in zip(self._widths, threads, strict=bool(self._widths)))
        if prod(points) > MOST_CELLS:
            raise UsageError(f"--tile: a thread has {prod(points)} points", hint=f"at most {MOST_CELLS}")
        return points

    def _barriers(self) -> Sequence[int]:
        return (self.choices.barriers,) if self.choices.barriers else (1, 2)

    def _chunks(self, tiles: PlaneTiles) -> Sequence[tuple[int, int]]:
        """Return the planes that a tile owns, with the tiles there are at once where that is found when they run."""
        asked, planes = self.choices.tile, self.sizes.cells[0]
        if len(asked) == self.steps.dims:
            return ((asked[0], 0),)
        places = self.machine.sms * tiles.resident
        if not self.known:
            return [(LEAST_CHUNK, k * places) for k in range(1, MOST_ROUNDS + 1)]
        across = prod(tiles.plan.counts(self.sizes.cells))
        parts = {int(k * places // across) for k in range(1, MOST_ROUNDS + 1)}
        lengths = {ceil(planes / n) for n in parts if n > 0 and planes / n >= LEAST_CHUNK}
        return [(length, 0) for length in sorted(lengths | {0})]
