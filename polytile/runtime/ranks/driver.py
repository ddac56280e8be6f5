"""The loop of one rank over the periods of a run.

before: for t: all of the array
after:  exchange `before`; for each period: for each step and phase, a box that shrinks; in the last one
        boundary, pack, start, interior, wait, unpack (or the whole phase, and rounds of pack, start, wait, unpack)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polytile.distribution.boxes import Box, Reach, boundary_and_interior, grown, volume
from polytile.distribution.transfers import ExchangeMode
from polytile.ir.evaluate import evaluate
from polytile.runtime.ranks.exchange import Exchange, fixed_arguments
from polytile.runtime.ranks.global_reductions import GlobalReductions
from polytile.runtime.ranks.kernels import CompiledPlan
from polytile.runtime.ranks.local_grid import LocalGrid
from polytile.runtime.ranks.messages import Transport
from polytile.runtime.ranks.place import Place
from polytile.runtime.ranks.records import RunRecord, Span, Traffic

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

MOST_SPANS = 6000  # that are kept of a run
MOST_DIRECTIONS = 27


class RankProgram:
    """One rank's part of a program of certain sizes, with buffers and requests: to be run any number of times."""

    def __init__(
        self,
        compiled: CompiledPlan,
        local: LocalGrid,
        mode: ExchangeMode,
        transport: Transport,
        place: Place,
        comm: Intracomm | None = None,
    ) -> None:
        self.compiled, self.local, self.mode, self.place, self.comm = compiled, local, mode, place, comm
        plan = compiled.plan
        self.lead = compiled.lead.bind(fixed_arguments(plan, local)) if compiled.lead else None
        self.phases = [kernels.bind(fixed_arguments(plan, local)) for kernels in compiled.phases]
        self.scratch = {array.name: local.unset(array.name) for array in local.scratch}
        self.reductions = GlobalReductions(compiled, fixed_arguments(plan, local), local, place)
        self.reductions.begin(self.scratch)
        self.before = Exchange(compiled, plan.before, local, mode, transport, 0)
        self.between = Exchange(compiled, plan.between, local, mode, transport, MOST_DIRECTIONS)

    @property
    def steps(self) -> range:
        """The iterations of the time loop."""
        time = self.compiled.plan.time
        return range(evaluate(time.first, self.local.sizes), evaluate(time.end, self.local.sizes))

    def run(self, arrays: Mapping[str, Any]) -> RunRecord:
        """Run all steps on the rank's arrays, in place; raises DeviceError where a message or a kernel fails."""
        return _Run(self, arrays).run()

    @property
    def sides(self) -> tuple[Reach, ...]:
        """How thick the boundary is at each side: nothing where there is no neighbour."""
        there = zip(self.compiled.plan.boundary, self.local.coordinates, self.local.grid.shape, strict=True)
        return tuple((below * (at > 0), above * (at < parts - 1)) for (below, above), at, parts in there)


