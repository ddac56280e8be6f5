"""How many points a thread takes of kernels that wait for L1, by what points share.

3d27pt: 27 loads a point; 4 points along i: 13.5, as 6 planes of 9 elements serve them

A kernel takes as long as memory or L2, or as requests and arithmetic, which threads wait for in turns, and half as long
again as blocks take one after another. More points make blocks, requests and what blocks fetch of their neighbours'
elements fewer, and take registers, so that fewer threads are resident: of the shapes that leave enough of them, the one
that takes least, or one of fewer points that takes hardly more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache, cached_property
from itertools import product
from math import prod

from polytile.choices import POINTS
from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign
from polytile.machine import L1_MOST_BYTES_PER_CYCLE, REGISTER_BYTES, Machine
from polytile.scheduling.analysis.affine_references import Reference
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.estimate import KernelTime
from polytile.scheduling.cost.kernel_cost import KernelCost
from polytile.scheduling.cost.machine_model import in_portions, resident_blocks
from polytile.scheduling.cost.mapped_loops import Role, kernels, statements
from polytile.scheduling.cost.operation_cost import fused_operations, is_double
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.point_reuse import OpenSums, PointReads, Reuse, reads_neighbours, take_turns
from polytile.scheduling.cost.statement_cost import Work
from polytile.scheduling.strategies.points_per_thread import PointKernel, point_kernel
from polytile.tuning import PointTuning


@dataclass(frozen=True, slots=True)
class Shape:
    """Points of a thread along each thread dimension, outermost first, with what they take by estimate."""

    counts: tuple[int, ...]
    microseconds: float
    loads: float  # of a point
    registers: int

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.counts))
        return f"{shape} points: {self.loads:g} loads a point, {self.registers} registers, {self.microseconds:.3g} us"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The points of threads by kernel, and why, in lines of --explain."""

    counts: dict[int, tuple[int, ...]]
    lines: tuple[str, ...] = ()


def choose_points(problem: Problem, candidate: Candidate, placed: Callable[[], frozenset[int]]) -> Chosen:
    """Choose the points per thread that pay by estimate; none for kernels of other forms.

    `placed` returns the kernels with arrays that are placed inside of them alone; it is called where some points may
    pay.
    """
    counts: dict[int, tuple[int, ...]] = {}
    lines: list[str] = []
    if candidate.schedule is None:
        return Chosen(counts)
    values = fix_parameters(candidate.scop.context, problem.options.parameters)
    placed = cache(placed)
    for number, mark in enumerate(kernels(candidate.schedule.tree)):
        found = point_kernel(mark)
        works = [Work(candidate.scop, one, values) for one in statements(mark)] if found else []
        if found is None or any(work.empty or not _is_plain(work, found) for work in works):
            continue
        options = problem.options
        choice = _Choice(problem.machine, found, works, free=not options.strict, constant=options.specialize)
        if not choice.may_pay():
            continue
        if number not in placed():
            shapes = choice.shapes(KernelCost(number, works, {}, problem.machine, {}, layered=False).time())
            best = choice.best(shapes)
            if max(best.counts) > 1:
                counts[number] = best.counts
            other = f"; {shapes[0]}" if best is not shapes[0] else ""
            lines.append(f"kernel {number} ({candidate.schedule.strategy}): {best}{other}")
    return Chosen(counts, tuple(lines))


def _is_plain(work: Work, kernel: PointKernel) -> bool:
    """Return whether a statement only has values that it stores, and has a loop along each thread dimension.

    Other values of its own would take registers for each point.
    """
    body = work.statement.body
    plain = all(isinstance(part, Assign) and isinstance(part.target, Access) for part in body)
    along = all(_loop_along(work, kernel, d) is not None for d in range(len(kernel.sizes)))
    return plain and work.statement.combine is None and along


def _loop_along(work: Work, kernel: PointKernel, dimension: int) -> int | None:
    """Return the loop that a thread dimension runs through, or that of its blocks where these have one thread there."""
    loops = work.mapped.loops
    own = (i for i, loop in enumerate(loops) if any(part.dimension == dimension for part in loop.threads))
    blocks = (
        i
        for i, loop in enumerate(loops)
        if not loop.threads and (part := loop.part(Role.BLOCK)) and part.member == kernel.blocks[dimension]
    )
    return next(own, None) if kernel.sizes[dimension] > 1 else next(blocks, None)


