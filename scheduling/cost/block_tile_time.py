"""The time of overlapped tiles that the warps of a block share, plane after plane.

    time of a plane: what one warp does after another, which is most of it, as few warps have a place: what it waits for
                     once, and some cycles for each of its instructions; and the issue slots of a scheduler for all of
                     its warps, of which words from other lanes take more, as a multiprocessor shuffles for one warp at
                     a time. Steps of a plane do not wait for one another: each is a plane behind
    time of a kernel: planes of a chunk with its halo, for each round in which tiles get their place, and some more
                     until the first planes have come; tiles at sides of space have more instructions, and the last
                     round has some; tiles do not end together, which takes a part of one round; and device memory,
                     which hides behind that in part

Fitted to 965 kernels of 24 stencils in single and double precision, with tiles of 4 to 16 warps and 1 to 16 cells of a
thread (H200, CUDA 13.0; polybench/results/overlapped-tiles-2026-11-26.jsonl and records of `polytile tune` of 30
November 2026): the estimates are within 12% and 10% (root mean square), himeno's within 50%. What steps wait for
elements of other arrays is by cheby (H100: 409 ms in double precision, 166 in single), for divisions and roots by
denoise (615 ms in double precision).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.machine import REGISTER_FILE_PARTITIONS, Machine
from polytile.scheduling.cost.machine_model import registers_alone, together, value_cycles
from polytile.scheduling.cost.stream_resources import TileFigures

PLANE_CYCLES = 530  # for loads, the barrier and the first values of each plane
START_PLANES = 5  # the time of so many passes before the first planes have come, and after the last
ROUND_SPREAD = 0.23  # of the time of a round, by which its tiles end later than on average
INSTRUCTION_CYCLES = 1.13  # of a warp, one after another
ISSUE_CYCLES = 0.9  # of a scheduler
LOAD_CYCLES = 175  # of a warp, for each element of another array
SLOW_CYCLES = 40  # of a warp, for each instruction of a division or a function
SHUFFLE_CYCLES = 2.0  # of a scheduler, for each word from another lane, beside its issue
SPILL_INSTRUCTIONS = 0.15  # for the square of the registers that are missing: first those that are seldom needed
MOVE_INSTRUCTIONS = 0.2  # for each register of a loop that is not unrolled, as some are missing: values change theirs
NEARLY = 1.1  # of the registers that there are: as many more are within the estimate's error, or cost little
SIDE_WAITS = 0.5  # times the instructions that tiles at sides have more: what they load is seldom waited for
BESIDE = 1.3  # how times of warps add up that hide behind one another in part: (a^p + b^p)^(1/p)
MEMORY_TIMES = 1.44  # the time of a copy
BESIDE_MEMORY = 2.0  # the same for that of planes and of device memory


@dataclass(frozen=True)
class BlockTiles:
    """Tiles of blocks, on multiprocessors that have room for `resident` of them each."""

    plan: OverlappedTiles
    figures: TileFigures
    machine: Machine
    resident: int

    def cycles(self, tiles: float, at_sides: float, planes: float) -> float:
        """Compute the cycles until so many tiles are done, if nothing waits for device memory.

        A share of them is at sides, and each has so many planes.
        """
        places = self.machine.sms * self.resident
        rounds = max(1, ceil(tiles / places))
        last = min(self.resident, max(1, ceil((tiles - (rounds - 1) * places) / self.machine.sms)))
        inside, side = self._inside, self._side
        on_average = (1 - at_sides) * self._plane(inside, self.resident)
        on_average += at_sides * self._plane(side, self.resident)
        one_after_another = (rounds - 1) * self._plane(inside, self.resident) + self._plane(side, last)
        spread = 1 + ROUND_SPREAD / rounds
        return (planes + START_PLANES) * spread * max(tiles / places * on_average, one_after_another)

    @cached_property
    def _inside(self) -> float:
        missing = max(0, self.figures.registers - registers_alone(self.machine, self.plan.warps))
        moved = MOVE_INSTRUCTIONS * self.figures.registers if missing else 0.0
        return self.figures.instructions + SPILL_INSTRUCTIONS * missing**2 + moved

    @cached_property
    def _side(self) -> float:
        """Return the instructions of a plane at a side, with what is waited for."""
        return self._inside + SIDE_WAITS * self.figures.side_instructions

    @cached_property
    def _waiting(self) -> float:
        """Compute the cycles of a plane in which a warp waits.

        It waits for elements of other arrays, for which it has no registers before it needs them, and for divisions and
        functions, which are loops of their own to the compiler's scheduler.
        """
        made = self.figures.made
        loads, slow = sum(len(f.loads) for f in made), sum(f.slow for f in made)
        return prod(self.plan.points) * (LOAD_CYCLES * loads + SLOW_CYCLES * slow)

    def _plane(self, instructions: float, at_once: int) -> float:
        """Compute the cycles of a plane of tiles that are resident on a multiprocessor at the same time."""
        alone = PLANE_CYCLES + INSTRUCTION_CYCLES * instructions + self._waiting
        slots = max(ISSUE_CYCLES * instructions, self._operation_cycles)
        slots += SHUFFLE_CYCLES * self.figures.shuffled
        return together(BESIDE, alone, slots * at_once * self.plan.warps / REGISTER_FILE_PARTITIONS)

    @cached_property
    def _operation_cycles(self) -> float:
        """Compute the cycles for which the operations of a warp on a plane keep the units of a scheduler busy."""
        busy = (f.arithmetic * value_cycles(self.machine, double=f.double) for f in self.figures.made)
        return prod(self.plan.points) * sum(busy)


def share_at_sides(counts: Sequence[int]) -> float:
    """Compute the share of tiles at sides, of so many along each dimension that does not stream."""
    return 1 - prod(max(0, n - 2) for n in counts) / prod(counts)


def beside_memory(cycles: float, memory: float) -> float:
    """Compute the cycles of blocks and of what they wait for in device memory, if each were alone."""
    return together(BESIDE_MEMORY, cycles, MEMORY_TIMES * memory)