class _Run:
    """One run of a program on some arrays."""

    def __init__(self, program: RankProgram, arrays: Mapping[str, Any]) -> None:
        numbers = {name: value for name, value in arrays.items() if np.isscalar(value)}
        by_value = {name: np.asarray(value, program.local[name].dtype) for name, value in numbers.items()}
        self.program, self.arrays = program, {**arrays, **by_value, **program.scratch}
        self.plan, self.place, self.local = program.compiled.plan, program.place, program.local
        self.sides = program.sides
        self.marks: deque[tuple[str, int, Any, Any]] = deque(maxlen=MOST_SPANS)
        self.exchanges, self.combined = 0, Traffic()

    def run(self) -> RunRecord:
        steps, begin = self.program.steps, self._begin()
        if steps:
            self._exchange(self.program.before, steps.start)
        for first in steps[:: self.plan.steps]:
            self._period(first, min(self.plan.steps, steps.stop - first), steps.stop)
        self.place.settle()
        return self._record(begin)

    def _begin(self) -> Any:
        self.place.settle()
        return self.place.mark(side=False)

    def _period(self, first: int, steps: int, end: int) -> None:
        """Run some steps, and the exchange behind them if others follow."""
        follows = first + steps < end and bool(self.program.between.rounds)
        overlapped = follows and self.program.mode is ExchangeMode.OVERLAP
        start = self.place.mark(side=False)
        done = self._at_once(first, steps - overlapped)
        launches = [(step, phase) for step in range(done, steps) for phase in range(len(self.plan.phases))]
        at = len(launches) - len(self.plan.phases) + self.plan.split_phase
        for step, phase in launches[: max(at, 0)]:
            self._compute(phase, first + step, self._box(phase, steps - 1 - step), side=False)
        self._note("steps", first, start)
        if launches:
            self._last_step(first, first + steps - 1, overlapped)
        if follows and not overlapped:
            self._exchange(self.program.between, first + steps)
        self.exchanges += follows

    def _at_once(self, first: int, steps: int) -> int:
        """Run some steps in time tiles, if there are such and it is several; returns how many were run."""
        if self.program.lead is None or steps < 2:
            return 0
        box = self.plan.lead_box(self.local.stored, self.local.grid.extents)
        given = {**self.arrays, **self._named(box), self.plan.step: first, self.plan.count: steps}
        self.program.lead(given, self.place.queue(side=False))
        return steps

    def _last_step(self, first: int, step: int, overlapped: bool) -> None:
        """Run the last phase that computes boxes in the last step of a period, and what is behind it."""
        last = self.plan.split_phase
        if overlapped:
            self._overlapped(first, step, last)
        else:
            start = self.place.mark(side=False)
            self._compute(last, step, self._box(last, 0), side=False)
            self._note("interior", first, start)
        for phase in range(last + 1, len(self.plan.phases)):
            self._compute(phase, step, self._box(phase, 0), side=False)

    def _overlapped(self, first: int, step: int, phase: int) -> None:
        """Exchange the halos for the next period while the last phase of this one computes the interior."""
        place, exchange, after = self.place, self.program.between, step + 1
        slabs, interior = boundary_and_interior(self._box(phase, 0), self.sides)
        place.after(side=True)
        start = place.mark(side=True)
        for slab in slabs:
            self._compute(phase, step, slab, side=True)
        self._note("boundary", first, start, side=True)
        start = place.mark(side=True)
        exchange.pack(0, after, self.arrays, place, side=True)
        self._note("pack", first, start, side=True)
        start = place.mark(side=False)
        if place.on == "gpu":  # a launch returns before it ends: messages start behind it
            self._compute(phase, step, interior, side=False)
            exchange.rounds[0].messages.start()
        else:
            exchange.rounds[0].messages.start()
            self._compute(phase, step, interior, side=False)
        self._note("interior", first, start)
        self._finish(exchange, 0, first, after)

    def _exchange(self, exchange: Exchange, step: int) -> None:
        """Exchange all halos in front of a step, one round after another."""
        for number in range(len(exchange.rounds)):
            self.place.after(side=True)
            start = self.place.mark(side=True)
            exchange.pack(number, step, self.arrays, self.place, side=True)
            self._note("pack", step, start, side=True)
            exchange.rounds[number].messages.start()
            self._finish(exchange, number, step, step)

    def _finish(self, exchange: Exchange, number: int, period: int, step: int) -> None:
        """Wait for a round and unpack it, behind all kernels: the interior may read what lies in halos."""
        start = self.place.mark(side=True)
        exchange.rounds[number].messages.wait()
        self._note("wait", period, start, side=True)
        self.place.after(side=False)
        start = self.place.mark(side=False)
        exchange.unpack(number, step, self.arrays, self.place, side=False)
        self._note("unpack", period, start)

    def _box(self, phase: int, following: int) -> Box:
        """Return the positions that a phase computes when so many steps of the period follow."""
        return grown(self.local.owned, self.plan.phases[phase].growth[following], self.local.grid.extents)

    def _compute(self, phase: int, step: int, box: Box, *, side: bool) -> None:
        if self.plan.reductions:
            assert self.program.comm is not None
            found, sent = self.program.reductions.results(phase, self.arrays, self.program.comm)
            self.arrays |= found
            self.combined += sent
        if not volume(box) and self.plan.is_cut(self.plan.phases[phase]):
            return
        # the step is called "" where there is no time loop, which nobody takes
        given = {**self.arrays, **self._named(box), self.plan.step: step}
        self.program.phases[phase](given, self.place.queue(side=side))

    def _named(self, box: Box) -> dict[str, int]:
        """Return a box as the arguments of kernels."""
        given: dict[str, int] = {}
        for names, (first, end) in zip(self.plan.boxes, self.local.positions(box), strict=True):
            given |= {names.first: first, names.end: end}
        return given

    def _note(self, what: str, step: int, start: Any, *, side: bool = False) -> None:
        self.marks.append((what, step, start, self.place.mark(side=side)))

    def _record(self, begin: Any) -> RunRecord:
        program, seconds = self.program, self.place.seconds
        once = program.between.traffic
        return RunRecord(
            rank=self.local.rank,
            steps=len(program.steps),
            exchanges=self.exchanges,
            before=program.before.traffic if program.steps else Traffic(),
            between=Traffic(once.messages * self.exchanges, once.bytes * self.exchanges),
            reductions=self.combined,
            array_bytes=self.local.nbytes,
            buffer_bytes=program.before.buffer_bytes + program.between.buffer_bytes,
            spans=tuple(Span(what, step, seconds(begin, a), seconds(begin, b)) for what, step, a, b in self.marks),
        )
