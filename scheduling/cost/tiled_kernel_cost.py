"""The time of one launch of a kernel with tiles in shared memory and registers.

A multiprocessor runs its blocks in rounds of those that are resident together. In a round it computes, and serves the
requests of warps to shared memory and L1; a fill and its barriers stall a block, which other blocks hide:

    before: one block of 64 x 64 sums, 16 terms a tile: 1.2 us of work and 0.75 us of stalls for each tile
    after:  three blocks at a time: 3.6 us of work for three tiles, no stalls

The numbers were fitted to measured kernels of an H200, products of 4 x 4 to 8 x 8 sums in a thread.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from math import ceil, isqrt, prod

from polytile.dataclass import dataclass
from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, Copy, KernelPlan, Owner, Placement
from polytile.machine import L1_BYTES_PER_CYCLE, SECTOR_BYTES, SHARED_ALIGNMENT, WARP_SIZE
from polytile.scheduling.analysis.affine_references import Reference
from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.array_use import ArrayUse
from polytile.scheduling.cost.estimate import AccessTime, KernelTime, Residency
from polytile.scheduling.cost.kernel_cost import INDEX_INSTRUCTIONS, KernelCost
from polytile.scheduling.cost.machine_model import (
    beside_device_memory,
    hidden_in_part,
    in_rounds,
    in_turns,
    reached,
    resident_blocks,
    thread_registers,
)
from polytile.scheduling.cost.mapped_loops import Part, Role
from polytile.scheduling.cost.shared_requests import fill_cycles, vector_elements, wavefronts
from polytile.scheduling.cost.statement_cost import Work
from polytile.scheduling.cost.warp_coverage import warp_shapes

_TOGETHER = 8  # loads of a thread that are on their way together, where its loops are unrolled
_START_US = 0.3  # of a block
_BORDER_US = 0.06  # of an instance behind a condition, with its loads and addresses


@dataclass(frozen=True)
class TiledKernelCost(KernelCost):
    """A kernel with tiles; `depths` are the numbers of the bands of its labelled loops, counted from the root."""

    plan: KernelPlan
    depths: Mapping[str, int]

    @cached_property
    def uses(self) -> dict[tuple[str, int], Placement]:
        return {use: placement for placement in self.plan.placements for use in placement.uses}

    def time(self) -> KernelTime:
        blocks = max(work.blocks for work in self.works)
        if self.is_straight:
            return self._straight(super().time(), blocks)
        most = ceil(blocks / self.machine.sms - 1e-6)  # of a multiprocessor
        resident = min(most, self.resident)
        warps = resident * ceil(self.threads / WARP_SIZE)
        near = min(1.0, self.speed.l2_bytes / max(1.0, self._touched()))
        accesses = tuple(a for work in self.works for a in self._accesses(work, ()))
        pipe = 1e6 * (sum(a.cycles for a in accesses) / blocks + self._copied_cycles()) / self.speed.clock
        ideal = 1e6 * self.machine.sms / blocks * sum(map(self._computing, self.works))
        computing = ideal / reached(warps)
        each = in_turns(pipe, computing)
        rounds = in_rounds(most, resident, each, self._stalls(near))
        memory = 1e6 * self._moved() / (self.speed.l2 if near == 1 else self.speed.memory)
        return KernelTime(
            number=self.number,
            launches=max(work.launches for work in self.works),
            blocks=blocks,
            threads=self.threads,
            requests=most * pipe,
            l2=1e6 * blocks * self._copied_bytes() / self.speed.l2,
            memory=memory,
            arithmetic=most * computing,
            latency=_START_US + max(0.0, rounds - most * each),
            launch=self.speed.launch_us,
            accesses=accesses,
            together=max(hidden_in_part(rounds, memory), self._at_borders) + _START_US,
            residency=Residency(self.registers, self.shared_bytes, resident, ceil(most / resident)),
        )

    def _straight(self, plain: KernelTime, blocks: float) -> KernelTime:
        """Compute the time of threads without loops, from the time without what they copy first.

        For that they all wait.
        """
        used = min(self.machine.sms, blocks)
        requests = plain.requests + 1e6 * blocks * self._copied_cycles() / used / self.speed.clock
        l2 = 1e6 * blocks * self._copied_bytes() / self.speed.l2
        elements = sum(times * prod(placement.extents) for placement, _, times in self._copies())
        copying = 2 * blocks * elements / WARP_SIZE  # loads and stores
        issued = self._issued(sum(a.requests for a in plain.accesses) + copying, used, 2 * INDEX_INSTRUCTIONS)
        turns = ceil(blocks / (self.machine.sms * self.resident))
        near = min(1.0, self.speed.l2_bytes / max(1.0, self._touched()))
        latency = plain.latency + turns * (self._far(near) + self.speed.barrier_us)
        here = hidden_in_part(requests, l2, plain.arithmetic + issued)
        together = beside_device_memory(here, plain.memory)
        residency = Residency(self.registers, self.shared_bytes, self.resident, turns)
        return replace(plain, requests=requests, l2=l2, latency=latency, together=together, residency=residency)

    @cached_property
    def threads(self) -> int:
        return max(prod(work.mapped.sizes) for work in self.works)

    @cached_property
    def shared_bytes(self) -> int:
        return sum(_bytes(p, self._size(p)) for p in self.plan.placements if p.memory is Space.SHARED)

    @cached_property
    def registers(self) -> int:
        """Estimate the registers of a thread: its sums, what they read at a time, and some more.

        Returns what its launch bounds allow, if that is less.
        """
        tiles = (p for p in self.plan.placements if p.memory is Space.PRIVATE)
        kept = sum(prod(p.extents) * self._size(p) for p in tiles)
        read = max((self._operands(work) for work in self.works), default=0)
        return thread_registers(kept, max(read, self._loaded))

    @property
    def _loaded(self) -> int:
        """Return the bytes that a thread loads for the shared tiles of a loop, all before it stores them."""
        loaded: dict[str, int] = {}
        for p in self.plan.placements:
            if p.memory is Space.SHARED and p.fill:
                loaded[p.fill.at] = loaded.get(p.fill.at, 0) + self._size(p) * prod(p.extents)
        return max(loaded.values(), default=0) // self.threads

    @cached_property
    def resident(self) -> int:
        """Return the blocks that a multiprocessor has at a time: as many as there is room for.

        Where a kernel asks for fewer, a compiler loads ahead in registers of the others, but not in all of them (H100:
        5 blocks of 3 and 10).
        """
        room = resident_blocks(self.machine, self.threads, self.registers, self.shared_bytes)
        asked = self.plan.launch.min_blocks or room
        return max(asked, isqrt(asked * room))

    def _computing(self, work: Work) -> float:
        """Compute the seconds of arithmetic at the rate of the machine."""
        share = work.operations_of_points(self._points(work)) / work.operations if work.operations else 1.0
        return self._arithmetic(work) * work.padding * share

    def _size(self, placement: Placement) -> int:
        """Return the bytes of an element."""
        references = (r for work in self.works for r in work.references)
        return next((r.array.element.size for r in references if r.array.name == placement.array), 1)

    def _operands(self, work: Work) -> int:
        """Return the bytes of what a thread reads for its points at a time, but for its sums."""
        total = 0
        for reference in work.references:
            placement = self._use(work, reference)
            if reference.access.writes or (placement is not None and placement.memory is Space.PRIVATE):
                continue
            moving = (i for i in self._points(work) if work.moves(reference, i))
            total += int(prod(work.shares[i].serial for i in moving)) * reference.array.element.size
        return total

    def _points(self, work: Work) -> list[int]:
        """Return the loops of which a thread runs several iterations of its own, unrolled."""
        return [i for i in work.serial_loops if work.mapped.loops[i].threads]

    def _use(self, work: Work, reference: Reference) -> Placement | None:
        number = next((n for n, a in enumerate(work.statement.accesses) if a is reference.access), -1)
        return self.uses.get((work.mapped.name, number))

    def _in_memory(self, work: Work) -> Iterable[Reference]:
        return (r for r in super()._in_memory(work) if self._use(work, r) is None)

    def _groups(self, work: Work) -> Iterable[ReferenceGroup]:
        tiled = {id(r) for r in work.references if self._use(work, r) is not None}
        return (g for g in super()._groups(work) if not all(id(r) in tiled for r in g.members))

    def _accesses(self, work: Work, again: Container[int]) -> Iterable[AccessTime]:
        """Yield the requests of a statement: to shared tiles, and to what has no tile."""
        for reference in work.references:
            placement, storage = self._use(work, reference), self._storage(reference)
            if Space.PRIVATE in {getattr(placement, "memory", None), getattr(storage, "space", None)}:
                continue
            if placement is None:
                yield self._access(work, reference, storage, again)
            else:
                yield self._shared_access(work, reference, placement)

    def _shared_access(self, work: Work, reference: Reference, placement: Placement) -> AccessTime:
        shapes, rank = warp_shapes(work.dimensions), len(work.statement.iterators)
        steps = [work.thread_step(i) for i in work.serial_loops if not work.mapped.loops[i].threads]
        vector = vector_elements(reference, placement, steps)
        turns = sum(weight * wavefronts(placement, reference, along, rank, vector) for weight, along in shapes)
        times = work.warps * work.padding / self._held(work, reference)
        access = reference.access
        where = access.location.short
        return AccessTime(
            work.mapped.name, access.array, access.kind, where, times, turns, True, times * turns, shared=True
        )

    def _held(self, work: Work, reference: Reference) -> float:
        """Return how many points of a thread one load serves: those that read the same."""
        points = self._points(work)
        if not points:
            return super()._held(work, reference)
        return prod(work.shares[i].serial for i in points if not work.moves(reference, i))

    def _copies(self) -> Iterable[tuple[Placement, Copy, float]]:
        """Yield the copies, with how often a block makes each."""
        for placement in self.plan.placements:
            works = [w for w in self.works if any(name == w.mapped.name for name, _ in placement.uses)]
            for copy in placement.copies:
                depth = self.depths.get(copy.at, 0)
                once = copy.at == WHOLE_KERNEL or not works
                yield placement, copy, 1.0 if once else max(_iterations(work, depth) for work in works)

    def _copied_cycles(self) -> float:
        """Compute the cycles of L1 and shared memory for the copies of a block."""
        total = 0.0
        for placement, copy, times in self._copies():
            size, row = self._size(placement), placement.extents[copy.lanes[0]] if copy.lanes else 1
            if placement.owner is Owner.THREAD:  # neighbours have neighbouring elements
                row = self.works[0].mapped.sizes[-1] if self.works[0].mapped.sizes else 1
            elements = prod(placement.extents) * (self.threads if placement.owner is Owner.THREAD else 1)
            sectors, rows = fill_cycles(row, size)
            requests = elements / WARP_SIZE
            stored = -(-WARP_SIZE * size // 128) if placement.memory is Space.SHARED else 0
            total += times * requests * (max(sectors * SECTOR_BYTES / L1_BYTES_PER_CYCLE, rows) + stored)
        return total

    def _copied_bytes(self) -> float:
        """Compute the bytes that copies and other accesses of a block bring from L2, or send there."""
        total = sum(self._fetched(work, float(self.resident)) / work.blocks for work in self.works)
        for placement, _, times in self._copies():
            owners = self.threads if placement.owner is Owner.THREAD else 1
            total += times * prod(placement.extents) * owners * self._size(placement)
        return total

    def _arrays(self) -> dict[str, ArrayUse]:
        """Return what one launch uses of each array; of those in tiles of the whole kernel, what its blocks copy."""
        copied: dict[str, list[tuple[float, Copy]]] = {}
        blocks = max(work.blocks for work in self.works)
        for placement, copy, _ in self._copies():
            if copy.at == WHOLE_KERNEL and placement.owner is Owner.BLOCK:
                size = blocks * prod(placement.extents) * self._size(placement)
                copied.setdefault(placement.array, []).append((size, copy))
        found = {name: used for name, used in super()._arrays().items() if name not in copied}
        for name in self._only_written & found.keys():
            found[name] = replace(found[name], read=0.0)
        for placement in self.plan.placements:
            if placement.array in copied:
                most = max(size for size, _ in copied[placement.array])
                read, written = placement.fill is not None, placement.drain is not None
                found[placement.array] = ArrayUse(most, most * read, most * written)
        return found

    @cached_property
    def _only_written(self) -> set[str]:
        """Return the arrays of which threads keep elements that they do not load."""
        kept = [p for p in self.plan.placements if p.owner is Owner.THREAD]
        return {p.array for p in kept if p.drain and not any(q.fill for q in kept if q.array == p.array)}

    def _stalls(self, near: float) -> float:
        """Compute the microseconds for which a block that is alone waits: for what it copies, at barriers, and for
        other loads."""
        far = self._far(near)
        shared = {copy.at: times for p, copy, times in self._copies() if p.memory is Space.SHARED}
        waits = far * sum(times * self._latencies(p) for p, _, times in self._copies())
        steps = max(work.barriers() for work in self.works)
        barriers = self.speed.barrier_us * (2 * sum(shared.values()) + steps)
        return waits + barriers + sum(self._waits(w, far) for w in self.works)

    @property
    def _at_borders(self) -> float:
        """Compute the microseconds of a block whose tile is not full.

        Its threads load one after another what no shared tile has, as conditions are around the loads.
        """
        partly = [w for w in self.works if w.padding > 1 and any(not r.access.writes for r in self._in_memory(w))]
        return max((w.serial * _BORDER_US for w in partly), default=0.0)

    def _latencies(self, placement: Placement) -> float:
        """Return how often a thread waits while it copies its part of a tile."""
        threads = 1 if placement.owner is Owner.THREAD else self.threads
        elements = prod(placement.extents)
        if placement.memory is Space.SHARED and elements % threads:  # each behind a condition
            return float(-(-elements // threads))
        return max(1.0, elements / threads / _TOGETHER)

    def _waits(self, work: Work, far: float) -> float:
        """Compute the microseconds in which a thread waits for loads that no tile has."""
        loads = [r for r in self._in_memory(work) if not r.access.writes]
        moving = [i for i in work.serial_loops if any(work.moves(r, i) for r in loads)]
        return max(1.0, prod(work.shares[i].serial for i in moving) / _TOGETHER) * far if loads else 0.0


def _bytes(placement: Placement, size: int) -> int:
    return -(-placement.layout.size(placement.extents) * size // SHARED_ALIGNMENT) * SHARED_ALIGNMENT


def _iterations(work: Work, depth: int) -> float:
    """Return how many iterations of the serial loops down to a band a block runs."""
    total = 1.0
    for share, loop in zip(work.shares, work.mapped.loops, strict=True):
        own = [p for p in loop.parts if p.role is Role.SERIAL and p.depth <= depth]
        if own and not loop.threads:
            total *= _of_parts(share.inside, own)
    return total


def _of_parts(iterations: float, parts: list[Part]) -> float:
    """Return the iterations of a loop that these parts run through: all, but for what is left inside its tiles."""
    whole = any(part.tile == 1 for part in parts)
    return iterations if whole else float(ceil(iterations / min(part.tile for part in parts)))
