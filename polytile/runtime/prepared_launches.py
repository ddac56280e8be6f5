"""Runs of a few launches, repeated with other addresses and numbers: their arguments lie in one block of host memory,
where a run writes what is new before it launches.

before: k0<<<(8, 1, 1), 256>>>(n, a, w), k1<<<(1, 1, 1), 32>>>(n, a)
after:  block: a at 0, w at 8, n at 16; k0 with pointers to 16, 0, 8; k1 with pointers to 16, 0

Going through CuPy takes a microsecond for each argument, and an equal run of many launches is a graph (cuda_graphs.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any

import numpy as np

from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes
from polytile.dataclass import dataclass
from polytile.ir.host import FEWEST_LAUNCHES
from polytile.ir.kernel import Kernel
from polytile.runtime.cupy_engine import SizedRun, clamped_grid
from polytile.runtime.driver_launch import PROGRAMMATIC, driver_launch, launch_config
from polytile.runtime.host_interpreter import execute
from polytile.runtime.layout import scalar_dtype

LETTERS = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f4": "f", "f8": "d"}
SLOT = 8  # bytes of the block for each argument
MOST_STREAMS = 64  # for which blocks are kept
NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT: this thread has not used the device yet


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch of a run: the kernel, its grid, the integers that it gets, whether it may begin before the one before it
    ends, and its dynamic shared memory in bytes."""

    kernel: Kernel
    grid: tuple[int, int, int]
    values: Mapping[str, int]
    early: bool
    shared: int

    @property
    def attribute(self) -> int | None:
        """Return what the driver is told of it."""
        return PROGRAMMATIC if self.early else None


class _Block:
    """The arguments of one run, and its launches in one stream: no two runs use it at once."""

    def __init__(self, size: int, constants: Sequence[bytes]) -> None:
        after = b"".join(value.ljust(SLOT, b"\0") for value in constants)
        self.memory = ctypes.create_string_buffer(bytes(size) + after, size + len(after))
        self.launches: list[tuple[Any, int, Any]] = []

    def add(self, config: Any, function: int, places: Sequence[int]) -> None:
        start = ctypes.addressof(self.memory)
        pointers = (ctypes.c_void_p * len(places))(*(start + place for place in places))
        self.launches.append((ctypes.byref(config), function, pointers))


class PreparedLaunches:
    """The launches of runs with the same sizes, of `functions` of CuPy. Arguments are `addresses`, the names of
    buffers, and `numbers`, names with types; each run gives values of both in this order."""

    def __init__(
        self,
        launches: Sequence[Launched],
        functions: Mapping[str, Any],
        addresses: Sequence[str],
        numbers: Sequence[tuple[str, np.dtype[Any]]],
    ) -> None:
        self.launches, self.functions, self.call = launches, functions, driver_launch()
        packing = Struct(f"<{len(addresses)}q{''.join(_packed(dtype) for _, dtype in numbers)}")
        self.write, self.size = packing.pack_into, packing.size
        self.buffers = {name: SLOT * place for place, name in enumerate(addresses)}
        self.numbers = {name: SLOT * place for place, (name, _) in enumerate(numbers, len(addresses))}
        self.idle: dict[tuple[int, int], list[_Block]] = {}  # by device and stream

    def run(self, cupy: Any, stream: int, values: Sequence[Any]) -> None:
        """Launch them in a stream of the current device. Raises CUDADriverError of CuPy, and struct.error, TypeError or
        OverflowError, before anything is launched, for numbers that do not fit."""
        device = cupy.cuda.runtime.getDevice()
        idle = self.idle.get((device, stream))
        if idle is None:
            if len(self.idle) >= MOST_STREAMS:
                self.idle.clear()
            idle = self.idle.setdefault((device, stream), [])
        try:
            block = idle.pop()
        except IndexError:  # the first run, or other threads have them
            block = self._block(stream)
        self.write(block.memory, 0, *values)
        for config, function, pointers in block.launches:
            status = self.call(config, function, pointers, None)
            if status == NO_CONTEXT:
                cupy.cuda.runtime.memGetInfo()  # makes one
                status = self.call(config, function, pointers, None)
            if status:
                raise cupy.cuda.driver.CUDADriverError(status)
        idle.append(block)

    def _block(self, stream: int) -> _Block:
        constants: dict[bytes, int] = {}
        placed = [self._places(launch, constants) for launch in self.launches]
        block = _Block(self.size, list(constants))
        for launch, places in zip(self.launches, placed, strict=True):
            config = launch_config(launch.grid, launch.kernel.block, launch.shared, stream, launch.attribute)
            block.add(config, self.functions[launch.kernel.name].kernel.ptr, places)
        return block

    def _places(self, launch: Launched, constants: dict[bytes, int]) -> list[int]:
        """Return where in a block the arguments of a launch lie; `constants` receives those that never change."""
        places = []
        for p in launch.kernel.parameters:
            place = self.numbers.get(p.name) if p.buffer is None else self.buffers[p.buffer]
            if place is None:
                value = scalar_dtype(p.type).type(launch.values[p.name]).tobytes()
                place = constants.setdefault(value, self.size + SLOT * len(constants))
            places.append(place)
        return places


def fits(dtype: np.dtype[Any]) -> bool:
    """Return whether a number of this type can be written to a block."""
    return f"{dtype.kind}{dtype.itemsize}" in LETTERS


def _packed(dtype: np.dtype[Any]) -> str:
    """Return what `struct` calls a number in a place of its own."""
    return f"{LETTERS[f'{dtype.kind}{dtype.itemsize}']}{SLOT - dtype.itemsize}x"


class _ManyLaunches(Exception):
    """There are as many as a graph has."""


def prepared_launches(run: SizedRun, numbers: Sequence[tuple[str, np.dtype[Any]]]) -> PreparedLaunches | None:
    """Find the launches of runs of these sizes, which get `numbers`, by name and type, by value; None where there are
    many, or the driver cannot make them so."""
    if driver_launch() is None or not all(fits(dtype) for _, dtype in numbers):
        return None
    engine, found = run.engine, list[Launched]()

    def launch(name: str, grid: tuple[int, int, int], scope: Mapping[str, int]) -> None:
        if len(found) + 1 >= FEWEST_LAUNCHES:
            raise _ManyLaunches
        kernel = engine.program.kernel(name)
        early = bool(found) and engine.launches_early and kernel.starts_early
        shared = dynamic_shared_bytes(kernel)
        found.append(Launched(kernel, clamped_grid(name, grid), dict(scope), early, shared))

    try:
        execute(engine.program.body, run.values, launch)
    except _ManyLaunches:
        return None
    return PreparedLaunches(found, engine.functions, [b.name for b in run.buffers], numbers)
