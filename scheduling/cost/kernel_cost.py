"""The time of one launch of a mapped kernel: what it waits for, from the numbers of its statements."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.ir.memory import Space, Storage
from polytile.machine import (
    L1_BYTES_PER_CYCLE,
    L1_MOST_BYTES_PER_CYCLE,
    REGISTER_FILE_PARTITIONS,
    SECTOR_BYTES,
    WARP_SIZE,
    Machine,
    Speed,
)
from polytile.scheduling.analysis.affine_references import Reference, magnitude
from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.array_layout import last_pitch
from polytile.scheduling.cost.array_use import ArrayUse, array_uses
from polytile.scheduling.cost.block_layers import fetched_again
from polytile.scheduling.cost.estimate import AccessTime, KernelTime
from polytile.scheduling.cost.machine_model import (
    beside_device_memory,
    hidden_in_part,
    reached,
    resident_blocks,
)
from polytile.scheduling.cost.mapped_loops import Role
from polytile.scheduling.cost.operation_cost import is_double
from polytile.scheduling.cost.statement_cost import Work, meet, serial_depth
from polytile.scheduling.cost.statement_reuse import accesses_again, at_one_point, shared_bytes

_UNROLLED = 4  # loads of a serial loop that are on their way together
_STEP_US = 0.004  # of a serial loop without loads: one dependent operation
_START_US = 0.3  # of a block: its place, its indices
_BATCHES_US = 2.0  # of one with tiles in registers: its first loads, what whole batches leave, its results
INDEX_INSTRUCTIONS = 40  # of a thread without loops, for its place and the conditions around it
DEPENDENT_CYCLES = 4.5  # of an instruction that waits for the one before
OPERATIONS_OF_ONE = 2  # instruction: a product and a sum
_SHORT = 16  # iterations of loops in one another that compilers unroll
_PLACED = 0.75  # of the threads that a multiprocessor holds, with the registers that kernels take


@dataclass(frozen=True)
class KernelCost:
    """A kernel: what its statements do, where its arrays live, and from which copies it reads others; `layered`: what
    layers of blocks share is in L2 only as far as it fits."""

    number: int
    works: list[Work]
    placed: Mapping[str, Storage]
    machine: Machine
    forwarded: Mapping[str, Storage]
    layered: bool = field(default=True, kw_only=True)

    @property
    def speed(self) -> Speed:
        return self.machine.speed

    def time(self) -> KernelTime:
        blocks = max(work.blocks for work in self.works)
        threads = max(prod(work.mapped.sizes) for work in self.works)
        launches = max(work.launches for work in self.works)
        again = accesses_again(self.works)
        accesses = tuple(a for work in self.works for a in self._accesses(work, again))
        used = min(self.machine.sms, blocks)
        cycles = sum(a.cycles for a in accesses)
        resident = max(1.0, min(self.machine.blocks_per_sm, _PLACED * self.machine.threads_per_sm // threads))
        turns = ceil(blocks / (self.machine.sms * resident))
        touched = self._touched()
        fetched = sum(self._fetched(work, resident) for work in self.works)
        near = min(1.0, self.speed.l2_bytes / max(1.0, touched))
        requests = 1e6 * cycles / used / self.speed.clock
        arithmetic = 1e6 * sum(self._arithmetic(work) for work in self.works) * self.machine.sms / used
        l2 = 1e6 * (fetched - self._fetched_again()) / self.speed.l2
        memory = 1e6 * self._moved() / (self.speed.l2 if near == 1 else self.speed.memory)
        latency = turns * self._latency(near, launches)
        if any(work.tiled for work in self.works):
            together = hidden_in_part(self._batches(blocks, threads, requests, arithmetic), memory)
        elif self.is_straight:
            issued = self._issued(sum(a.requests for a in accesses), used)
            together = beside_device_memory(hidden_in_part(requests, l2, arithmetic + issued), memory)
            latency += turns * self._one_after_another(sum(a.requests for a in accesses))
        else:
            together = hidden_in_part(requests, latency)
        return KernelTime(
            number=self.number,
            launches=launches,
            blocks=blocks,
            threads=threads,
            requests=requests,
            l2=l2,
            memory=memory,
            arithmetic=arithmetic,
            latency=latency,
            launch=self.speed.launch_us,
            accesses=accesses,
            together=together,
        )

    def _batches(self, blocks: float, threads: int, requests: float, arithmetic: float) -> float:
        """Compute the microseconds of tiles in registers.

        A thread waits for the loads of several iterations, and then computes; few others do the opposite meanwhile, as
        its registers leave them no room.
        """
        most = self.machine.tuning.registers.max_registers
        resident = resident_blocks(self.machine, threads, most, 0)
        each = ceil(blocks / self.machine.sms - 1e-6)  # of a multiprocessor
        last = each * min(self.machine.sms, blocks) / blocks  # how much more it has than others
        work = requests + arithmetic / reached(min(each, resident) * threads / WARP_SIZE)
        loops = max(prod(w.shares[i].serial for i in self._rolled(w)) for w in self.works)
        has_batches = loops > 2 * self.machine.tuning.loads.tile_iterations
        return last * work + ceil(each / resident) * (_BATCHES_US if has_batches else _START_US)

    def _issued(self, requests: float, used: float, indices: float = INDEX_INSTRUCTIONS) -> float:
        """Compute the microseconds for so many requests and the indices of each thread on the multiprocessors that are
        used."""
        instructions = requests + indices * max(work.warps / work.serial for work in self.works)
        return 1e6 * instructions / (REGISTER_FILE_PARTITIONS * used * self.speed.clock)

    def _one_after_another(self, requests: float) -> float:
        """Compute the microseconds of a warp of threads without loops for its instructions.

        Most wait for the one before: what counts where each has its own place.
        """
        warps = max(work.warps / work.serial for work in self.works)
        if warps == 0:  # tiles that are larger than all that there is
            return 0.0
        computed = sum(work.operations * work.warps for work in self.works) / OPERATIONS_OF_ONE
        return 1e6 * DEPENDENT_CYCLES * (INDEX_INSTRUCTIONS + (requests + computed) / warps) / self.speed.clock

    @cached_property
    def is_straight(self) -> bool:
        """Return whether threads have no loops: then each has all of its loads under way."""
        return not any(self._rolled(work) for work in self.works)

    @staticmethod
    def _rolled(work: Work) -> list[int]:
        """Return the serial loops of a thread that remain loops: not unrolled, and too long for compilers to."""
        found = [i for i in work.serial_loops if i not in work.points and not work.mapped.loops[i].parts[-1].unrolled]
        return found if prod(work.shares[i].serial for i in found) > _SHORT else []

    def _storage(self, reference: Reference) -> Storage | None:
        """Return where an access goes, if not to device memory."""
        name = reference.array.name
        return self.placed.get(name) or (None if reference.access.writes else self.forwarded.get(name))

    def _in_memory(self, work: Work) -> Iterable[Reference]:
        return (r for r in work.references if self._storage(r) is None)

    def _accesses(self, work: Work, again: Container[int]) -> Iterable[AccessTime]:
        for reference in work.references:
            storage = self._storage(reference)
            if storage is None or storage.space is not Space.PRIVATE:
                yield self._access(work, reference, storage, again)

    def _access(self, work: Work, reference: Reference, storage: Storage | None, again: Container[int]) -> AccessTime:
        request = work.request(reference)
        times = work.warps * work.folds(reference) / self._held(work, reference) * (id(reference) not in again)
        if storage is None:
            times *= work.loaded(reference) / work.vector(reference)
        line_cycles = 0.0 if storage else request.lines
        cycles = max(request.sectors * SECTOR_BYTES / L1_BYTES_PER_CYCLE, line_cycles)
        cycles = max(1.0, cycles * L1_BYTES_PER_CYCLE / L1_MOST_BYTES_PER_CYCLE if self.is_straight else cycles)
        access = reference.access
        return AccessTime(
            work.mapped.name,
            access.array,
            access.kind,
            access.location.short,
            times,
            request.sectors,
            request.ideal or storage is not None,
            times * (min(cycles, 2.0) if storage else cycles),
        )

    def _held(self, work: Work, reference: Reference) -> float:
        """Return over how many instances of a thread one request serves, as the value stays in a register: in one for
        each iteration of an unrolled loop."""
        times = 1.0
        for loop in work.serial_loops:
            if loop in work.points or (work.moves(reference, loop) and work.mapped.loops[loop].parts[-1].unrolled):
                continue
            if work.moves(reference, loop) or not self._alone(work, reference, loop):
                break
            times *= work.shares[loop].serial
        return times

    def _alone(self, work: Work, reference: Reference, loop: int) -> bool:
        """Return whether nothing in a loop touches the element meanwhile: nothing writes the array there, or nothing
        but this statement mentions it, and that never at this element."""
        place = work.mapped.loops[loop].parts[-1]
        together = [
            w
            for w in self.works
            if w.mapped.serial_parent == work.mapped.serial_parent and any(place in o.parts for o in w.mapped.loops)
        ]
        same = [(w, r) for w in together for r in w.references if r.array.name == reference.array.name]
        if not any(r.access.writes for _, r in same):
            return True
        return all(w is work and not (w.moves(r, loop) and meet(w, reference, r, loop)) for w, r in same)

    def _groups(self, work: Work) -> Iterable[ReferenceGroup]:
        """Yield the accesses that go to memory, or to what L1 has of it."""
        return (g for g in work.groups if g.array.name not in self.placed)

    def _touched(self) -> float:
        """Compute the bytes of memory that one launch uses."""
        return sum(use.touched for use in self._used.values())

    def _moved(self) -> float:
        """Compute the bytes that one launch has to move to and from memory."""
        once = sum(use.read + use.written for use in self._used.values())
        return once + self.layers_fetch

    @cached_property
    def layers_fetch(self) -> float:
        """Compute the bytes that layers of blocks fetch from device memory again, where threads have no loops."""
        return fetched_again(self.works, self.placed, self.speed.l2_bytes) if self.layered and self.is_straight else 0.0

    @cached_property
    def _used(self) -> dict[str, ArrayUse]:
        return self._arrays()

    def _arrays(self) -> dict[str, ArrayUse]:
        """Return what one launch uses of each array."""
        return array_uses(self.works, self.placed)

    def _fetched(self, work: Work, resident: float) -> float:
        """Compute the bytes that the blocks of a launch fetch from L2 or send to it.

        They are the footprint of a block, as far in as L1 holds what serial loops use again.
        """
        room = self.speed.l1_bytes / resident
        groups = list(self._groups(work))
        held = [share.inside if i not in work.serial_loops else 1.0 for i, share in enumerate(work.shares)]
        for loop, inside in work.levels:
            held[loop] = inside
            if sum(work.footprint(g, held) for g in groups) > room:
                break
        each = sum(work.footprint(g, held) for g in groups)
        shares = ((work.shares[i], held[i]) for i in work.serial_loops)
        around = prod(share.serial if n == 1.0 else share.inside / n for share, n in shares)
        return each * around * work.blocks * work.filled

    def _fetched_again(self) -> float:
        """Compute the bytes among these that statements of one point fetch again, and that are in L1 by then."""
        total = 0.0
        for group in at_one_point(self.works):
            first = group[0]
            held = [share.inside for share in first.shares]
            sizes: list[dict[str, float]] = []
            for work in group:
                sizes.append({})
                for one in self._groups(work):
                    sizes[-1][one.array.name] = sizes[-1].get(one.array.name, 0.0) + work.footprint(one, held)
            total += shared_bytes(sizes) * first.blocks * first.filled
        return total

    def _arithmetic(self, work: Work) -> float:
        rate = self.speed.double_rate if is_double(work.statement) else self.speed.float_rate
        return work.operations * work.warps * WARP_SIZE / rate

    def _far(self, near: float) -> float:
        return near * self.speed.l2_us + (1 - near) * self.speed.memory_us

    def _latency(self, near: float, launches: float) -> float:
        """Compute the microseconds from the start of a block to its end. After a barrier its loads begin anew."""
        chains = sum((self._chain(w, near) * w.filled + self._fold(w)) * w.launches / launches for w in self.works)
        barriers = max(work.barriers() for work in self.works)
        return _START_US + chains + barriers * (self.speed.barrier_us + self._far(near))

    def _fold(self, work: Work) -> float:
        """Compute the microseconds to read the partial results that a statement combines, unless they are registers."""
        reads = (r for r in work.references if not r.access.writes and work.folds(r) > 1)
        slow = any(s is None or s.space is not Space.PRIVATE for s in map(self._storage, reads))
        combine = work.statement.combine
        return prod(combine.sizes) * self.speed.l1_us / _UNROLLED if combine and slow else 0.0

    def _chain(self, work: Work, near: float) -> float:
        """Compute the microseconds that a thread takes for its instances of a statement in one launch, when it never
        waits for others; `near` of its lines come from L2."""
        far = self._far(near)
        loads = [r for r in self._in_memory(work) if not r.access.writes]
        loops = self._rolled(work)  # what a thread runs unrolled, in its other loops, does not wait for one another
        if not loops:
            return far if loads else self.speed.l1_us
        inner = loops[0]
        moving = [r for r in loads if work.moves(r, inner)]
        together = 1 if any(self._carried(work, r) for r in moving) else _UNROLLED
        lines = (_misses(work, r, inner) / _again(work, r, inner) for r in moving)
        miss = min(1.0, together * max(lines, default=0.0))
        wait = (miss * far + self.speed.l1_us * bool(moving)) / together
        step = _STEP_US * max(1.0, work.operations / 2)
        return far + prod(work.shares[i].serial for i in loops) * max(step, wait)

    def _carried(self, work: Work, reference: Reference) -> bool:
        """Return whether a load may have to wait for what the same loop stores."""
        written = (r for r in self._in_memory(work) if r.access.writes and r.array.name == reference.array.name)
        return any(self._held(work, r) == 1.0 for r in written)


def _again(work: Work, reference: Reference, loop: int) -> float:
    """Return how often a thread reads the same elements in a tile of a loop: for each iteration of the loops in
    between."""
    parts = [p for p in work.mapped.loops[loop].parts if p.role is Role.SERIAL]
    if len(parts) < 2:
        return 1.0
    outer, inner = parts[0].depth, parts[-1].depth
    between = (i for i in work.serial_loops if i != loop and outer < serial_depth(work.mapped.loops[i]) < inner)
    return prod(work.shares[i].serial for i in between if not work.moves(reference, i))


def _misses(work: Work, reference: Reference, loop: int) -> float:
    """Return how often a load needs another sector when a serial loop advances: always, or once in several iterations
    where it runs along a row."""
    *outer, last = reference.subscripts or (None,)
    step = work.thread_step(loop)
    if last is None or any(form is None or form.moved_by(step) for form in outer):
        return 1.0
    return min(1.0, float(magnitude(last.along(step))) * last_pitch(reference) / SECTOR_BYTES)
