"""What time tiles of every shape say: kernels that run several iterations of a time loop on values near the threads.

before: for (t) for (i) A[(t + 1) % 2][i] = f(A[t % 2][i - 1 .. i + 1]);
after:  for each block of iterations, for each tile: threads load their cells, run the iterations on them, store them

Neighbours along space lose cells at the sides of a tile with each iteration. Its *shape* says who makes these, and in
which order tiles run: overlapped_tiles.py, split_tiles.py. A shape is a record of its own, with what all have here; it
stands in the plan of the first kernel of the tree (KernelPlan.time_tile).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from math import ceil, prod
from typing import ClassVar

from polytile.dataclass import dataclass
from polytile.machine import WARP_SIZE


class Exchange(Enum):
    """How threads get values of cells beside their own."""

    WARP = "shuffles"  # the lanes of a warp hold a strip of the last dimension; nobody waits
    BLOCK = "shared memory"  # the warps of a block hold rows of a tile, which show each other those at their edges
    PLANES = "planes in shared memory"  # a block loads planes of a tile with their halo, which all its threads read
    COLUMNS = "a plane in shared memory, others in registers"  # threads keep their own points of all planes

    @property
    def is_one_step(self) -> bool:
        """Return whether tiles share planes of inputs alone, so that no cell is made twice."""
        return self in (Exchange.PLANES, Exchange.COLUMNS)


@dataclass(frozen=True)
class TileThreads:
    """The threads of a block, and the cells that each has.

    WARP: `threads` = (warps,), each warp a tile of WARP_SIZE * points[-1] cells; else there is a thread for each place
    of `threads` of one tile. `points` are the cells of a thread along each dimension.
    """

    exchange: Exchange
    threads: tuple[int, ...]
    points: tuple[int, ...]

    @property
    def warps(self) -> int:
        """Return the number of warps of a block."""
        return self.threads[0] if self.exchange is Exchange.WARP else ceil(prod(self.threads) / WARP_SIZE)

    @property
    def tile_warps(self) -> int:
        """Return the number of warps of a tile."""
        return 1 if self.exchange is Exchange.WARP else self.warps

    @property
    def tiles(self) -> int:
        """Return the number of tiles of a block."""
        return self.warps // self.tile_warps

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Return the number of threads of a block along each dimension."""
        return (WARP_SIZE * self.warps,) if self.exchange is Exchange.WARP else self.threads

    @cached_property
    def tile(self) -> tuple[int, ...]:
        """Return the cells of a tile along each dimension, halo included."""
        lanes = (WARP_SIZE,) if self.exchange is Exchange.WARP else self.threads
        return tuple(n * p for n, p in zip(lanes, self.points, strict=True))


@dataclass(frozen=True, slots=True)
class TileRead:
    """An access of a statement (its position in the statement's accesses) that reads a value near the threads, `offset`
    away from the cell that the statement writes."""

    statement: str
    access: int
    offset: tuple[int, ...]


@dataclass(frozen=True)
class TimeTile(TileThreads, ABC):
    """Tiles that run `iterations` of the time loop; `shape` is their word in files."""

    shape: ClassVar[str]
    iterations: int
    reads: tuple[TileRead, ...]

    @property
    @abstractmethod
    def title(self) -> str:
        """Return what the kernels are, for messages."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield the lines that describe the tiles to a reader."""
