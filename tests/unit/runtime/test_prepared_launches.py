"""Repeated calls of few launches: what the driver gets, with a driver that reads its arguments as late as it may."""

from __future__ import annotations

import ctypes
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import DeviceError, UsageError
from polytile.runtime import cuda_streams, cupy_engine, prepared_launches, programmatic_dependent_launch
from polytile.runtime.cupy_engine import CupyEngine
from polytile.runtime.driver_launch import PROGRAMMATIC
from polytile.runtime.prepared_launches import NO_CONTEXT
from tests.unit.runtime.deferred_cupy import Block, Device, playing

SOURCE = """
void scale(int n, int count, float w, double a[n], const double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = w * b[i] + count;
#pragma endscop
}
"""
N = 40


class Driver:
    """Runs the kernel of `scale` at once, or fails."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.launches: list[tuple[int, tuple[int, ...], int]] = []
        self.status: list[int] = []

    def __call__(self, config: Any, function: int, pointers: Any, extra: None) -> int:
        if self.status:
            return self.status.pop(0)
        launched = config._obj
        self.launches.append((launched.stream or 0, tuple(launched.grid), function))
        if len(pointers) == 5:  # of scale
            self.device.wait()  # for what is before it in the stream
            n, a, w, b, count = (
                kind.from_address(pointers[k]).value
                for k, kind in enumerate((ctypes.c_int, ctypes.c_int64, ctypes.c_float, ctypes.c_int64, ctypes.c_int))
            )
            target, source = ((ctypes.c_double * n).from_address(address) for address in (a, b))
            for i in range(n):
                target[i] = w * source[i] + count
        return 0


@pytest.fixture
def device() -> Device:
    return Device()


@pytest.fixture
def driver(device: Device, monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver, module = Driver(device), playing(device)
    module.cuda.runtime.memGetInfo = lambda: (0, 0)
    monkeypatch.setattr(cupy_engine, "_import_cupy", lambda: (module, ""))
    monkeypatch.setattr(prepared_launches, "driver_launch", lambda: driver)
    monkeypatch.setattr(cuda_streams, "_of", lambda _, handle: stream(handle))
    return driver


class stream:
    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def compiled(source: str, name: str, *, early: bool = False, **options: Any) -> CompiledScop:
    """The SCoP on a GPU whose first calls launch nothing."""
    found = polytile.compile(source, **options)[name]
    assert found.program is not None

    class Function:
        def __init__(self, number: int) -> None:
            self.kernel = SimpleNamespace(ptr=number)

        def __call__(self, *_: Any, **__: Any) -> None: ...

    functions = {kernel.name: Function(k) for k, kernel in enumerate(found.program.kernels, 1)}
    found._engines["gpu"] = CupyEngine(found.program, functions, early)
    return found


@pytest.fixture
def scale(driver: Driver) -> CompiledScop:
    found = compiled(SOURCE, "scale")
    assert found.program is not None
    (kernel,) = found.program.kernels
    assert [p.name for p in kernel.parameters] == ["n", "a", "w", "b", "count"]
    found(N, 3, 0.5, resident(), resident())
    found(N, 3, 0.5, np.zeros(N), np.zeros(N))
    assert not driver.launches
    return found


def resident(value: float = 0.0) -> Block:
    return Block(np.full(N, value))


def test_arguments_are_those_of_each_call(scale: CompiledScop, driver: Driver, device: Device) -> None:
    for w, value in ((0.5, 1.0), (0.25, 8.0), (-1.0, 2.0)):
        a, b, waits = resident(), resident(value), device.waits
        scale(N, 3, w, a, b)
        assert (a.host == w * value + 3).all() and device.waits > waits
    assert len(driver.launches) == 3 and driver.launches[0][0] == 0


def test_numbers_are_rounded_as_c_does_and_must_fit(scale: CompiledScop, driver: Driver) -> None:
    a, b = resident(), resident(1.0)
    scale(N, 3, 0.1, a, b)
    assert a.host[0] == float(np.float32(0.1)) + 3
    with pytest.raises(UsageError, match="does not fit its type, int"):
        scale(N, 1 << 40, 0.1, a, b)
    assert len(driver.launches) == 1


def test_a_stream_gets_its_launches_and_is_not_waited_for(
    scale: CompiledScop, driver: Driver, device: Device
) -> None:
    a, b = resident(), resident(1.0)
    for handle in (77, 78, 77):
        scale(N, 3, 0.5, a, b, stream=SimpleNamespace(__cuda_stream__=lambda handle=handle: (0, handle)))
    scale(N, 3, 0.5, a, b)
    assert [launched[0] for launched in driver.launches] == [77, 78, 77, 0]


def test_numpy_arrays_are_copied_in_and_out(scale: CompiledScop, driver: Driver, device: Device) -> None:
    a, b = np.zeros(N), np.arange(float(N))
    for w in (2.0, 4.0):
        device.copies.clear()
        scale(N, 1, w, a, b)
        assert np.array_equal(a, w * b + 1)
        assert device.copies == [(1, 8 * N), (1, 8 * N), (2, 8 * N)]
    scale(N, 1, 2.0, a, resident(3.0))  # bound anew
    scale(N, 1, 2.0, a, resident(5.0))
    assert (a == 11).all()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_numbers_in_arrays_are_read_anew(shape: tuple[int, ...], scale: CompiledScop, driver: Driver) -> None:
    """As in a first call, wherever the arrays are."""
    given: list[float] = []
    run = CupyEngine.run

    def running(self: CupyEngine, layouts: Any, values: Any, memory: Any, **how: Any) -> None:
        given.append(float(memory["w"].reshape(-1)[0]))
        run(self, layouts, values, memory, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CupyEngine, "run", running)
        for make in (resident, lambda: np.zeros(N)):
            for w in (2.0, 4.0):
                scale(N, 1, np.full(shape, w, np.float32), make(), resident(1.0))
    assert given == [2.0, 4.0, 2.0, 4.0] and not driver.launches


@pytest.mark.parametrize("on", [["gpu"], None, 1, "tpu"])
def test_what_is_no_place_is_refused_as_in_a_first_call(on: object, scale: CompiledScop) -> None:
    with pytest.raises(UsageError, match="there is no place"):
        scale(N, 1, 0.5, resident(), resident(), on=on)


def test_a_thread_that_has_not_used_the_device_begins_to(scale: CompiledScop, driver: Driver) -> None:
    driver.status = [NO_CONTEXT]
    a = resident()
    scale(N, 3, 0.5, a, resident(2.0))
    assert (a.host == 4).all()


def test_failures_are_errors_of_the_device(scale: CompiledScop, driver: Driver) -> None:
    driver.status = [700]
    with pytest.raises(DeviceError, match="running polytile_scale_scop0 failed: 700"):
        scale(N, 3, 0.5, resident(), resident())
    a = resident()
    scale(N, 3, 0.5, a, resident(2.0))
    assert (a.host == 4).all()


def test_a_call_amid_a_call_has_its_own_arguments(
    scale: CompiledScop, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a handler of a signal, or of another thread, between writing and launching."""
    inner, amid = resident(), []

    def interrupted(config: Any, *rest: Any) -> int:
        if not amid:
            amid.append(1)
            scale(N, 1, 1.0, inner, resident(5.0))
        return driver(config, *rest)

    outer = resident()
    (known,) = (k for k in scale._repeated[0].found.values() if k.in_place is not None)
    assert known.few is not None
    known.few.call = interrupted
    scale(N, 3, 0.5, outer, resident(2.0))
    assert (inner.host == 6).all() and (outer.host == 4).all()