@dataclass(frozen=True)
class _Choice:
    """The shapes of one kernel."""

    machine: Machine
    kernel: PointKernel
    works: Sequence[Work]
    free: bool  # whether sums may add up their elements in another order
    constant: bool = False  # whether strides are constants in the kernel
    known: dict[tuple[int, ...], list[Reuse]] = field(default_factory=dict)
    fetched: dict[tuple[int, ...], float] = field(default_factory=dict)  # the footprints of blocks
    followed: list[PointReads] = field(default_factory=list)  # of each work, once they are asked for
    sums: list[OpenSums] = field(default_factory=list)  # the same

    @property
    def clearly(self) -> float:
        """Return the part of one point's loads, or time, that more points take at most."""
        return self.tuning.clearly_large if self.large else self.tuning.clearly

    @cached_property
    def large(self) -> bool:
        return self._loads(self._ones) >= self.tuning.large

    @cached_property
    def together(self) -> bool:
        """Return whether several statements of a point load so much that registers are what they lack."""
        return len(self.works) > 1 and self._loads(self._ones) >= self.tuning.together

    @property
    def most(self) -> int:
        """Return the most points of a thread."""
        if self.together:
            return self.tuning.most_points_together
        return self.tuning.most_free_points if self.free else self.tuning.most_points

    @property
    def tuning(self) -> PointTuning:
        return self.machine.tuning.points

    def may_pay(self) -> bool:
        """Return whether two points along some loop load less of what a point reads several elements of."""
        if not any(reads_neighbours(work.reads, self._writes) for work in self.works):
            return False
        one = self._loads(self._ones)
        two = [tuple(1 + (k == d) for k in range(len(self._ones))) for d in range(len(self._ones) - 1)]
        return any(self._loads(counts) < self.tuning.sharing * one for counts in two)

    def shapes(self, time: KernelTime) -> list[Shape]:
        """Return the shape of one point per thread, then the others that fit in registers."""
        one, *others = self._all()
        return [self._shape(counts, time) for counts in (one, *filter(self._fits, others))]

    def best(self, shapes: Sequence[Shape]) -> Shape:
        """Choose the shape to take: one point per thread unless another is clearly faster."""
        one = shapes[0]
        least = min(s.microseconds for s in shapes)
        if least > self.clearly * one.microseconds:
            return one
        near = [s for s in shapes[1:] if s.microseconds <= self.tuning.near * least]
        return min(near, key=lambda s: (prod(s.counts), s.microseconds, s.registers, [-n for n in s.counts]))

    def _fits(self, counts: tuple[int, ...]) -> bool:
        """Return whether registers have room for values and for the addresses of all rows.

        No offset of 32 bits has `t % 2` in it, so that ptxas keeps pointers, fewer of them where rows are constants
        apart.
        """
        found = self._reuse(counts)
        if self._registers(counts, found) > self.tuning.registers:
            return False
        most = self.tuning.constant_turning_rows if self.constant else self.tuning.turning_rows
        return not self._turning or sum(one.rows for one in found) <= most

    @cached_property
    def _turning(self) -> bool:
        """Return whether an array is read and written in two versions."""
        return any(take_turns(work.reads, self._writes) for work in self.works)

    @cached_property
    def _writes(self) -> list[Reference]:
        return [r for work in self.works for r in work.references if r.access.writes]

    @property
    def _ones(self) -> tuple[int, ...]:
        return (1,) * len(self.kernel.sizes)

    def _all(self) -> Iterator[tuple[int, ...]]:
        blocks = max(work.blocks * work.filled for work in self.works)  # of a mean launch: slabs shrink and grow
        for counts in product(*(POINTS,) * (len(self._ones) - 1)):
            enough = blocks >= self.tuning.blocks * self.machine.sms * prod(counts)
            if prod(counts) == 1 or (prod(counts) <= self.most and enough):
                yield (*counts, 1)

    def _shape(self, counts: tuple[int, ...], time: KernelTime) -> Shape:
        one, found = self._reuse(self._ones), self._reuse(counts)
        cycles, less = 0.0, 0.0
        accesses = iter(time.accesses)
        for work, alone, together in zip(self.works, one, found, strict=True):
            parts = iter(zip(alone.first, together.first, strict=True))
            for reference in work.references:
                access = next(accesses)
                part = 1.0
                if not reference.access.writes:
                    before, behind = next(parts)
                    part = behind / (max(1, before) * prod(counts))
                cycles += access.cycles
                less += access.cycles * part
        requests = time.requests * less / cycles * L1_MOST_BYTES_PER_CYCLE / self.tuning.l1_bytes_per_cycle
        short, long = sorted((requests, self._arithmetic(time)))
        registers = self._registers(counts, found)
        busy = max(long + self.tuning.beside * short, time.l2 * self._fetched(counts), time.memory)
        turns = self._resident(1) / self._resident(registers) / prod(counts)
        fastest = busy + self.tuning.turns * turns * time.latency
        return Shape(counts, fastest, sum(r.loads for r in found) / prod(counts), registers)

    def _resident(self, registers: int) -> int:
        return resident_blocks(self.machine, prod(self.kernel.sizes), in_portions(registers), 0)

    def _fetched(self, counts: tuple[int, ...]) -> float:
        """Return what blocks fetch from L2 per point, relative to one point per thread."""
        one = self._footprints(self._ones)
        return self._footprints(counts) / prod(counts) / one if one else 1.0

    def _footprints(self, counts: tuple[int, ...]) -> float:
        """Compute what blocks with `counts` points per thread fetch from L2."""
        if counts not in self.fetched:
            total = 0.0
            for work in self.works:
                tile = [share.inside for share in work.shares]
                for dimension, count in enumerate(counts):
                    tile[self._along(work, dimension)] *= count
                total += sum(work.footprint(group, tile) for group in work.groups)
            self.fetched[counts] = total
        return self.fetched[counts]

    def _arithmetic(self, time: KernelTime) -> float:
        """Compute the microseconds of operations one by one: rates count a product and a sum at a time as two."""
        total = 0.0
        for work in self.works:
            speed = self.machine.speed
            rate = (speed.double_rate if is_double(work.statement) else speed.float_rate) / 2
            total += fused_operations(work.statement) * work.instances / rate
        return 1e6 * total * self.machine.sms / min(self.machine.sms, max(1.0, time.blocks))

    def _registers(self, counts: tuple[int, ...], found: Sequence[Reuse]) -> int:
        """Count a thread's registers: values that wait, or sums that are open, addresses, and the rest."""
        live, together = 0.0, dict[str, float]()
        for work, one, open_sums in zip(self.works, found, self._sums(), strict=True):
            words = max(r.array.element.size for r in work.references) // REGISTER_BYTES
            sums = open_sums.among(counts)
            live = max(live, words * min(one.waiting + 1, sums) if prod(counts) > 1 else words)
            stored = next(r.array.name for r in work.references if r.access.writes)
            together[stored] = max(together.get(stored, 0.0), words * sums)
        if self.together:  # what each has added up so far, and the parts of it that are sums, too
            live = 2 * sum(together.values())
        rows = sum(one.rows for one in found)
        return round(self.tuning.spare_registers + min(self.tuning.row_registers, rows) + live)

    def _loads(self, counts: tuple[int, ...]) -> float:
        return sum(one.loads for one in self._reuse(counts)) / prod(counts)

    def _reuse(self, counts: tuple[int, ...]) -> list[Reuse]:
        if counts not in self.known:
            if not self.followed:
                writes = self._writes
                self.followed.extend(PointReads.of(work.reads, self._steps(work), writes) for work in self.works)
            self.known[counts] = [reads.reuse(counts) for reads in self.followed]
        return self.known[counts]

    def _sums(self) -> list[OpenSums]:
        if not self.sums:
            of = OpenSums.of
            self.sums.extend(of(w.statement, w.reads, self._steps(w), free=self.free) for w in self.works)
        return self.sums

    def _steps(self, work: Work) -> list[tuple[int, ...]]:
        """Return how a statement's iterators move along each thread dimension."""
        return [work.mapped.loops[self._along(work, d)].step for d in range(len(self.kernel.sizes))]

    def _along(self, work: Work, dimension: int) -> int:
        found = _loop_along(work, self.kernel, dimension)
        assert found is not None  # _is_plain has asked
        return found
