"""CUDA graphs: captured launches run when the graph does, in every build; generated programs replay equal runs."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.api import Program
from polytile.ir.host import FEWEST_LAUNCHES
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, PLAIN, checked

SOURCE = Path(__file__).parent / "kernels" / "graphs.cu"
BUILDS = {"plain": PLAIN, "counting": COUNTING, "all checks": checked(CHECKS)}
STEPS = """
void smooth(int steps, int n, double factor, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = factor * (A[i - 1] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
#pragma endscop
}
"""
# Behind the headers: the program's own calls are counted.
COUNTED = """#include <string>

static int captures = 0, replays = 0;
extern "C" int count_captures() { return captures; }
extern "C" int count_replays() { return replays; }
static bool unable = false;
extern "C" void record_nothing() { unable = true; }
extern "C" void reset_device() { cudaDeviceReset(); }
#define cudaStreamBeginCapture(...) (++captures, cudaStreamBeginCapture(__VA_ARGS__))
#define cudaGraphInstantiateWithFlags(...) \\
    (unable ? cudaErrorMemoryAllocation : cudaGraphInstantiateWithFlags(__VA_ARGS__))
#define cudaGraphLaunch(...) (++replays, cudaGraphLaunch(__VA_ARGS__))
extern "C" double *device_memory(long long count)
{
    double *found = nullptr;
    cudaMalloc(&found, count * sizeof(double));
    return found;
}
extern "C" void device_free(double *memory) { cudaFree(memory); }
extern "C" void device_copy(double *to, double *from, long long count)
{
    cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyDefault);
}
"""


@pytest.fixture(scope="module")
def opened(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reader]:
    folder = tmp_path_factory.mktemp("graphs")
    readers: dict[str, Reader] = {}

    def get(build: str) -> Reader:
        if build not in readers:
            path = folder / f"{build}.so"
            built = compile_shared(SOURCE, path, extra_flags=["-Wall", "-Werror"], instrumentation=BUILDS[build])
            readers[build] = Reader(EmulatorLibrary.open(built), SOURCE.read_text())
        readers[build].library.reset_errors()
        return readers[build]

    return get


@pytest.mark.slow(but="replay-plain")
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", ["replay", "empty", "misuse"])
def test_captured_launches(name: str, build: str, opened: Callable[[str], Reader]) -> None:
    reader = opened(build)
    if BUILDS[build].checks:
        reader.clear()
    assert reader.library.function(f"run_{name}")() == 0
    assert reader.library.allocated_bytes() == 0
    if BUILDS[build].checks:
        assert reader.read() == ()


@pytest.mark.slow
def test_checks_see_what_a_graph_does(opened: Callable[[str], Reader]) -> None:
    reader = opened("all checks")
    reader.clear()
    reader.library.function("run_freed")()
    (found,) = reader.read()
    assert found.message.startswith("kernel twice: ") and found.message.endswith("device memory that was freed")


# Generated programs -------------------------------------------------------------------------------
class Smooth:
    """The program above, on arrays of the device or of the host, and what it did to graphs."""

    def __init__(self, library: EmulatorLibrary) -> None:
        self.library = library

    def __call__(self, steps: int, n: int, factor: float, a: Any, b: Any) -> None:
        entry = self.library.function("polytile_smooth_scop0")
        pointers = [ctypes.c_void_p(x.ctypes.data if isinstance(x, np.ndarray) else x) for x in (a, b)]
        assert entry(steps, n, pointers[1], ctypes.c_double(factor), pointers[0]) == 0  # by first appearance

    @property
    def counts(self) -> tuple[int, int]:
        return self.library.function("count_captures")(), self.library.function("count_replays")()

    def on_device(self, data: np.ndarray[Any, Any]) -> int:
        make = self.library.function("device_memory")
        make.restype, make.argtypes = ctypes.c_void_p, [ctypes.c_longlong]
        found = int(make(data.size))
        self.copy(found, data.ctypes.data, data.size)
        return found

    def copy(self, to: int, source: int, count: int) -> None:
        self.library.function("device_copy")(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_longlong(count))

    def free(self, memory: int) -> None:
        self.library.function("device_free")(ctypes.c_void_p(memory))


@pytest.fixture(scope="module")
def program() -> Program:
    return polytile.compile(STEPS, name="smooth.c", schedule="classic")


@pytest.fixture
def smooth(emulator: None, program: Program, tmp_path: Path) -> Smooth:
    _, unit, _ = program.write(tmp_path)
    text = unit.read_text()
    assert text.count("#include <string>\n") == 1
    unit.write_text(text.replace("#include <string>\n", COUNTED))
    return Smooth(EmulatorLibrary.open(compile_shared(unit, tmp_path / "smooth.so")))


def expected(steps: int, factor: float, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    a = a.copy()
    for _ in range(steps):
        a[1:-1] = factor * (a[:-2] + a[2:])
    return a


def run_five_times(smooth: Smooth, counts: list[tuple[int, int]]) -> None:
    """Run on the same memory, with the right values and so many captures and replays behind each run."""
    start = np.random.default_rng(1).random(50)
    a, b = smooth.on_device(start), smooth.on_device(start)
    result, now = np.empty(50), start
    for run in range(5):
        smooth(20, 50, 0.5, a, b)
        smooth.copy(result.ctypes.data, a, 50)
        now = expected(20, 0.5, now)
        assert np.array_equal(result, now)
        assert smooth.counts == counts[run]
    smooth.free(a)
    smooth.free(b)


def test_equal_runs_are_replayed(smooth: Smooth) -> None:
    run_five_times(smooth, [(0, 0), (0, 0), (1, 1), (1, 2), (1, 3)])


def test_a_run_on_other_values_is_launched_anew(smooth: Smooth) -> None:
    start = np.random.default_rng(2).random(50)
    a, b, c = (smooth.on_device(start) for _ in range(3))
    result, now = np.empty(50), start
    for steps, n, factor, scratch, counts in [
        (20, 50, 0.5, b, (0, 0)),
        (20, 50, 0.5, b, (0, 0)),
        (20, 50, 0.5, b, (1, 1)),
        (20, 50, 0.25, b, (1, 1)),
        (21, 50, 0.25, b, (1, 1)),
        (21, 50, 0.25, c, (1, 1)),
        (21, 50, 0.25, c, (1, 1)),
        (20, 50, 0.5, b, (1, 2)),
        (21, 50, 0.25, c, (2, 3)),
        (21, 50, 0.25, c, (2, 4)),
        (22, 50, 0.25, c, (2, 4)),
        (20, 50, 0.5, b, (2, 5)),
        (23, 50, 0.25, c, (2, 5)),
        (24, 50, 0.25, c, (2, 5)),
        (25, 50, 0.25, c, (2, 5)),
        (21, 50, 0.25, c, (2, 5)),
        (20, 50, 0.5, b, (2, 5)),
    ]:
        smooth(steps, n, factor, a, scratch)
        smooth.copy(result.ctypes.data, a, 50)
        now = expected(steps, factor, now)
        assert np.array_equal(result, now) and smooth.counts == counts
    for memory in (a, b, c):
        smooth.free(memory)


def test_a_few_launches_are_not_worth_a_graph(smooth: Smooth) -> None:
    start = np.random.default_rng(3).random(20)
    for steps in (0, (FEWEST_LAUNCHES - 1) // 2):
        for _ in range(4):
            a, b = start.copy(), start.copy()
            smooth(steps, 20, 0.5, a, b)
            assert np.array_equal(a, expected(steps, 0.5, start))
    assert smooth.counts == (0, 0)


def test_arrays_of_the_host(smooth: Smooth) -> None:
    start = np.random.default_rng(4).random(30)
    for _ in range(4):
        a, b = start.copy(), start.copy()
        smooth(10, 30, 0.5, a, b)
        assert np.array_equal(a, expected(10, 0.5, start))
    assert smooth.library.allocated_bytes() == 0


def test_launches_that_cannot_be_recorded_are_made(smooth: Smooth) -> None:
    smooth.library.function("record_nothing")()
    run_five_times(smooth, [(0, 0), (0, 0), (1, 0), (1, 0), (1, 0)])
    assert smooth.library.allocated_bytes() == 0


def test_graphs_end_with_their_context(smooth: Smooth) -> None:
    start = np.random.default_rng(6).random(50)
    a, b = smooth.on_device(start), smooth.on_device(start)
    for counts in [(0, 0), (0, 0), (1, 1), (1, 2)]:
        smooth(20, 50, 0.5, a, b)
        assert smooth.counts == counts
    smooth.library.function("reset_device")()
    for counts in [(1, 2), (1, 2), (2, 3)]:
        smooth(20, 50, 0.5, a, b)
        assert smooth.counts == counts
    smooth.free(a)
    smooth.free(b)


def test_a_run_that_fails_leaves_no_graph(smooth: Smooth, capfd: pytest.CaptureFixture[str]) -> None:
    entry = smooth.library.function("polytile_smooth_scop0")
    a = np.ones(50)
    assert entry(20, 50, None, ctypes.c_double(0.5), ctypes.c_void_p(a.ctypes.data)) == 1
    assert "null pointer" in capfd.readouterr().err and smooth.counts == (0, 0)
    smooth(20, 50, 0.5, a, a.copy())


def test_programs_without_graphs_hold_nothing_of_them(program: Program) -> None:
    plain = polytile.compile(STEPS, name="smooth.c", graphs=False).cuda
    assert "Graph" in program.cuda and "raph" not in plain and "<string>" not in plain


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="requires nvcc")
def test_nvcc_takes_the_text(program: Program, tmp_path: Path) -> None:
    _, unit, _ = program.write(tmp_path)
    flags = ["-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", "-Xcompiler=-Wall,-Wextra", "-c"]
    done = subprocess.run(["nvcc", *flags, "-o", str(tmp_path / "o"), str(unit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
