"""Repeated calls from Python are bound once: what is not known to be alike is bound anew. A module plays CuPy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import polytile
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import DeviceError, UsageError
from polytile.runtime import binding, cuda_streams, cupy_engine
from polytile.runtime.cupy_engine import CupyEngine
from polytile.runtime.engine import Engine

SOURCE = """
void scale(int n, int count, float w, double a[n], const double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = w * b[i] + count;
#pragma endscop
}
"""


class Array:
    """An array of the device, at an address."""

    def __init__(self, address: int, shape: tuple[int, ...] = (8,), dtype: str = "float64", contiguous: bool = True):
        self.data = SimpleNamespace(ptr=address)
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.nbytes = int(np.prod(shape)) * self.dtype.itemsize
        self.flags = SimpleNamespace(c_contiguous=contiguous)
        self.strides = (self.dtype.itemsize * (1 if contiguous else 2),)


class Failure(Exception):
    pass


class Gpu:
    """What kernels were launched on, in which stream, and how often a call was bound and waited for."""

    def __init__(self) -> None:
        self.launched: list[tuple[Any, ...]] = []
        self.streams: list[int] = [0]
        self.binds = self.waits = 0
        self.fails = False

    def kernel(self, grid: Any, block: Any, arguments: Any, *, shared_mem: int) -> None:
        if self.fails:
            raise Failure("an illegal memory access was encountered")
        self.launched.append((self.streams[-1], *map(float, arguments)))

    def wait(self) -> None:
        self.waits += 1

    @contextmanager
    def stream(self, handle: int) -> Iterator[None]:
        self.streams.append(handle)
        yield
        self.streams.pop()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu()
    runtime = SimpleNamespace(
        CUDARuntimeError=Failure, CUDADriverError=Failure, OutOfMemoryError=Failure, getDevice=lambda: 0,
        streamSynchronize=lambda _: gpu.wait(),
    )
    cuda = SimpleNamespace(
        runtime=runtime,
        driver=runtime,
        memory=runtime,
        compiler=SimpleNamespace(CompileException=Failure),
        get_current_stream=lambda: SimpleNamespace(ptr=gpu.streams[-1]),
        ExternalStream=gpu.stream,
    )

    def bound(*what: Any) -> Any:
        gpu.binds += 1
        return bind(*what)

    bind = binding.bind
    module = SimpleNamespace(ndarray=Array, cuda=cuda, asarray=lambda a: a)
    monkeypatch.setattr(cupy_engine, "_import_cupy", lambda: (module, ""))
    monkeypatch.setattr(Array, "__cuda_array_interface__", {}, raising=False)
    monkeypatch.setattr(binding, "bind", bound)
    monkeypatch.setattr(cuda_streams, "_of", lambda _, handle: gpu.stream(handle))
    return gpu


@pytest.fixture
def scale(gpu: Gpu) -> CompiledScop:
    found = polytile.compile(SOURCE)["scale"]
    assert found.program is not None
    (kernel,) = found.program.kernels
    assert [p.name for p in kernel.parameters] == ["n", "a", "w", "b", "count"]
    found._engines["gpu"] = CupyEngine(found.program, {kernel.name: gpu.kernel})
    return found


def test_addresses_and_numbers_are_taken_from_each_call(scale: CompiledScop, gpu: Gpu) -> None:
    a, b, c = Array(4096), Array(8192), Array(16384)
    scale(8, 3, 0.5, a, b)
    scale(8, 3, 0.5, a, b)
    scale(8, 3, 0.25, a, b)
    scale(8, 3, 0.25, b, c)
    assert gpu.binds == 1 and gpu.waits == 4
    assert gpu.launched == [
        (0, 8, 4096, 0.5, 8192, 3),
        (0, 8, 4096, 0.5, 8192, 3),
        (0, 8, 4096, 0.25, 8192, 3),
        (0, 8, 8192, 0.25, 16384, 3),
    ]
    scale(a=a, b=b, w=1.0, count=3)
    scale(a=b, b=a, w=2.0, count=3)
    assert gpu.binds == 2 and gpu.launched[-1] == (0, 8, 8192, 2.0, 4096, 3)


def test_calls_that_ask_for_the_emulator_stay_there(scale: CompiledScop, gpu: Gpu) -> None:
    emulated: list[float] = []
    run = SimpleNamespace(run=lambda layouts, values, memory: emulated.append(float(memory["b"][0])))
    scale._engines["emulator"] = cast(Engine, run)
    scale(8, 3, 0.5, Array(4096), Array(8192))
    a, b = np.zeros(8), np.ones(8)
    for _ in range(3):
        scale(8, 3, 0.5, a, b, on="emulator")
    assert emulated == [1, 1, 1] and len(gpu.launched) == 1


def test_another_size_or_shape_is_bound_anew(scale: CompiledScop, gpu: Gpu) -> None:
    a, b = Array(4096), Array(8192)
    scale(8, 3, 0.5, a, b)
    scale(7, 3, 0.5, a, b)
    scale(8, 4, 0.5, a, b)
    scale(8, 4, 0.5, Array(4096, (9,)), b)
    assert gpu.binds == 3
    assert gpu.launched[1:3] == [(0, 7, 4096, 0.5, 8192, 3), (0, 8, 4096, 0.5, 8192, 4)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"a": Array(8200)}, "a and b share memory"),
        ({"a": Array(8192 - 8)}, "a and b share memory"),
        ({"a": Array(4096, dtype="float32")}, "a holds float32"),
        ({"a": Array(4096, contiguous=False)}, "a is not contiguous"),
        ({"a": Array(4096, (7,))}, "7"),
        ({"n": 8.0}, "n must be an integer"),
        ({"count": 1.5}, "count=1.5 does not fit its type"),
        ({"count": 1 << 40}, "does not fit its type, int"),
        ({"w": "x"}, "w must be a NumPy"),
        ({"extra": 1}, "no argument 'extra'"),
    ],
)
def test_what_is_wrong_is_refused_as_in_a_first_call(
    changed: dict[str, Any], message: str, scale: CompiledScop, gpu: Gpu
) -> None:
    good: dict[str, Any] = {"n": 8, "count": 3, "w": 0.5, "a": Array(4096), "b": Array(8192)}
    scale(**good)
    scale(**good)
    with pytest.raises(UsageError, match=message):
        scale(**good | changed)
    assert len(gpu.launched) == 2
    scale(**good)
    assert len(gpu.launched) == 3


def test_a_failure_of_the_device_is_one(scale: CompiledScop, gpu: Gpu) -> None:
    a, b = Array(4096), Array(8192)
    scale(8, 3, 0.5, a, b)
    gpu.fails = True
    with pytest.raises(DeviceError, match="illegal memory access") as caught:
        scale(8, 3, 0.5, a, b)
    assert len(caught.traceback) <= 4


def test_on_a_stream_of_the_caller_nothing_is_waited_for(scale: CompiledScop, gpu: Gpu) -> None:
    a, b = Array(4096), Array(8192)
    scale(8, 3, 0.5, a, b)
    waits = gpu.waits
    for stream in (SimpleNamespace(__cuda_stream__=lambda: (0, 77)), SimpleNamespace(cuda_stream=77), 77):
        scale(8, 3, 0.5, a, b, stream=stream)
        assert gpu.launched[-1][0] == 77 and gpu.waits == waits
    scale(8, 3, 0.5, a, b, stream=SimpleNamespace(ptr=78))
    assert gpu.launched[-1][0] == 78 and gpu.streams == [0]
    scale(8, 3, 0.5, a, b)
    assert gpu.launched[-1][0] == 0 and gpu.waits == waits + 1


@pytest.mark.parametrize("stream", [True, "main", 1.5, object()])
def test_what_is_no_stream_is_refused(stream: object, scale: CompiledScop) -> None:
    with pytest.raises(UsageError, match=r"stream is \w+, which names no CUDA stream"):
        scale(8, 3, 0.5, Array(4096), Array(8192), stream=stream)


def test_calls_keep_no_arrays_alive(scale: CompiledScop, gpu: Gpu) -> None:
    a, b = Array(4096), Array(8192)
    before = sys.getrefcount(a)
    for _ in range(4):
        scale(8, 3, 0.5, a, b)
    assert sys.getrefcount(a) == before


def test_only_the_latest_kinds_are_kept(scale: CompiledScop, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytile.runtime.repeated_calls.MOST", 3)
    a, b = Array(4096), Array(8192)
    for n in (1, 2, 3, 4, 5):
        scale(n, 3, 0.5, a, b)
    assert len(scale._repeated[0].found) == 3
