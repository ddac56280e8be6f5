"""Inputs that are drawn on the device, fresh ones for each run: sizes for which no host would draw them in time.

Run 3 of one program has the inputs of run 3 of another one, so that nothing need be kept to compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.runtime.cupy_engine import require_cupy
from polytile.runtime.inputs import Style, random_memory
from polytile.runtime.layout import Layout, as_bytes, layouts

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
