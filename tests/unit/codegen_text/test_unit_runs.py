"""The entry points in the emulator: results, and what they say when something is wrong."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.ir.host import HostProgram
from polytile.runtime.emulator import EmulatorLibrary, compile_shared

Programs = Mapping[str, Callable[[], HostProgram]]
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler for the emulator")


@pytest.fixture(scope="module")
def library(programs: Programs, oversized: Programs, tmp_path_factory: pytest.TempPathFactory) -> EmulatorLibrary:
    built = [build() for build in (*programs.values(), *oversized.values())]
    folder = tmp_path_factory.mktemp("runs")
    (folder / "unit_kernel.h").write_text(print_header(built, guard_name="UNIT_KERNEL_H"))
    unit = folder / "unit_kernel.cu"
    unit.write_text(print_unit(built, header="unit_kernel.h", title=[]))
    return EmulatorLibrary.open(compile_shared(unit, folder / "unit.so"))


def pointer(array: np.ndarray[Any, Any] | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def numbers(*shape: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(7).random(shape)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 1000])
def test_axpy(library: EmulatorLibrary, n: int) -> None:
    x, y, z = numbers(n), numbers(n) + 1, np.zeros(n)
    run = library.function("polytile_axpy")
    assert run(n, pointer(z), pointer(x), pointer(y), ctypes.c_double(2.5)) == 0
    assert np.array_equal(z, x + 2.5 * y)
    assert library.allocated_bytes() == 0


@pytest.mark.parametrize(("t", "n", "m"), [(0, 5, 5), (3, 1, 1), (3, 2, 40), (4, 33, 70)])
def test_jacobi(library: EmulatorLibrary, t: int, n: int, m: int) -> None:
    grid = numbers(n, m)
    expected = grid.copy()
    for _ in range(t if min(n, m) > 2 else 0):
        a = expected.copy()
        total = a[:-2, 1:-1] + a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1]
        expected[1:-1, 1:-1] = 0.2 * total
    assert library.function("polytile_jacobi")(t, n, m, pointer(grid)) == 0
    assert np.array_equal(grid, expected)


@pytest.mark.parametrize("name", ["polytile_sum", "polytile_dynamic_sum"])
def test_sum_into_a_scalar_with_static_and_dynamic_shared_memory(library: EmulatorLibrary, name: str) -> None:
    s, x = np.array([3.0]), np.arange(1000.0)
    assert library.function(name)(1000, pointer(s), pointer(x)) == 0
    assert s[0] == 3.0 + x.sum()


def test_structs_by_address(library: EmulatorLibrary) -> None:
    layout = np.dtype({"names": ["x", "flag", "new"], "formats": ["f8", "?", "f8"], "offsets": [0, 8, 16]})
    points, offset = np.zeros(100, layout), np.zeros(1, layout)
    points["new"], offset["x"] = np.arange(100), 0.5
    assert library.function("polytile_structs")(100, pointer(points), pointer(offset)) == 0
    assert np.array_equal(points["new"], np.arange(100) + 0.5)


def test_float_math_is_done_in_double_where_c_does(library: EmulatorLibrary) -> None:
    x = np.random.default_rng(7).random(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    assert library.function("polytile_float_math")(100, pointer(out), pointer(x)) == 0
    assert np.array_equal(out, (np.sqrt(x.astype(np.float64)) + x).astype(np.float32))


def test_a_bool_by_value(library: EmulatorLibrary) -> None:
    count, x = np.array([0]), np.array([1.0, -1.0, 2.0])
    run = library.function("polytile_count")
    assert run(ctypes.c_long(3), pointer(count), pointer(x), ctypes.c_bool(True)) == 0
    assert run(ctypes.c_long(3), pointer(count), pointer(x), ctypes.c_bool(False)) == 0
    assert count[0] == 2


def test_only_the_window_is_copied(library: EmulatorLibrary) -> None:
    x = np.zeros(10)
    outside = ctypes.c_void_p(x.ctypes.data - 10**6 * x.itemsize)
    assert library.function("polytile_window")(10**6, outside) == 0
    assert np.array_equal(x, np.ones(10))


@pytest.mark.parametrize("offset", [0, 3])
def test_arrays_that_overlap_are_refused(
    library: EmulatorLibrary, capfd: pytest.CaptureFixture[str], offset: int
) -> None:
    data = np.zeros(100)
    z, x, y = data[:10], data[offset : offset + 10], data[50:60]
    status = library.function("polytile_axpy")(10, pointer(z), pointer(x), pointer(y), ctypes.c_double(1))
    assert status != 0
    assert capfd.readouterr().err == "polytile: polytile_axpy: z and x overlap: pass arrays that do not\n"


def test_arrays_that_are_only_read_may_overlap(library: EmulatorLibrary) -> None:
    z, x = np.zeros(10), np.ones(10)
    assert library.function("polytile_axpy")(10, pointer(z), pointer(x), pointer(x), ctypes.c_double(1)) == 0
    assert np.array_equal(z, x + x)


def test_neighbours_do_not_overlap(library: EmulatorLibrary) -> None:
    data = np.ones(30)
    z, x, y = data[:10], data[10:20], data[20:]
    assert library.function("polytile_axpy")(10, pointer(z), pointer(x), pointer(y), ctypes.c_double(1)) == 0
    assert np.array_equal(z, np.full(10, 2.0))


def test_a_null_pointer_is_named(library: EmulatorLibrary, capfd: pytest.CaptureFixture[str]) -> None:
    assert library.function("polytile_sum")(5, pointer(np.zeros(1)), pointer(None)) != 0
    assert capfd.readouterr().err == "polytile: polytile_sum: x: the argument is a null pointer\n"


def test_a_size_beyond_64_bits_is_refused(library: EmulatorLibrary, capfd: pytest.CaptureFixture[str]) -> None:
    run = library.function("polytile_huge")
    assert run(ctypes.c_long(2**30), pointer(np.zeros(1)), pointer(np.zeros(1)), ctypes.c_bool(True)) != 0
    assert capfd.readouterr().err == "polytile: polytile_huge: x: its size does not fit in 64 bits\n"


def test_memory_that_is_not_there_is_reported(library: EmulatorLibrary, capfd: pytest.CaptureFixture[str]) -> None:
    run, data = library.function("polytile_huge"), np.zeros(2)
    assert run(ctypes.c_long(2**19), pointer(data), pointer(data[1:]), ctypes.c_bool(True)) != 0
    assert capfd.readouterr().err == "polytile: polytile_huge: cudaMalloc of x failed: out of memory\n"
    library.reset_errors()
    assert library.allocated_bytes() == 0


def test_a_size_beyond_the_kernels_integers_is_refused(
    library: EmulatorLibrary, capfd: pytest.CaptureFixture[str]
) -> None:
    run = library.function("polytile_wide")
    assert run(ctypes.c_long(2**31), pointer(np.zeros(1)), pointer(np.zeros(1)), ctypes.c_bool(True)) != 0
    assert "wide_0: a size does not fit in the kernel's 32-bit integers" in capfd.readouterr().err


def test_timing_is_printed_on_demand(
    library: EmulatorLibrary, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYTILE_TIMING", "1")
    assert library.function("polytile_sum")(5, pointer(np.zeros(1)), pointer(np.zeros(5))) == 0
    assert capfd.readouterr().err.startswith("polytile: polytile_sum: kernels ")
