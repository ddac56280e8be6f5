"""The time of overlapped strips in two dimensions, of which each warp has one of its own, plane after plane.

    time of a plane: what one warp does after another, which is most of it where few warps have a place; or the issue
                     slots of a scheduler for all of its warps, of which operations in double precision take two. Words
                     from other lanes take no more than that: shuffles have a pipe of their own, which is seldom full
    time of a kernel: planes of a chunk with its halo, for each round in which strips get their place, of which the last
                      has fewer warps; what a strip at a side of space takes, which starts first; and device memory.
                      They hide behind one another in part

Fitted to 147 kernels of 15 stencils in single and double precision, 1 to 15 iterations of 1 to 6 columns a lane, and to
79 of three of them with other chunks, which count for half (H100, CUDA 13.0;
polybench/results/overlapped-tiles-2026-11-26.jsonl and stencils-8-h100-2026-11-27.jsonl): the
estimates are within 8% of the former and 10% of the latter (root mean square). What roots wait for is by one of them,
gradient, and so is that reciprocal ones in single precision, which have no branch, wait for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.ir.overlapped_tiles import ROOMY_PLANES, OverlappedTiles
from polytile.machine import REGISTER_BYTES, REGISTER_FILE_PARTITIONS, VECTOR_BYTES, VECTOR_ELEMENTS, Machine
from polytile.scheduling.cost.machine_model import together, value_cycles
from polytile.scheduling.cost.stream_resources import TileFigures

INSTRUCTION_CYCLES = 2.75  # of a warp, one after another
SLOW_CYCLES = 10  # of a warp, for each instruction of a division or a function in double precision
SIDE_INPUT_CYCLES = 610  # of a plane at a side of space, for each input: what it waits for, with its tests
SIDE_INSTRUCTION_CYCLES = 6.5  # for each of a warp's instructions there, which has tests and selects beside it
SIDE_READ_CYCLES = 610  # for each step there whose constant cells are read when they are needed, for want of registers
BESIDE_SIDES = 4  # how times of strips and of those at sides add up: (a^p + b^p)^(1/p), as they hide in part
BESIDE_MEMORY = 2.7  # the same of these and device memory


@dataclass(frozen=True)
class Strips:
    """Strips of warps of their own, on multiprocessors that have room for `resident` of them each."""

    plan: OverlappedTiles
    figures: TileFigures
    machine: Machine
    resident: int

    def cycles(self, warps: float, planes: float) -> float:
        """Compute the cycles until so many strips are done, if nothing waits for device memory.

        In each of them so many planes pass.
        """
        return planes * together(BESIDE_SIDES, self._in_rounds(warps), self._side)

    @cached_property
    def warp_cycles(self) -> float:
        """Compute the cycles of a plane, what one warp does after another.

        Divisions and functions are chains with branches to special cases, so that a compiler does not compute those of
        several cells at a time.
        """
        waits = sum(f.slow for f in self.figures.made if f.double)
        return INSTRUCTION_CYCLES * self._instructions + SLOW_CYCLES * prod(self.plan.points) * waits

    @cached_property
    def _slots(self) -> float:
        """Compute the issue slots of a scheduler, for a plane of one warp."""
        more = (f.operations * (value_cycles(self.machine, double=f.double) - 1) for f in self.figures.made)
        return self._instructions + prod(self.plan.points) * sum(more)

    @cached_property
    def _instructions(self) -> float:
        """Count the instructions of a warp for a plane, with loads of inputs and stores."""
        moved = (*(f.size for f in self.figures.inputs), *stored_bytes(self.plan, self.figures))
        return self.figures.instructions + sum(accesses(self.plan.points[-1], size) for size in moved)

    def _in_rounds(self, warps: float) -> float:
        """Compute the cycles of a plane, one round after another."""
        full = self.resident / REGISTER_FILE_PARTITIONS
        own = warps / (self.machine.sms * REGISTER_FILE_PARTITIONS)
        rounds = max(1, ceil(own / full))
        return (rounds - 1) * self._plane(full) + self._plane(own - (rounds - 1) * full)

    def _plane(self, warps: float) -> float:
        """Compute the cycles of a scheduler that has so many warps, for a plane of each."""
        return max(self.warp_cycles, warps * self._slots)

    @cached_property
    def _side(self) -> float:
        """Return the cycles of a plane of a strip at a side of space."""
        side = SIDE_INPUT_CYCLES * len(self.figures.inputs) + SIDE_INSTRUCTION_CYCLES * self._instructions
        return side if self._is_roomy else side + SIDE_READ_CYCLES * len(self.plan.made)

    @property
    def _is_roomy(self) -> bool:
        """Return whether a thread has registers for constant cells, beside planes."""
        kept = sum((f.step.slots - 1) * prod(self.plan.points) * f.size for f in self.figures.steps)
        return kept <= REGISTER_BYTES * ROOMY_PLANES


def stored_bytes(plan: OverlappedTiles, figures: TileFigures) -> Iterator[int]:
    """Yield the bytes of a cell, for each array that a kernel stores."""
    stores = (s for s in plan.stores if s.becomes is not None or plan.blocks == 1)
    return (figures.steps[s.step].size for s in stores)


def accesses(columns: int, size: int) -> int:
    """Count the loads, or stores, of a thread's neighbouring columns of so many bytes.

    They are vectors where threads begin at multiples of these.
    """
    widths = [n for width in VECTOR_BYTES if (n := width // size) in VECTOR_ELEMENTS and columns % n == 0]
    is_power = columns & (columns - 1) == 0
    return columns // max(widths) if widths and is_power else columns


def with_memory(cycles: float, memory: float) -> float:
    """Compute the cycles of strips and of what they wait for in device memory, if each were alone."""
    return together(BESIDE_MEMORY, cycles, memory)
