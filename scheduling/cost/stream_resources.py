"""What kernels of stream plans take: registers of a thread, shared memory of a block, instructions of a plane.

step: 3 planes of 4 columns a lane, in double precision: 2 planes stay from one plane to the next, 16 registers
step whose values other threads of a block read up to 2 planes later: 3 planes of its tile in shared memory
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Protocol

from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.ir.stream_plan import Exchange, StreamPlan, StreamRead, StreamStep, planes_behind
from polytile.machine import REGISTER_BYTES, THREAD_REGISTER_UNIT
from polytile.scheduling.cost.statement_cost import fused_operations, is_double

# Registers, fitted to what ptxas needs without spilling: stars and boxes in two dimensions, several fields, lines.
BASE_WORDS = 36  # registers for addresses, bounds and masks
STEP_WORDS = 3  # registers of each step that is made
AROUND_PLANES = 1.25  # for each that a value of a strip takes from one plane to the next: some have both at once
SHARED_VALUES = 0.4  # for each that a step reads from shared memory: some are loaded before the first is used
AROUND_LINE = 3  # the same in one dimension, where all steps are in sight at once
BASE_INSTRUCTIONS = 20  # of a plane
CELL_INSTRUCTIONS = 0.5  # beside arithmetic and loads
Place = tuple[int, tuple[int, ...]]  # how many planes ago, and the offset across


class PlannedSteps(Protocol):
    """Steps and how they read one another: a StreamPlan, or one that is thought of."""

    @property
    def steps(self) -> tuple[StreamStep, ...]: ...
    @property
    def reads(self) -> tuple[StreamRead, ...]: ...
    @property
    def streamed(self) -> int: ...


class PlannedThreads(Protocol):
    """What the threads of such a plan have."""

    @property
    def streamed(self) -> int: ...
    @property
    def points(self) -> tuple[int, ...]: ...
    @property
    def exchange(self) -> Exchange: ...


@dataclass(frozen=True, slots=True)
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

    @property
    def words(self) -> int:
        return max(1, self.size // REGISTER_BYTES)

    @property
    def beside(self) -> tuple[Place, ...]:
        """Where others read it beside their own column."""
        return tuple(place for place in self.places if any(place[1]))

    def kept(self, exchange: Exchange) -> int:
        """How many planes stay in registers until the next plane."""
        in_registers = (age for age, across in self.places if exchange is Exchange.WARP or not any(across))
        return max(in_registers, default=0)

    @property
    def shared_planes(self) -> int:
        return max((age + 1 for age, _ in self.beside), default=0)

    def outside(self, points: tuple[int, ...]) -> int:
        """How many values of other threads a thread reads, each once."""
        own = set(product(*(range(n) for n in points)))
        beside = self.beside
        read = {(age, *(k + d for k, d in zip(at, across, strict=True))) for age, across in beside for at in own}
        return sum(1 for cell in read if cell[1:] not in own)

    def neighbours(self) -> tuple[int, ...]:
        """How many columns of other lanes are read beside the own ones, of each plane, the latest first."""
        found: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for age, across in self.beside:
            left, right = found[age]
            found[age] = max(left, -across[-1]), max(right, across[-1])
        return tuple(sum(found[age]) for age in range(max(found, default=-1) + 1))


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """The steps of a plan."""

    steps: tuple[StepFigures, ...]

    @property
    def made(self) -> Iterator[StepFigures]:
        return (s for s in self.steps if not s.step.is_input)

    @property
    def inputs(self) -> Iterator[StepFigures]:
        return (s for s in self.steps if s.step.is_input)

    def registers(self, plan: PlannedThreads) -> int:
        """Of a thread; more than it can have where values would be spilled."""
        around = 1.0 if plan.exchange is Exchange.BLOCK else AROUND_PLANES if plan.streamed else AROUND_LINE
        steps = STEP_WORDS * sum(1 for _ in self.made) if plan.streamed else 0
        words = around * self._kept_words(plan) + self._words_under_way(plan) + steps
        return ceil((BASE_WORDS + words) / THREAD_REGISTER_UNIT) * THREAD_REGISTER_UNIT

    def _kept_words(self, plan: PlannedThreads) -> int:
        """From one plane to the next, or from one step to the next where there is a single plane."""
        points = prod(plan.points)
        if not plan.streamed:
            return points * max(self._live_words())
        total = 0
        for s in self.steps:
            beside = [columns for columns in s.neighbours() if columns]
            around = max(beside) * (len(beside) - 1) if beside and plan.exchange is Exchange.WARP else 0
            total += s.words * (points * s.kept(plan.exchange) + around)
        return total

    def _live_words(self) -> Iterator[int]:
        """Of the values of one cell, at each step."""
        live: list[StepFigures] = []
        for s in self.steps:
            live = [*(other for other in live if other.last >= s.step.index), s]
            yield sum(other.words for other in live)

    def _words_under_way(self, plan: PlannedThreads) -> int:
        """The inputs of the next plane, and what one step works on."""
        loaded = sum(s.words for s in self.inputs) if plan.streamed else 0
        words = prod(plan.points) * (loaded + 2 * max(s.words for s in self.made))
        if plan.exchange is Exchange.BLOCK:
            words += round(SHARED_VALUES * max(s.words * s.outside(plan.points) for s in self.steps))
        return words

    def shared_bytes(self, plan: StreamPlan) -> int:
        """Of a block: the planes that threads read values of others from, of its tile and what is read beside it."""
        if plan.exchange is Exchange.WARP:
            return 0
        offsets = [offset for s in self.steps for _, offset in s.beside]
        cells = 1
        for k, width in enumerate(plan.tile):
            along = [0, *(offset[k] for offset in offsets)]
            cells *= width + max(along) - min(along)
        return cells * sum(s.shared_planes * s.size for s in self.steps)

    def instructions(self, plan: StreamPlan) -> float:
        """Of a thread, for one plane of all steps."""
        made = sum(s.arithmetic + CELL_INSTRUCTIONS + len(s.loads) for s in self.made)
        beside = sum(sum(s.neighbours()) * s.words for s in self.steps)
        return prod(plan.points) * made + beside + BASE_INSTRUCTIONS


def stream_figures(plan: PlannedSteps, scop: Scop) -> StreamFigures:
    readers: dict[int, list[StreamRead]] = defaultdict(list)
    sources: dict[int, list[StreamRead]] = defaultdict(list)
    for read in plan.reads:
        readers[read.source].append(read)
        sources[read.step].append(read)
    written = {a.array for s in scop.statements for a in s.accesses if a.writes}
    sizes = {a.name: a.element.size for a in scop.arrays if a.rank > 1 and a.name not in written}
    return StreamFigures(tuple(_figures(plan, scop, s, readers[s.index], sources[s.index], sizes) for s in plan.steps))


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
        frozenset((planes_behind(plan.steps, r, plan.streamed), r.offset[plan.streamed :]) for r in readers),
        tuple({r.source for r in sources if planes_behind(plan.steps, r, plan.streamed) == 0}),
        any(any(r.offset[plan.streamed :]) for r in sources),
        max(map(fused_operations, statements), default=0.0),
        any(map(is_double, statements)),
        max((_loads(s, sizes) for s in statements), key=sum, default=()),
    )


def _loads(statement: Statement, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The bytes of each element of other arrays that an instance reads from memory."""
    return tuple(sizes[a.array] for a in statement.accesses if a.kind is AccessKind.READ and a.array in sizes)