def test_eight_threads_have_blocks_of_their_own(scale: CompiledScop, driver: Driver) -> None:
    def work(number: int) -> bool:
        a, b = resident(), resident(float(number))
        host, ones = np.zeros(N), np.ones(N)
        for w in range(60):
            scale(N, number, float(w), a, b)
            scale(N, number, float(w), host, ones)
            if not ((a.host == w * number + number).all() and (host == w + number).all()):
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))


def test_thirty_thousand_calls_leave_nothing(scale: CompiledScop, driver: Driver) -> None:
    """Through the driver, which does nothing here, on one pair of arrays and on ever new ones."""
    (known,) = (k for k in scale._repeated[0].found.values() if k.in_place is not None)
    assert known.few is not None
    known.few.call = lambda *_: 0

    def calls(count: int) -> int:
        a = resident()
        for k in range(count):
            if k % 300 == 0:
                a = resident()
            scale(N, 3, 0.5, a, other)
        gc.collect()
        return sys.getallocatedblocks()

    other = resident()
    before = calls(1000)
    assert calls(30_000) - before < 200


TWO = """
void two(int n, double a[n], double b[n], double s[1])
{
#pragma scop
    s[0] = 0;
    for (int i = 0; i < n; i++) s[0] += a[i];
    for (int i = 0; i < n; i++) b[i] = a[i] * s[0];
#pragma endscop
}
"""


