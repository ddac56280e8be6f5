"""How long split tiles in registers take for a step of the time loop.

A tile's warps issue the instructions of its steps and of its fill and drain; a colour's tiles share the
multiprocessors, one round of blocks after another. The longest of issuing, waiting and memory counts, and a part of
the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import ceil, prod, sqrt

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.ir.time_tile import TileThreads
from polytile.machine import CACHE_LINE_BYTES, REGISTER_FILE_PARTITIONS, WARP_SIZE, Machine
from polytile.scheduling.cost.estimate import Estimate, KernelTime
from polytile.scheduling.cost.split_extents import SplitExtents
from polytile.scheduling.cost.split_resources import BlockFigures, split_figures
from polytile.tuning import SplitTuning


def split_estimate(plan: SplitTiles, scop: Scop, machine: Machine, parameters: Mapping[str, int]) -> Estimate:
    """Estimate the time of the whole SCoP: a kernel, launched for each phase of each band."""
    extents = SplitExtents.of(plan, scop, machine, parameters)
    figures = BlockFigures(split_figures(plan, scop, machine), plan.block)
    cost = SplitCost(figures, plan.iterations, tuple(cut.period for cut in plan.cuts), extents)
    values = tuple(sorted(extents.values.items()))
    phases = len(plan.phases)
    each = 1e6 / phases * plan.iterations
    kernel = KernelTime(
        number=0,
        launches=phases * ceil(extents.steps / plan.iterations),
        blocks=cost.tiles * 2**plan.dims / phases / plan.block.tiles,
        threads=WARP_SIZE * plan.warps,
        memory=each * cost.memory,
        arithmetic=each * cost.issuing,
        latency=each * cost.waiting,
        launch=machine.speed.launch_us,
        together=each * (cost.step_seconds - cost.launching),
    )
    return Estimate((kernel,), values)


@dataclass(frozen=True)
class SplitCost:
    """The kernel of bands of `height` steps, with tiles so many places apart along each dimension, for sizes that are
    known or assumed; times are seconds of a step of the time loop."""

    figures: BlockFigures
    height: int
    periods: tuple[int, ...]
    extents: SplitExtents

    @property
    def _block(self) -> TileThreads:
        return self.figures.block

    @property
    def _machine(self) -> Machine:
        return self.figures.of_plan.machine

    @property
    def _tuning(self) -> SplitTuning:
        return self.figures.of_plan.tuning

    @property
    def _launches(self) -> int:
        return self.figures.of_plan.launches

    @cached_property
    def tiles(self) -> float:
        """Return how many tiles of a colour there are, where most places are written."""
        return max(
            prod((max(1.0, n / period) for n, period in zip(written, self.periods, strict=True)), start=1.0)
            for written in self.extents.written
        )

    @cached_property
    def step_seconds(self) -> float:
        parts = self.issuing, self.waiting, self.memory
        beside = self._tuning.beside * (sum(parts) - max(parts))
        return float(max(parts) + beside + self.filling + self.launching)

    @property
    def filling(self) -> float:
        """Compute the seconds for the lines of the L1 cache, one a cycle, that the loads of a tile touch.

        Threads are some columns apart.
        """
        block, size, lines = self._block, self.figures.of_plan.size, 0
        for array, _ in self.figures.of_plan.fields:
            touched = ceil(WARP_SIZE * block.points[-1] * size[array] / CACHE_LINE_BYTES)
            lines += self.figures.cells * min(touched, WARP_SIZE)
        return self._tiles_a_step / self._machine.sms * block.tile_warps * lines / self._machine.speed.clock

    @property
    def launching(self) -> float:
        return self._launches * self._machine.speed.launch_us * 1e-6 / self.height

    @property
    def memory(self) -> float:
        return self.moved / self._machine.speed.memory

    @property
    def moved(self) -> float:
        """Compute the bytes of device memory that tiles fill and drain.

        Without what a launch finds in the L2 cache of what the one before it has written, which is a part of what it
        fills.
        """
        touched = self._tiles_a_step * self.figures.moved
        found = self._tuning.found * self._machine.speed.l2_bytes * self._launches / self.height
        return touched - min(found, touched / 2)

    @property
    def issuing(self) -> float:
        """Compute the seconds to issue the instructions of a step, with the warps that a multiprocessor has."""
        each = self._issue_seconds
        resident = min(self.tiles / self._at_once, 1.0) * self.figures.at_once * self._block.warps
        share, of_warps, most = self._tuning.issued
        issued = min(most, share * sqrt(resident / of_warps))
        return self._tiles_a_step / self._machine.sms * each / issued

    @property
    def _issue_seconds(self) -> float:
        """Compute the seconds of a multiprocessor, for all instructions of a tile, if it issued some in each cycle."""
        clocks = REGISTER_FILE_PARTITIONS * self._machine.speed.clock
        return (self._instructions + self._slower) * self._block.tile_warps / clocks

    @property
    def waiting(self) -> float:
        """Compute the seconds of a step that tiles wait, one round after another.

        Each round is as long as its steps take one after the other, or, where there is less than one round, as the
        instructions of its warps.
        """
        tuning, warps = self._tuning, self._block.tile_warps
        level = tuning.level_us + (tuning.barrier_us * warps if warps > 1 else 0.0)
        alone = 1e-6 * (tuning.tile_us + self.height * self.figures.of_plan.levels * level)
        alone += tuning.cycles_alone * self._dependent / self._machine.speed.clock
        rounds = max(1.0, self.tiles / self._at_once)
        if len(self.periods) > 1 and warps > 1 and rounds == 1:  # a multiprocessor has a tile by itself, or none
            alone = self._issue_seconds / tuning.issued_alone
        return float(rounds * self._colours * alone / self.height)

    @property
    def _colours(self) -> int:
        return 1 << len(self.periods)

    @property
    def _at_once(self) -> int:
        """Return the tiles that the GPU has at a time."""
        return self._machine.sms * self.figures.at_once * self._block.tiles

    @property
    def _tiles_a_step(self) -> float:
        """Compute the tiles of all colours, by the steps of a band."""
        return float(self._colours * self.tiles / self.height)

    @property
    def _dependent(self) -> float:
        """Compute the words that a thread computes one after another, for all steps of a tile and for what it fills and
        drains."""
        return self.height * self.figures.dependent + self.figures.moving

    @property
    def _instructions(self) -> float:
        """Count the instructions of a warp, for all steps of a tile and for what it fills and drains."""
        return float(self.height * self.figures.instructions * self._busy_warps + self.figures.moving)

    @property
    def _slower(self) -> float:
        """Compute the cycles for which operations of a warp keep the units of a scheduler busy, beside those of their
        issue."""
        return self.height * self.figures.slower * self._busy_warps

    @cached_property
    def _busy_warps(self) -> float:
        """Compute the share of a tile's warps that have places to compute.

        It is over the steps of shrinking and growing tiles, which are one period wide in sum; the warps at the sides
        compute all of their places.
        """
        block = self._block
        if block.tile_warps == 1:
            return 1.0
        of_warp = block.points[0] * (WARP_SIZE if len(self.periods) == 1 else 1)
        return min(1.0, (self.periods[0] / 2 + of_warp) / block.tile[0])
