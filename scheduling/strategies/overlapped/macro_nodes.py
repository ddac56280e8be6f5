"""Macro-nodes of a DAG of stencils: fields that one kernel makes, and what that kernel takes, plane after plane.

before: field 0: B reads A at -1 .. 1; field 1: C reads B at -1 .. 1; only C is live behind them
after:  A is loaded, lag 0, 3 planes; B is made from it, lag 1, 3 planes, and never stored; C, lag 2, is stored

In space of three dimensions warps of a block share the rows at their edges through shared memory (Exchange.BLOCK); in
fewer, a warp has a tile of its own (Exchange.WARP). A tile is what the threads compute, with the halo of fields that
others read at offsets; the halo of inputs is loaded besides.

Rawat, Vaidya, Sukumaran-Rajam, Ravishankar, Grover, Rountev, Pouchet, Sadayappan: Domain-specific optimization and
generation of high-performance GPU code for stencil computations (Proc. IEEE 2018), section VI.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.kernel import ceil_div
from polytile.ir.overlapped_tiles import StreamRead, StreamStep, halo_units
from polytile.ir.scop import Scop
from polytile.ir.time_tile import Exchange
from polytile.machine import WARP_SIZE, Machine
from polytile.scheduling.analysis.stencil_dag import BEFORE, DagRead, Offset, StencilDag
from polytile.scheduling.cost.stream_resources import StreamFigures, stream_figures
from polytile.scheduling.strategies.overlapped.plane_schedule import Reach, boxes, lags, reach, slots

GAP = 1  # planes, until rows of other warps are there: a barrier lies between
Value = tuple[str, int, int | None]  # the array, the iteration, and the field that made it


def value_of(read: DagRead) -> Value:
    return read.array, read.iteration, read.source


@dataclass(frozen=True, slots=True)
class Tile:
    """The threads that share a tile, and the cells of each, along each dimension that is not streamed."""

    threads: tuple[int, ...]
    points: tuple[int, ...]

    @property
    def cells(self) -> tuple[int, ...]:
        return tuple(n * p for n, p in zip(self.threads, self.points, strict=True))


@dataclass(frozen=True, slots=True)
class TiledSteps:
    """Steps in tiles of one shape: what the estimate of registers takes."""

    steps: tuple[StreamStep, ...]
    reads: tuple[StreamRead, ...]
    streamed: int
    threads: tuple[int, ...]
    points: tuple[int, ...]
    split_barrier: bool = False

    @property
    def exchange(self) -> Exchange:
        return Exchange.BLOCK if len(self.points) > 1 else Exchange.WARP


@dataclass(frozen=True)
class MacroNode:
    """Fields of a DAG that one kernel makes, whatever its tiles: `inputs` are loaded, then come the fields."""

    scop: Scop
    dag: StencilDag
    fields: tuple[int, ...]

    # What moves ------------------------------------------------------------------------------------------
    @cached_property
    def _loaded(self) -> tuple[DagRead, ...]:
        """Return the reads of values that come from device memory."""
        return tuple(r for k in self.fields for r in self.dag.fields[k].reads if r.source not in self.fields)

    @cached_property
    def inputs(self) -> tuple[Value, ...]:
        """Return the values whose planes arrive, once each; reads at no fixed offset are of no plane that stays."""
        return tuple(dict.fromkeys(value_of(r) for r in self._loaded if r.offset is not None))

    @cached_property
    def stored(self) -> tuple[int, ...]:
        """Return the fields that go to device memory: live after the DAG, or read by other kernels."""
        outside = {s for s, k in self.dag.flow if k not in self.fields}
        return tuple(k for k in self.fields if self.dag.fields[k].kept or k in outside)

    def size(self, array: str) -> int:
        return self.scop.array(array).element.size

    @cached_property
    def read_bytes(self) -> int:
        """Count the bytes read from device memory for a cell, if nothing is loaded twice."""
        return sum(self.size(array) for array, _, _ in {value_of(r) for r in self._loaded})

    @cached_property
    def written_bytes(self) -> int:
        return sum(self.size(self.dag.fields[k].array) for k in self.stored)

    @property
    def moved_bytes(self) -> int:
        return self.read_bytes + self.written_bytes

    # Why the fields cannot be one kernel -----------------------------------------------------------------
    def hazard(self) -> str | None:
        """Explain why blocks, which run in any order, cannot run this; None where they can.

        None may read at other cells what another one overwrites.
        """
        for k in self.fields:
            for r in self.dag.fields[k].reads:
                if r.source in self.fields and r.offset is None:
                    return f"{r.statement} reads {r.array} at no fixed distance"
        stored = {self.dag.fields[k].array for k in self.stored}
        for (array, _, source), box in zip(self.inputs, self._boxes, strict=False):
            if self.dag.in_place and source is None and array in stored and any(map(any, box)):
                return f"{array} is read at other cells than those that are overwritten"
        return None

    # The resource map ------------------------------------------------------------------------------------
    @cached_property
    def _position(self) -> dict[int | None, int]:
        return {k: len(self.inputs) + n for n, k in enumerate(self.fields)}

    @cached_property
    def reads(self) -> tuple[StreamRead, ...]:
        """Return one read for each value and offset."""
        loaded = {value: n for n, value in enumerate(self.inputs)}
        found: dict[tuple[int, int, Offset], StreamRead] = {}
        for k in self.fields:
            step = self._position[k]
            for r in self.dag.fields[k].reads:
                if r.offset is not None:
                    source = self._position[r.source] if r.source in self._position else loaded[value_of(r)]
                    found.setdefault(
                        (step, source, r.offset), StreamRead(r.statement, r.access, r.offset, step, source)
                    )
        return tuple(found.values())

    @cached_property
    def _reaches(self) -> tuple[Reach, ...]:
        found: dict[tuple[int, int], list[Offset]] = {}
        for r in self.reads:
            found.setdefault((r.step, r.source), []).append(r.offset)
        return tuple(reach(*key, offsets) for key, offsets in found.items())

    @cached_property
    def _boxes(self) -> list[tuple[Offset, Offset]]:
        return boxes(len(self.inputs) + len(self.fields), self.dag.dims, self._reaches)

    @property
    def streamed(self) -> int:
        return int(self.dag.dims > 1)

    @cached_property
    def steps(self) -> tuple[StreamStep, ...]:
        count = len(self.inputs) + len(self.fields)
        when, stay = [0] * count, [1] * count
        if self.streamed:
            when = lags(count, len(self.inputs), self._reaches, GAP)
            stay = slots(when, self._reaches)
        arrays = [array for array, _, _ in self.inputs] + [self.dag.fields[k].array for k in self.fields]
        makers = [()] * len(self.inputs) + [self.dag.fields[k].statements for k in self.fields]
        return tuple(
            StreamStep(n, arrays[n], makers[n], 0 if makers[n] else BEFORE, *self._boxes[n], when[n], stay[n])
            for n in range(count)
        )

    @property
    def made(self) -> tuple[StreamStep, ...]:
        return self.steps[len(self.inputs) :]

    @property
    def names(self) -> str:
        """Return the names of the statements, with their iterations where there are several."""
        fields = [self.dag.fields[k] for k in self.fields]
        iterated = any(f.iteration for f in self.dag.fields)
        return f"{{{' '.join(f'{s}@{f.iteration}' if iterated else s for f in fields for s in f.statements)}}}"

    @cached_property
    def figures(self) -> StreamFigures:
        ones = (1,) * (self.dag.dims - self.streamed)
        return stream_figures(self.tiled(Tile(ones, ones)), self.scop)

    def tiled(self, tile: Tile) -> TiledSteps:
        return TiledSteps(self.steps, self.reads, self.streamed, tile.threads, tile.points)

    @property
    def order(self) -> int:
        """Return how far fields are computed beyond the cells that a tile owns: the most, to one side."""
        return max(max(-a, b) for s in self.made for a, b in zip(s.lower, s.upper, strict=True))

    @cached_property
    def exchanged_planes(self) -> int:
        """Count the planes that threads read beside their own cells at a time."""
        return sum(len({age for age, _ in f.beside}) for f in self.figures.steps)

    @property
    def operations(self) -> float:
        """Count the operations for a cell, if none is computed twice."""
        return sum(f.arithmetic for f in self.figures.made)

    def overlap(self, tile: Tile) -> tuple[int, ...]:
        """Compute the halo of what is made, on both sides, along each dimension that is not streamed."""
        found = []
        for k, unit in enumerate(halo_units(tile.points), start=self.streamed):
            sides = max(-s.lower[k] for s in self.made), max(s.upper[k] for s in self.made)
            found.append(sum(ceil_div(side, unit) * unit for side in sides))
        return tuple(found)

    def owned(self, tile: Tile) -> tuple[int, ...]:
        return tuple(n - halo for n, halo in zip(tile.cells, self.overlap(tile), strict=True))

    def redundancy(self, tile: Tile) -> float:
        """Compute the ratio of cells that are computed to those that a tile owns."""
        return prod(tile.cells) / prod(self.owned(tile))

    def registers(self, tile: Tile) -> int:
        return self.figures.of(self.tiled(tile)).registers

    def _plane(self, step: StreamStep, tile: Tile) -> int:
        """Count the cells of a plane: the tile, and of an input what is read around it."""
        if not step.is_input:
            return prod(tile.cells)
        sides = zip(self.owned(tile), step.lower[self.streamed :], step.upper[self.streamed :], strict=True)
        return prod(n - a + b for n, a, b in sides)

    def shared_bytes(self, tile: Tile) -> int:
        return self.figures.of(self.tiled(tile)).shared_bytes

    def seconds(self, tile: Tile, machine: Machine) -> float:
        """Compute the seconds that all multiprocessors take for a cell that is owned.

        The slowest counts: device memory, loads of halos from the cache, or arithmetic.
        """
        speed, owned = machine.speed, prod(self.owned(tile))
        loaded = sum(f.size * self._plane(f.step, tile) for f in self.figures.inputs) / owned
        return max(
            self.moved_bytes / speed.memory,
            (loaded + self.written_bytes) / speed.l2,
            self.redundancy(tile) * self.operations / self._rate(machine),
        )

    def most_redundancy(self, seconds: float, machine: Machine) -> float:
        """Compute the redundancy with which a cell takes `seconds`."""
        once = max(self.operations / self._rate(machine), self.read_bytes / machine.speed.l2)
        return seconds / once if once else float("inf")

    def _rate(self, machine: Machine) -> float:
        """Return the operations a second, a product and a sum as one."""
        double = any(f.double for f in self.figures.made)
        return (machine.speed.double_rate if double else machine.speed.float_rate) / 2


def tiles(machine: Machine, rank: int) -> Iterator[Tile]:
    """Yield the shapes of tiles for planes of `rank` dimensions."""
    tuning = machine.tuning.stream
    if rank == 2:
        shapes = product(tuning.stacked_warps, tuning.patches)
        yield from (Tile((warps, WARP_SIZE), points) for warps, points in shapes)
    else:
        yield from (Tile((WARP_SIZE,), (columns,)) for columns in tuning.columns[1])