@pytest.mark.parametrize("early", [False, True])
def test_kernels_behind_the_first_may_be_early(driver: Driver, early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    two = compiled(TWO, "two", early=early)
    assert two.program is not None
    seen: list[Any] = []

    def launched(config: Any, function: int, *_: Any) -> int:
        seen.append((config._obj, function))
        return 0

    for used_in in (prepared_launches, programmatic_dependent_launch):
        monkeypatch.setattr(used_in, "driver_launch", lambda: launched)
    for _ in range(2):
        seen.clear()
        two(a=resident(), b=resident(), s=Block(np.zeros(1)))
    assert [function for _, function in seen] == list(range(1, len(seen) + 1)) and len(seen) >= 2
    starts_early = [kernel.starts_early for kernel in two.program.kernels]
    for k, (config, _) in enumerate(seen):
        allowed = early and k > 0 and starts_early[k]
        assert config.count == allowed
        assert not allowed or (config.attributes[0].id, config.attributes[0].value) == (PROGRAMMATIC, 1)
    assert any(starts_early[1:])


def test_many_launches_are_left_to_graphs(driver: Driver) -> None:
    source = """
    void steps(int t, int n, double a[n], double b[n])
    {
    #pragma scop
        for (int k = 0; k < t; k++) {
            for (int i = 1; i < n - 1; i++) a[i] = b[i - 1] + b[i + 1];
            for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
        }
    #pragma endscop
    }
    """
    steps = compiled(source, "steps", schedule="classic")
    for count in (3, 300):
        for _ in range(2):
            steps(t=count, a=resident(), b=resident())
    few = {known.run.values["t"]: known.few is not None for known in steps._repeated[0].found.values()}
    assert few == {3: True, 300: False}


def test_devices_have_blocks_of_their_own(
    scale: CompiledScop, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = cupy_engine.require_cupy()
    for number in (0, 1, 0):
        monkeypatch.setattr(module.cuda.runtime, "getDevice", lambda number=number: number)
        scale(N, 3, 0.5, resident(), resident())
    (known,) = (k for k in scale._repeated[0].found.values() if k.in_place is not None)
    assert known.few is not None and set(known.few.idle) == {(0, 0), (1, 0)}


def test_blocks_for_streams_are_bounded(scale: CompiledScop, driver: Driver) -> None:
    for handle in range(1, 300):
        scale(N, 3, 0.5, resident(), resident(), stream=handle)
    (known,) = (k for k in scale._repeated[0].found.values() if k.in_place is not None)
    assert known.few is not None and len(known.few.idle) <= prepared_launches.MOST_STREAMS
