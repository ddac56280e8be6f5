"""The CuPy engine's buffers, arguments and launches, with a module that plays CuPy on host memory."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polytile.diagnostics import DeviceError
from polytile.ir.expr import Binary, Literal, Name
from polytile.ir.kernel import Launch
from polytile.runtime import cupy_engine
from polytile.runtime.cupy_engine import CupyEngine, require_cupy
from polytile.runtime.layout import layouts
from tests.unit.runtime.deferred_cupy import Block, Device, Failure, playing

VALUES = {"n": 3, "m": 4}


@pytest.fixture
def device() -> Device:
    return Device(late=False)


@pytest.fixture
def cupy(device: Device, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = playing(device)
    monkeypatch.setattr(cupy_engine, "_import_cupy", lambda: (module, ""))
    return module


def view(pointer: Any, count: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array(ctypes.cast(int(pointer), ctypes.POINTER(ctypes.c_double)), (count,))


class Kernel:
    """Plays the sample's kernel, and remembers how it was launched."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, Any, int]] = []

    def __call__(self, grid: Any, block: Any, arguments: Any, *, shared_mem: int) -> None:
        n, m, a, y, x = arguments
        self.launches.append((grid, block, shared_mem))
        assert (n.dtype, m.dtype, a.dtype) == (np.int32, np.int32, np.float64)
        view(y, n * m)[...] = (view(y, n * m).reshape(n, m) + a * view(x, m)).reshape(-1)


def arrays() -> dict[str, Any]:
    return {"y": np.ones((3, 4)), "x": np.arange(4.0), "a": np.array(2.0)}


def test_numpy_arrays_are_copied_in_and_out(sample: Any, cupy: Any) -> None:
    kernel, memory = Kernel(), arrays()
    CupyEngine(sample.program, {"update_kernel0": kernel}).run(layouts(sample.scop, VALUES), VALUES, memory)
    assert np.array_equal(memory["y"], 1 + 2 * np.tile(np.arange(4.0), (3, 1)))
    assert kernel.launches == [((3, 1, 1), (32, 1, 1), 0)]


def test_device_arrays_are_used_in_place(sample: Any, cupy: Any) -> None:
    memory = arrays()
    memory["y"] = Block(memory["y"])
    CupyEngine(sample.program, {"update_kernel0": Kernel()}).run(layouts(sample.scop, VALUES), VALUES, memory)
    assert np.array_equal(memory["y"].host[2], 1 + 2 * np.arange(4.0))


def test_a_buffer_that_starts_later_gets_a_pointer_to_element_zero(sample: Any, cupy: Any) -> None:
    y, x = sample.program.buffers
    later = replace(y, first=Name("m"), elements=Binary("*", Binary("-", Name("n"), Literal("1")), Name("m")))
    program = replace(sample.program, buffers=(later, x))
    memory, found = arrays(), []

    def kernel(grid: Any, block: Any, given: Any, *, shared_mem: int) -> None:
        found.append(view(int(given[3]) + 4 * 8, 8).copy())
        view(int(given[3]) + 4 * 8, 8)[...] = 5.0

    CupyEngine(program, {"update_kernel0": kernel}).run(layouts(sample.scop, VALUES), VALUES, memory)
    assert np.array_equal(found[0], np.ones(8))
    assert np.array_equal(memory["y"], [[1.0] * 4, [5.0] * 4, [5.0] * 4])


def test_what_is_not_copied_in_is_poison(sample: Any, cupy: Any) -> None:
    y, x = sample.program.buffers
    program = replace(sample.program, buffers=(replace(y, copy_in=False), x))
    memory = arrays()
    CupyEngine(program, {"update_kernel0": Kernel()}).run(layouts(sample.scop, VALUES), VALUES, memory)
    assert np.isnan(memory["y"]).all()


def test_wide_grids_are_clamped(sample: Any, cupy: Any) -> None:
    tall = Launch("update_kernel0", (Literal("1"), Literal("70000"), Literal("1")))
    kernel = Kernel()
    program = replace(sample.program, body=(tall,))
    CupyEngine(program, {"update_kernel0": kernel}).run(layouts(sample.scop, VALUES), VALUES, arrays())
    assert kernel.launches[0][0] == (1, 65535, 1)


def test_recorded_launches_can_be_repeated(sample: Any, cupy: Any) -> None:
    engine = CupyEngine(sample.program, {"update_kernel0": Kernel()})
    copies: dict[str, Any] = {}
    launches = engine.bind(layouts(sample.scop, VALUES), VALUES, arrays(), copies).record()
    for launch in launches * 2:
        launch()
    assert copies["y"].get().view(np.float64)[1] == 1 + 2 * 2.0


def test_a_failing_launch_is_a_device_error(sample: Any, cupy: Any) -> None:
    def kernel(*_: Any, **__: Any) -> None:
        raise Failure("an illegal memory access was encountered")

    with pytest.raises(DeviceError, match="running polytile_update_scop0 failed: an illegal memory access"):
        CupyEngine(sample.program, {"update_kernel0": kernel}).run(layouts(sample.scop, VALUES), VALUES, arrays())


def test_without_cupy_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_engine, "_import_cupy", lambda: (None, "CuPy cannot be imported: no module"))
    with pytest.raises(DeviceError, match="CuPy cannot be imported") as caught:
        require_cupy()
    assert caught.value.hint is not None and "--on emulator" in caught.value.hint
