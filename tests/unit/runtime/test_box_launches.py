"""Launches of a rank's boxes are found once: kernels get what they would get if each call was interpreted."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import DeviceError
from polytile.runtime import cupy_engine, prepared_launches
from polytile.runtime.binding import Call
from polytile.runtime.cupy_engine import CupyEngine
from polytile.runtime.engine import Engine
from polytile.runtime.ranks.box_launches import BoxLaunches
from tests.unit.runtime.test_repeated_calls import Array, Failure

STEPS = """
void step(int t, int first, int end, int n, double w, double a[2][n])
{
#pragma scop
    for (int i = first; i < end; i++) a[(t + 1) % 2][i] = w * a[t % 2][i];
#pragma endscop
}
"""
LAST = """
void step(int t, int first, int end, int n, double w, double a[2][n])
{
#pragma scop
    if (t < 2)
        for (int i = first; i < end; i++) a[(t + 1) % 2][i] = w * a[t % 2][i];
#pragma endscop
}
"""
TYPES = {"int": ctypes.c_int, "double": ctypes.c_double}
N = 1000


class Gpu:
    """What is launched, by the engine or by the driver: the stream, the grid and the arguments."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.launched: list[tuple[Any, ...]] = []
        self.parameters: Any = ()
        self.fails = False
        self.kernel = SimpleNamespace(ptr=7)

    def __call__(self, grid: Any, block: Any, arguments: Any, *, shared_mem: int) -> None:
        self.launched.append((tuple(grid), *map(float, arguments)))

    def driver(self, config: Any, function: int, pointers: Any, extra: None) -> int:
        if self.fails:
            return 700
        kinds = [ctypes.c_int64 if p.buffer else TYPES[p.type.name] for p in self.parameters]
        values = [kind.from_address(pointers[k]).value for k, kind in enumerate(kinds)]
        assert config._obj.stream == 5
        self.launched.append((tuple(config._obj.grid), *map(float, values)))
        return 0


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    runtime = SimpleNamespace(
        CUDARuntimeError=Failure, CUDADriverError=Failure, OutOfMemoryError=Failure, getDevice=lambda: 0,
        streamSynchronize=lambda _: None,
    )
    cuda = SimpleNamespace(
        runtime=runtime, driver=runtime, memory=runtime, compiler=SimpleNamespace(CompileException=Failure),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
    )
    module = SimpleNamespace(ndarray=Array, cuda=cuda, asarray=lambda a: a)
    found = Gpu(module)
    monkeypatch.setattr(cupy_engine, "_import_cupy", lambda: (module, ""))
    monkeypatch.setattr(Array, "__cuda_array_interface__", {}, raising=False)
    monkeypatch.setattr(prepared_launches, "driver_launch", lambda: found.driver)
    yield found


class Ran:
    """A compiled SCoP whose runs in a stream do not need one."""

    def __init__(self, scop: CompiledScop) -> None:
        self.scop = scop
        self.places: list[str] = []

    def run(self, call: Call, *, on: str = "auto", stream: Any = None) -> None:
        self.places.append(on)
        if stream is not None:
            self.scop._execution.run(call, on, wait=False)

    def engine(self, on: str) -> Engine:
        return self.scop._engines[on]

    def prepare(self, on: str) -> None: ...


def launches_of(gpu: Gpu, source: str) -> tuple[Ran, BoxLaunches]:
    scop = polytile.compile(source)["step"]
    assert scop.program is not None
    (kernel,) = scop.program.kernels
    gpu.parameters = kernel.parameters
    scop._engines["gpu"] = CupyEngine(scop.program, {kernel.name: gpu})
    ran = Ran(scop)
    return ran, BoxLaunches(scop.scop, ran, "t", {"n": N})


def calls() -> list[dict[str, Any]]:
    boxes = [(1, 40), (40, 900), (1, 40)]
    arrays = [Array(1 << 20, (2, N)), Array(1 << 21, (2, N))]
    return [
        {"t": t, "first": first, "end": end, "w": np.asarray(0.5 + t), "a": arrays[t % 2]}
        for t in range(4)
        for first, end in boxes
    ]


@pytest.mark.parametrize(("source", "interpreted"), [(STEPS, 1), (LAST, 12)], ids=["steps", "last"])
def test_kernels_get_the_same(source: str, interpreted: int, gpu: Gpu) -> None:
    ran, launches = launches_of(gpu, source)
    where = {"on": "gpu", "stream": SimpleNamespace(ptr=5)}
    for call in calls():
        launches(call, where)
    assert len(ran.places) == interpreted and len(launches.known) == 2
    found, gpu.launched = gpu.launched, []
    launches.known = dict.fromkeys(launches.known)  # each call is interpreted
    for call in calls():
        launches(call, where)
    assert gpu.launched == found and len(found) == (12 if source == STEPS else 6)


def test_calls_without_a_stream_are_as_they_were(gpu: Gpu) -> None:
    ran, launches = launches_of(gpu, STEPS)
    for call in calls()[:3]:
        launches(call, {"on": "emulator"})
    assert ran.places == ["emulator"] * 3 and not gpu.launched


def test_what_the_driver_refuses_is_an_error(gpu: Gpu) -> None:
    _, launches = launches_of(gpu, STEPS)
    where = {"on": "gpu", "stream": SimpleNamespace(ptr=5)}
    for call in calls()[:2]:
        launches(call, where)
    gpu.fails = True
    with pytest.raises(DeviceError, match="running polytile_step_scop0 failed: 700"):
        launches(calls()[0], where)
