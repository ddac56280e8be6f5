"""What kernels of overlapped tiles take: registers of a thread, shared memory of a block, instructions of a plane.

step: 3 planes of 4 columns a lane, in double precision: 2 planes stay from one plane to the next, 16 registers
step whose rows other warps of a block read up to 2 planes later: 3 planes of each warp's edge rows in shared memory
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil, prod
from typing import Protocol

from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.edge_rows import EdgeRows
from polytile.ir.overlapped_tiles import StreamRead, StreamStep, planes_behind, read_when
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.ir.time_tile import Exchange
from polytile.machine import REGISTER_BYTES, SHARED_ALIGNMENT, VECTOR_BYTES, WARP_SIZE
from polytile.scheduling.cost.machine_model import in_portions
from polytile.scheduling.cost.operation_cost import fused_operations, is_double, slow_operations

# Registers of strips, fitted to 147 kernels of 15 stencils (CUDA 13.0; results/overlapped-tiles-2026-11-26): within 8%
# (root mean square) of what ptxas takes.
STRIP_BASE_WORDS = 44  # for addresses, bounds and masks
STRIP_STEP_WORDS = 1.4  # of each step that is made
STRIP_SUM_WORDS = 1.5  # more of those that planes add to, in single precision; twice that where lanes have as many
STRIP_SUM_COLUMNS = 4  # columns as this
STRIP_PLANES = 1.15  # for each that a value takes from one plane to the next: some have both at once
STRIP_LOADED = 3  # for each of the inputs' next plane, with addresses
# Registers of lines, fitted to what ptxas needs without spilling.
LINE_BASE_WORDS = 36
LINE_VALUES = 3  # for each that a value takes from one step to the next, as all steps are in sight at once
# Registers of patches, fitted to 197 kernels of 15 stencils (CUDA 13.0): within 8% (root mean square) of what ptxas
# takes, with what it spills, where that is known.
PATCH_BASE_WORDS = 31
PATCH_STEP_WORDS = 5.3
PATCH_PLANES = 1.2  # for each that a value takes from one plane to the next
PATCH_VALUES = 1.9  # for each that one step works on
BESIDE_VALUES = 0.8  # for each of other threads that a step reads: most come before the first is used
ROW_WORDS = 6.5  # for the addresses of each row of a thread, beyond two
BASE_INSTRUCTIONS = 20  # of a plane
CELL_INSTRUCTIONS = 0.5  # beside arithmetic and loads
SIDE_INSTRUCTIONS = 12  # of a plane at a side, beside those of cells
KEPT_INSTRUCTIONS = 3  # to load a cell that no statement writes
SLOW_TIMES = 2.2  # as long as its instructions take a division or a root, where few warps have others meanwhile
VECTOR_WORDS = VECTOR_BYTES[-1] // REGISTER_BYTES  # of an access to shared memory
Place = tuple[int, tuple[int, ...]]  # how many planes ago, and the offset across


class PlannedSteps(Protocol):
    """Steps and how they read one another: OverlappedTiles, or one that is thought of."""

    @property
    def steps(self) -> tuple[StreamStep, ...]: ...
    @property
    def reads(self) -> tuple[StreamRead, ...]: ...
    @property
    def streamed(self) -> int: ...
    @property
    def exchange(self) -> Exchange: ...


class PlannedThreads(Protocol):
    """What the threads of such a plan have."""

    @property
    def streamed(self) -> int: ...
    @property
    def points(self) -> tuple[int, ...]: ...
    @property
    def threads(self) -> tuple[int, ...]: ...
    @property
    def exchange(self) -> Exchange: ...
    @property
    def split_barrier(self) -> bool: ...


@dataclass(frozen=True)
class StepFigures:
    """A step, whatever its tile: the bytes of a value, where later steps read it, which steps it reads in the plane
    that they have just made, its instructions for a cell, and the bytes that it reads from memory for one."""

    step: StreamStep
    size: int
    last: int  # the last step that reads it
    places: frozenset[Place]
    at_once: tuple[int, ...]
    exchanged: bool
    arithmetic: float
    double: bool
    loads: tuple[int, ...]
    sums: int = 0  # planes whose terms are being summed up, beside the one that is made
    early: bool = False  # blocks at sides load cells that no statement writes a plane early
    slow: float = 0.0  # of the instructions, those of divisions and functions

    @property
    def words(self) -> int:
        return max(1, self.size // REGISTER_BYTES)

    @property
    def operations(self) -> float:
        """Count its instructions of arithmetic, without what those of divisions and functions wait for."""
        return self.arithmetic - (SLOW_TIMES - 1) * self.slow

    @property
    def beside_kept(self) -> int:
        """Count the values from neighbouring threads that a strip keeps of planes.

        Several later planes read them beside their own column: those of a box whose planes are not added up as they
        come.
        """
        beside = [columns for columns in self.neighbours if columns]
        return max(beside) * (len(beside) - 1) if beside else 0

    @cached_property
    def beside(self) -> tuple[Place, ...]:
        """Return where others read it beside their own column."""
        return tuple(place for place in self.places if any(place[1]))

    @cached_property
    def kept(self) -> int:
        """Return how many planes stay in registers until the next plane."""
        return max((age for age, _ in self.places), default=0)

    @cached_property
    def shared_planes(self) -> int:
        """Return how many planes warps exchange rows of."""
        return max((age + 1 for age, across in self.places if _rows_away(across)), default=0)

    def edge_rows(self, plan: PlannedThreads) -> EdgeRows:
        """Return the rows that warps exchange."""
        rows, warps = (plan.points[0], plan.threads[0]) if len(plan.points) > 1 else (1, 1)
        return EdgeRows.of(warps, rows, (_rows_away(across) for _, across in self.places))

    def shown(self, plan: PlannedThreads) -> int:
        """Return how many values a thread passes to other warps."""
        return len(self.edge_rows(plan).shown) * plan.points[-1] if self.shared_planes else 0

    def fetched(self, plan: PlannedThreads) -> int:
        """Return how many values of other warps a thread reads."""
        rows = (sum(_sides(_rows_away(across) for across in alike)) for alike in self._by_age.values())
        return sum(rows) * plan.points[-1]

    def shuffled(self, plan: PlannedThreads) -> int:
        """Return how many values of other threads of the warp a thread reads.

        For each column, in the rows where some cell needs it.
        """
        total, rows = 0, prod(plan.points[:-1])
        for alike in self._by_age.values():
            for side in (-1, 1):
                for column in range(1, 1 + max(side * across[-1] for across in alike)):
                    above, below = _sides(_rows_away(across) for across in alike if side * across[-1] >= column)
                    total += rows + above + below
        return total

    @cached_property
    def _by_age(self) -> dict[int, list[tuple[int, ...]]]:
        """Return the offsets across at which each plane is read, by how many planes came after it."""
        found: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for age, across in self.beside:
            found[age].append(across)
        return found

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        """Return how many columns of other threads are read beside the own ones, of each plane, the latest first."""
        found = {age: sum(_sides(across[-1] for across in alike)) for age, alike in self._by_age.items()}
        return tuple(found.get(age, 0) for age in range(max(found, default=-1) + 1))


def _rows_away(across: tuple[int, ...]) -> int:
    return across[0] if len(across) > 1 else 0


def _sides(offsets: Iterable[int]) -> tuple[int, int]:
    """Return how far offsets reach before and after what they are from."""
    found = [0, *offsets]
    return -min(found), max(found)


@dataclass(frozen=True)
class StreamFigures:
    """The steps of a plan."""

    steps: tuple[StepFigures, ...]

    @cached_property
    def made(self) -> tuple[StepFigures, ...]:
        return tuple(s for s in self.steps if not s.step.is_input)

    @cached_property
    def inputs(self) -> tuple[StepFigures, ...]:
        return tuple(s for s in self.steps if s.step.is_input)

    @property
    def retimed(self) -> bool:
        return any(s.sums for s in self.made)

    def of(self, plan: PlannedThreads) -> TileFigures:
        """Return the figures with these threads, and their cells."""
        return TileFigures(self.steps, plan)


@dataclass(frozen=True)
class TileFigures(StreamFigures):
    """The steps of a plan in tiles of one shape, whatever planes these own: each figure is found once."""

    threads: PlannedThreads

    @cached_property
    def registers(self) -> int:
        """Estimate the registers of a thread; more than it can have where values would be spilled."""
        if self.threads.exchange is Exchange.BLOCK:
            words = self._patch_words()
        else:
            words = self._strip_words() if self.threads.streamed else self._line_words()
        return in_portions(words)

    def _strip_words(self) -> float:
        """Count the registers of a thread of a warp with a strip of its own."""
        points = prod(self.threads.points)
        kept = STRIP_PLANES * sum(s.words * (points * (s.kept + s.sums) + s.beside_kept) for s in self.steps)
        under_way = STRIP_LOADED * sum(s.words for s in self.inputs) + 2 * max(s.words for s in self.made)
        steps = STRIP_STEP_WORDS * len(self.made)
        sums = sum(1 for s in self.made if s.sums and s.words == 1)
        steps += STRIP_SUM_WORDS * sums * (2 if self.threads.points[-1] >= STRIP_SUM_COLUMNS else 1)
        return STRIP_BASE_WORDS + kept + points * under_way + steps

    def _line_words(self) -> float:
        """Count the registers of a thread with points of a line, in one dimension."""
        points = prod(self.threads.points)
        values = LINE_VALUES * max(self._live_words()) + 2 * max(s.words for s in self.made)
        return LINE_BASE_WORDS + points * values

    def _patch_words(self) -> float:
        """Count the registers of a thread with a patch of a tile that a block shares."""
        points = prod(self.threads.points)
        loaded = sum(s.words for s in self.inputs) if self.threads.streamed else 0
        words: float = PATCH_BASE_WORDS + PATCH_STEP_WORDS * len(self.made)
        words += PATCH_PLANES * points * sum(s.words * (s.kept + s.sums) for s in self.steps)
        words += points * (loaded + PATCH_VALUES * max(s.words for s in self.made))
        words += ROW_WORDS * max(0, self.threads.points[0] - 2)
        return words + self._beside_words() + self._loaded_words()

    def _live_words(self) -> Iterator[int]:
        """Yield the registers of the values of one cell, at each step."""
        live: list[StepFigures] = []
        for s in self.steps:
            live = [*(other for other in live if other.last >= s.step.index), s]
            yield sum(other.words for other in live)

    def _loaded_words(self) -> int:
        """Count the registers of elements of other arrays, which ptxas begins to load for all iterations at once, and
        their addresses."""
        if len({s.step.iteration for s in self.made}) < 2:
            return 0
        values = sum(sum(s.loads) for s in self.made) // REGISTER_BYTES
        return prod(self.threads.points) * values + sum(len(s.loads) for s in self.made)

    def _beside_words(self) -> int:
        """Count the registers for values of other threads of a block.

        Sums take as many rows at once as a thread has.
        """
        if self.retimed:
            return sum(s.words * prod(self.threads.points[:-1]) * max(s.neighbours, default=0) for s in self.steps)
        beside = ((s, s.fetched(self.threads) + s.shuffled(self.threads)) for s in self.steps)
        return round(BESIDE_VALUES * max(s.words * values for s, values in beside))

    @cached_property
    def shared_bytes(self) -> int:
        """Compute the shared memory of a block in bytes: the planes of the rows that its warps exchange."""
        if self.threads.exchange is Exchange.WARP:
            return 0
        lanes = WARP_SIZE * self.threads.points[-1]
        shared = [s for s in self.steps if s.shared_planes]
        planes = sum(s.shared_planes * s.edge_rows(self.threads).height * lanes * s.size for s in shared)
        return planes + (SHARED_ALIGNMENT if shared and self.threads.split_barrier else 0)

    @cached_property
    def instructions(self) -> float:
        """Count the instructions of a thread, for one plane of all steps."""
        is_strip = self.threads.exchange is Exchange.WARP and self.threads.streamed
        arithmetic = ((s.operations if is_strip else s.arithmetic) for s in self.made)
        made = sum(arithmetic) + sum(CELL_INSTRUCTIONS + len(s.loads) for s in self.made)
        if self.threads.exchange is Exchange.WARP:
            beside = sum(sum(s.neighbours) * s.words for s in self.steps)
        else:
            vectors = (s.words * (s.fetched(self.threads) + s.shown(self.threads)) / VECTOR_WORDS for s in self.steps)
            beside = self.shuffled + ceil(sum(vectors))
        return prod(self.threads.points) * made + beside + BASE_INSTRUCTIONS

    @cached_property
    def shuffled(self) -> int:
        """Count the words that a thread of a block gets from other threads of the warp, for one plane of all steps."""
        return sum(s.words * s.shuffled(self.threads) for s in self.steps)

    @cached_property
    def side_instructions(self) -> float:
        """Count the instructions that a plane has more in tiles of blocks at sides of space.

        They are selects between what is computed and what cells keep, and loads of these.
        """
        kept = sum(s.words + 1 for s in self.made) + KEPT_INSTRUCTIONS * sum(s.early for s in self.made)
        return prod(self.threads.points) * kept + SIDE_INSTRUCTIONS


def stream_figures(plan: PlannedSteps, scop: Scop) -> StreamFigures:
    readers: dict[int, list[StreamRead]] = defaultdict(list)
    sources: dict[int, list[StreamRead]] = defaultdict(list)
    for read in plan.reads:
        readers[read.source].append(read)
        sources[read.step].append(read)
    written = {a.array for s in scop.statements for a in s.accesses if a.writes}
    sizes = {a.name: a.element.size for a in scop.arrays if a.rank > 1 and a.name not in written}
    figures = tuple(_figures(plan, scop, s, readers[s.index], sources[s.index], sizes) for s in plan.steps)
    return StreamFigures(figures)


def _figures(
    plan: PlannedSteps,
    scop: Scop,
    step: StreamStep,
    readers: Sequence[StreamRead],
    sources: Sequence[StreamRead],
    sizes: Mapping[str, int],
) -> StepFigures:
    statements = [scop.statement(name) for name in step.statements]
    return StepFigures(
        step,
        scop.array(step.array).element.size,
        max((r.step for r in readers), default=step.index),
        frozenset((_age(plan, r), r.offset[plan.streamed :]) for r in readers),
        tuple({r.source for r in sources if planes_behind(plan.steps, r, plan.streamed) == 0}),
        any(any(r.offset[plan.streamed :]) for r in sources),
        max(map(_arithmetic, statements), default=0.0),
        any(map(is_double, statements)),
        max((_loads(s, sizes) for s in statements), key=sum, default=()),
        max((planes_behind(plan.steps, r, plan.streamed) - _age(plan, r) for r in sources), default=0),
        _loaded_early(plan, scop, step),
        max(map(slow_operations, statements), default=0.0),
    )


def _arithmetic(statement: Statement) -> float:
    """Count the instructions of arithmetic for a cell, with the waits of a division or a function between its own."""
    return fused_operations(statement) + (SLOW_TIMES - 1) * slow_operations(statement)


def _loaded_early(plan: PlannedSteps, scop: Scop, step: StreamStep) -> bool:
    """Return whether no plane of an earlier step that is still there has the elements of a step's cells."""
    array, dims = scop.array(step.array), len(step.lower)
    if plan.exchange is Exchange.WARP or step.is_input or step.retimed or not array.live_in:
        return False
    extents = array.extents[: array.rank - dims]
    versions = prod(found if (found := extent and known(extent)) else 1 for extent in extents)
    before = (s for s in plan.steps[: step.index] if s.array == step.array and s.iteration < step.iteration)
    there = (s for s in before if (step.iteration - s.iteration) % versions == 0)
    return not any(0 <= step.lag - s.lag < s.slots for s in there)


def _age(plan: PlannedSteps, read: StreamRead) -> int:
    return read_when(plan.steps, read, plan.streamed, plan.exchange)


def _loads(statement: Statement, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the bytes of each element of other arrays that an instance reads from memory."""
    return tuple(sizes[a.array] for a in statement.accesses if a.kind is AccessKind.READ and a.array in sizes)
