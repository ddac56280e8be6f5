"""Runs of kernels with all data on the device, on inputs that are drawn there: how long they take, and whether programs
leave the same.

Memory is taken for each question, and is back in CuPy's pool behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from math import inf
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.runtime.cupy_engine import CupyEngine, require_cupy
from polytile.runtime.device_compare import all_finite, relative_difference
from polytile.runtime.inputs import Style, random_memory
from polytile.runtime.layout import Layout, as_bytes, layouts
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


# Element i is a number in [0.5, 1.5) made of the bits that the finalizer of splitmix64 (Steele, Lea, Flood: Fast
# splittable pseudorandom number generators, OOPSLA 2014) makes of the i-th step of its sequence.
_DRAW = """
unsigned long long z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
z ^= z >> 31;
T share = sizeof(T) == 8 ? T(z >> 11) * T(1.1102230246251565e-16) : T(z >> 40) * T(5.9604644775390625e-8);
data = scale * (T(0.5) + share);
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """How floating inputs are drawn: `scale` is a factor of the elements of arrays, `numbers` one of those that are
    passed by value; with `dominant` vectors add up to about 1, and diagonals of square matrices dominate."""

    scale: float = 1.0
    numbers: float = 1.0
    dominant: bool = False


SMALL = 2.0**-60
# Tried in turn until results stay finite. Of stencils whose weights add up to more than one, floats outgrow their type
# in a hundred steps, unless they or their weights are small; factorisations divide by the diagonal.
WAYS = (Drawn(), Drawn(SMALL), Drawn(dominant=True), Drawn(numbers=0.0625), Drawn(SMALL, 0.0625))


class DeviceInputs:
    """The arrays of a SCoP at given values of its parameters: floating ones are drawn on the device, others on the host
    once, as for a validation."""

    def __init__(self, scop: Scop, values: Mapping[str, int], seed: int) -> None:
        self.values, self.seed, self._scop = dict(values), seed, scop
        self.layouts: Mapping[str, Layout] = layouts(scop, values)
        self._large = [name for name, one in self.layouts.items() if one.dtype.kind == "f" and one.shape]
        small = {name: one for name, one in self.layouts.items() if name not in self._large}
        self._host = random_memory(scop, small, values, seed, Style.POSITIVE)
        self._by_value = {name for name in small if scop.by_value(small[name].array)}
        self._written = {name for name in small if scop.written(name)}

    def samples(self) -> Iterator[Any]:
        """Draw a few elements of each type, in all ways: what does it is compiled then."""
        for dtype in {self.layouts[name].dtype for name in self._large}:
            for way in WAYS:
                few = require_cupy().ones((2, 2), dtype)
                self.draw(few, 0, way)
                yield few

    @property
    def results(self) -> tuple[str, ...]:
        """Return the arrays of numbers that the SCoP may leave something in."""
        own = {name: one for name, one in self.layouts.items() if name not in self._by_value}
        numbers = {name: one.array for name, one in own.items() if one.dtype.names is None}
        return tuple(name for name, array in numbers.items() if array.live_out and self._scop.written(name))

    def allocate(self) -> dict[str, Any]:
        """Make memory on the device for every array, and on the host for numbers that are passed by value; what is
        drawn is not drawn yet."""
        cupy = require_cupy()
        memory = {name: cupy.empty(self.layouts[name].shape, self.layouts[name].dtype) for name in self._large}
        for name, data in self._host.items():
            memory[name] = data.copy() if name in self._by_value else cupy.asarray(_plain(data))
        return memory

    def set_numbers(self, memory: dict[str, Any], way: Drawn) -> None:
        """Set what is passed by value: it stays as long as the way to draw, and launches may be recorded with it."""
        for name in self._by_value:
            data = self._host[name]
            memory[name][...] = data * data.dtype.type(way.numbers) if data.dtype.kind == "f" else data

    def fill(self, memory: Mapping[str, Any], way: Drawn, run: int) -> None:
        """Draw the inputs of a run."""
        for number, name in enumerate(self._large):
            self.draw(memory[name], _seed(self.seed, run, number), way)
        for name in self._written - self._by_value:
            memory[name].set(_plain(self._host[name]))

    @staticmethod
    def draw(data: Any, seed: int, way: Drawn) -> None:
        """Fill an array of the device in place; the diagonal of a square matrix grows where it is to dominate."""
        scale = way.scale / max(1, data.shape[0]) if way.dominant and data.ndim == 1 else way.scale
        _kernel()(np.uint64(seed), data.dtype.type(scale), data)
        if way.dominant and data.ndim >= 2 and data.shape[-1] == data.shape[-2]:
            rows = data.shape[-1]
            data.reshape(-1, rows * rows)[:, :: rows + 1] += data.dtype.type(2.0 * rows)


def _plain(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """View an array as CuPy takes it, which has no structs."""
    return data if data.dtype.names is None else as_bytes(data)


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


@cache
def _kernel() -> Any:
    return require_cupy().ElementwiseKernel("uint64 seed, T scale", "T data", _DRAW, "polytile_draw")
