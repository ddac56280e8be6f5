"""Which functions of CUDA a repeated call of an entry point calls, whose arrays are on the device: each takes a
microsecond or so, as long as short kernels do."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np

import polytile
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from tests.emulator.test_kept_memory import SOURCE

FUNCTIONS = (
    "cudaEventCreate",
    "cudaEventRecord",
    "cudaFree",
    "cudaFreeAsync",
    "cudaFuncGetAttributes",
    "cudaFuncSetAttribute",
    "cudaGetDevice",
    "cudaLaunchKernelEx",
    "cudaMalloc",
    "cudaMallocFromPoolAsync",
    "cudaMemcpy",
    "cudaPointerGetAttributes",
    "cudaStreamSynchronize",
)
COUNTED = """
static int counts[{number}];
extern "C" int count(int k) {{ return counts[k]; }}
extern "C" void *on_device(size_t bytes) {{ void *found = nullptr; cudaMalloc(&found, bytes); return found; }}
extern "C" void copy(void *to, const void *from, size_t bytes) {{ cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }}
"""


def counting(unit: Path) -> None:
    """Put counters behind the headers of a unit, which count what it calls itself."""
    text = unit.read_text()
    macros = "".join(f"#define {name}(...) (++counts[{k}], {name}(__VA_ARGS__))\n" for k, name in enumerate(FUNCTIONS))
    last = list(re.finditer(r"^#include .*\n", text, re.M))[-1].end()
    unit.write_text(text[:last] + COUNTED.format(number=len(FUNCTIONS)) + macros + text[last:])


def test_a_repeated_call_asks_cuda_for_nothing_that_it_knows(emulator: None, tmp_path: Path) -> None:
    _, unit, _ = polytile.compile(SOURCE, name="normal.c", schedule="superposed").write(tmp_path)
    counting(unit)
    library = EmulatorLibrary.open(compile_shared(unit, tmp_path / "normal.so"))
    random = np.random.default_rng(1)
    a, x, y = random.random((30, 20)), random.random(20), np.zeros(20)
    place, copy, count = library.function("on_device"), library.function("copy"), library.function("count")
    place.restype = ctypes.c_void_p
    placed = [ctypes.c_void_p(place(array.nbytes)) for array in (a, x, y)]
    for address, array in zip(placed, (a, x, y), strict=True):
        copy(address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
    entry, calls = library.function("polytile_normal_scop0"), list[dict[str, int]]()
    for _ in range(3):
        before = [count(k) for k in range(len(FUNCTIONS))]
        assert entry(30, 20, *placed) == 0
        found = {name: count(k) - before[k] for k, name in enumerate(FUNCTIONS)}
        calls.append({name: times for name, times in found.items() if times})
    copy(ctypes.c_void_p(y.ctypes.data), placed[2], ctypes.c_size_t(y.nbytes))
    assert np.allclose(y, a.T @ (a @ x))
    assert calls[1] == calls[2] == {
        "cudaFreeAsync": 2,
        "cudaGetDevice": 2,
        "cudaLaunchKernelEx": 2,
        "cudaMallocFromPoolAsync": 2,
        "cudaPointerGetAttributes": 3,
        "cudaStreamSynchronize": 1,
    }
    assert calls[0]["cudaFuncGetAttributes"] == 1
