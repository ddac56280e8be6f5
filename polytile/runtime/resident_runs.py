"""Runs of kernels with all data on the device, on inputs that are drawn there: how long they take, and whether programs
leave the same.

Memory is taken for each question, and is back in CuPy's pool behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from math import inf
from typing import Any

from polytile.ir.scop import Scop
from polytile.runtime.cupy_engine import CupyEngine
from polytile.runtime.device_compare import all_finite, relative_difference
from polytile.runtime.device_inputs import WAYS, DeviceInputs, Drawn
from polytile.runtime.timing import Ready, in_turns, milliseconds_of, once, ready

Memory = dict[str, Any]


class ResidentRuns:
    """Runs of programs of one SCoP at given values of its parameters. The first run of all finds a way to draw inputs
    for which results are finite; where there is none, they are drawn the first way."""

    def __init__(self, scop: Scop, values: Mapping[str, int], seed: int) -> None:
        self.inputs = DeviceInputs(scop, values, seed)
        self._way: Drawn | None = None

    def compile(self) -> None:
        """Compile what draws inputs and looks at results, before a device is held for a run of it."""
        for few in self.inputs.samples():
            all_finite(few)
            relative_difference(few, few)

    def run(self, engine: CupyEngine) -> None:
        """Run a program once."""
        with self._memory() as memory:
            self._warmed(engine, memory)

    def time(self, engine: CupyEngine, *, runs: int | None = None, best: float = inf) -> tuple[float, ...]:
        """Time runs, in milliseconds, behind one to warm up, each on inputs of its own; `runs` and `best` as for
        `milliseconds_of`."""
        number = count(1)
        with self._memory() as memory:
            action, took = self._warmed(engine, memory)
            fresh = self._drawing(memory)
            return milliseconds_of(
                action, runs=runs, warm_ups=0, before=lambda: fresh(next(number)), warmed=(took,), best=best
            )

    def in_turns(self, engines: Sequence[CupyEngine], rounds: int) -> list[tuple[float, ...]]:
        """Time runs of several programs in turns, in milliseconds, which have the same inputs in a round."""
        with self._memory() as memory:
            actions = self._ready(engines, memory)
            return in_turns(actions, rounds=rounds, before=self._drawing(memory))

    def differences(self, engines: Sequence[CupyEngine]) -> list[dict[str, float]]:
        """Return the relative difference, by array, of what each program leaves from what the first one does; see
        `relative_difference`."""
        with self._memory() as memory:
            actions = self._ready(engines, memory)
            reference: Memory = {}
            found = []
            for action in actions:
                once(action, lambda: self._drawing(memory)(0))
                reference = reference or {name: memory[name].copy() for name in self.inputs.results}
                found.append({name: relative_difference(memory[name], one) for name, one in reference.items()})
            return found

    @contextmanager
    def _memory(self) -> Iterator[Memory]:
        memory = self.inputs.allocate()
        try:
            yield memory
        finally:
            memory.clear()

    def _drawing(self, memory: Memory) -> Callable[[int], None]:
        """Return the function that draws the inputs of a run, by its number."""
        way = self._way or WAYS[0]
        return lambda run: self.inputs.fill(memory, way, run)

    def _ready(self, engines: Sequence[CupyEngine], memory: Memory) -> list[Ready]:
        first, _ = self._warmed(engines[0], memory)
        return [first, *(self._bound(engine, memory) for engine in engines[1:])]

    def _bound(self, engine: CupyEngine, memory: Memory) -> Ready:
        return ready(engine, self.inputs.layouts, self.inputs.values, memory)

    def _warmed(self, engine: CupyEngine, memory: Memory) -> tuple[Ready, float]:
        """Run a program once on inputs with a finite result; return what runs it, and the milliseconds of that run."""
        for way in WAYS if self._way is None else ():
            found = self._run_once(engine, memory, way)
            if all(all_finite(memory[name]) for name in self.inputs.results):
                self._way = way
                return found
            del found
        self._way = self._way or WAYS[0]
        return self._run_once(engine, memory, self._way)

    def _run_once(self, engine: CupyEngine, memory: Memory, way: Drawn) -> tuple[Ready, float]:
        self.inputs.set_numbers(memory, way)
        action = self._bound(engine, memory)
        return action, once(action, lambda: self.inputs.fill(memory, way, 0))
