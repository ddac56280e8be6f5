"""The other checks: what is accessed, computed or read wrongly is reported with its line, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from polytile.diagnostics import DeviceError
from polytile.runtime.emulator import EmulatorLibrary, HostCompiler, compile_shared
from polytile.runtime.emulator.findings import Finding, Reader
from polytile.runtime.emulator.instrument import CHECKS, checked

KERNELS = Path(__file__).parent / "kernels"
Find = Callable[[str, str], tuple[int, tuple[Finding, ...]]]
ILLEGAL_ADDRESS = 700
LAUNCH_FAILURE = 719


@pytest.fixture(scope="module")
def find(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Find:
    """`find(file, name)`: what run_NAME returns, and what all checks find."""
    folder = tmp_path_factory.mktemp("checks")
    readers: dict[str, Reader] = {}

    def run(file: str, name: str) -> tuple[int, tuple[Finding, ...]]:
        source = KERNELS / f"{file}.cu"
        if file not in readers:
            path = compile_shared(source, folder / f"{file}.so", instrumentation=checked(CHECKS))
            readers[file] = Reader(EmulatorLibrary.open(path), source.read_text())
        reader = readers[file]
        reader.clear()
        status = reader.library.function(f"run_{name}")()
        reader.library.reset_errors()
        assert reader.library.allocated_bytes() == 0
        return status, reader.read()

    return run


def line(file: str, comment: str) -> int:
    lines = (KERNELS / f"{file}.cu").read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"// {comment}"))


CLEAN = {
    "addresses": [
        "copy_all",
        "straddle_none",
        "use_managed",
        "use_variables",
        "inner_index_last",
        "local_array_last",
        "dynamic_last",
        "carved_last",
    ],
    "undefined": ["index_largest", "wide_index", "wrap_around", "shift_30", "rest", "to_int_fits"],
    "uninitialised": ["shared_all", "sum_of_written_part", "sum_of_produced", "written_copied_out"],
}

STRAY = {
    "copy_one_too_many": ("from", "reads element 50 of from, 4 bytes beyond its end (200 bytes)"),
    "copy_reads_before": ("from", "reads element -1 of from, 4 bytes before it begins"),
    "copy_writes_before": ("to", "writes element -1 of to, 4 bytes before it begins"),
    "copy_writes_behind": ("to", "writes element 50 of to, 4 bytes beyond its end (200 bytes)"),
    "copy_reads_far_behind": ("from", "reads element 100000 of from, 399804 bytes beyond its end"),
    "copy_reads_far_before": ("from", "reads element -100000 of from, 400000 bytes before it begins"),
    "straddle": ("straddle", "writes byte 3 of data, 2 bytes beyond its end (5 bytes)"),
    "vector": ("vector", "writes element 1 of data, 4 bytes beyond its end (28 bytes)"),
    "use_null": ("use", "writes 4 bytes through a null pointer"),
    "use_freed": ("use", "writes 4 bytes of device memory that was freed"),
    "use_host": ("use", "writes 4 bytes at an address that is no device memory"),
    "foreign_stack": ("foreign_stack", "reads a local variable of another thread"),
    "inner_index_one_too_far": ("inner_index", "index 8 is out of bounds of 'int [8]'"),
    "inner_index_negative": ("inner_index", "index -1 is out of bounds of 'int [8]'"),
    "local_array_one_too_far": ("local_array", "index 3 is out of bounds of 'int [3]'"),
    "dynamic_one_too_far": ("dynamic", "reads element 32 of buffer, 4 bytes beyond its end (128 bytes)"),
    "carved_one_too_far": ("carved", "index 8 is out of bounds of 'int [8]'"),
    "misaligned": ("misaligned", "a store of 'double' through a misaligned pointer"),
}

UNDEFINED = {
    "index_overflow": ("index", "46341 * 46341 does not fit in 'int'"),
    "add_overflow": ("add", "2147483647 + 1 does not fit in 'int'"),
    "negate_overflow": ("negate", "-(-2147483648) does not fit in 'int'"),
    "shift_32": ("shift", "a shift of 1 ('int') by 32"),
    "to_int_too_large": ("to_int", "3e+09 does not fit in 'int'"),
    "in_a_header": ("in_a_header", "-2147483648 - 1 does not fit in 'int'"),
    "rest_of_nothing": ("rest", "7 / 0 divides by zero"),
    "rest_too_large": ("rest", "-2147483648 / -1 does not fit"),
}

UNWRITTEN = {
    "shared_but_one": ("shared", "thread (0,0,0) of block (0,0,0) reads element 31 of s, which nothing has written"),
    "first_block": ("first_block", "thread (0,0,0) of block (1,0,0) reads element 0 of s"),
    "dynamic": ("dynamic", "thread (3,0,0) of block (0,0,0) reads element 3 of buffer"),
    "sum_of_fresh_memory": ("sum", "reads element 0 of data"),
    "sum_of_part": ("sum", "reads element 3 of data"),
    "sum_of_copied": ("sum", "reads element 4 of data"),
    "accumulate": ("accumulate", "updates atomically element 0 of out"),
    "reused": ("sum", "reads element 0 of data"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in CLEAN.items() for name in names])
def test_correct_kernels_are_clean(find: Find, file: str, name: str) -> None:
    assert find(file, name) == (0, ())


@pytest.mark.slow(but="use_null")
@pytest.mark.parametrize("name", STRAY)
def test_a_stray_access_ends_the_launch(find: Find, name: str) -> None:
    comment, says = STRAY[name]
    status, (finding,) = find("addresses", name)
    assert status in (ILLEGAL_ADDRESS, LAUNCH_FAILURE)
    assert finding.check == "address"
    assert says in finding.message
    assert [place.line for place in finding.places] == [line("addresses", f"stray {comment}")]


@pytest.mark.slow(but="add_overflow")
@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined_arithmetic(find: Find, name: str) -> None:
    kernel, says = UNDEFINED[name]
    status, (finding,) = find("undefined", name)
    assert finding.check == "undefined"
    assert status == (LAUNCH_FAILURE if kernel == "rest" else 0)  # a division would end this process
    assert f"kernel {kernel}: thread (0,0,0) of block (0,0,0): {says}" in finding.message
    assert [place.line for place in finding.places] == [line("undefined", f"undefined {kernel}")]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNWRITTEN)
def test_reading_what_nothing_has_written(find: Find, name: str) -> None:
    kernel, says = UNWRITTEN[name]
    status, (finding,) = find("uninitialised", name)
    assert (status, finding.check) == (0, "uninitialised")
    assert says in finding.message
    assert [place.line for place in finding.places] == [line("uninitialised", f"unwritten {kernel}")]


def test_copying_out_what_nothing_has_written(find: Find) -> None:
    status, (finding,) = find("uninitialised", "copied_out")
    assert (status, finding.check, finding.places) == (0, "uninitialised", ())
    assert finding.message == "byte 14 of data is copied to the host, and nothing has written it"


def test_a_kernel_runs_after_one_that_strayed(find: Find) -> None:
    assert find("addresses", "copy_one_too_many")[1]
    assert find("addresses", "copy_all") == (0, ())


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_only_what_was_asked_for_is_checked(emulator: None, tmp_path: Path, check: str) -> None:
    """A kernel with one error of each kind; the address is wrong last, as it ends the launch."""
    text = """
        #include <cuda_runtime.h>
        __global__ void wrong(int *out, int large, int at) {
          __shared__ int s[64];
          if (threadIdx.x == 0) out[0] = large + 1;
          if (threadIdx.x == 1) out[0] = s[0];
          __syncthreads();
          out[at] = 1;
        }
        extern "C" int run() {
          cudaLaunchConfig_t config = {};
          config.gridDim = 1;
          config.blockDim = 2;
          int *out;
          cudaMalloc(&out, 4);
          cudaLaunchKernelEx(&config, wrong, out, 2147483647, 1);
          return cudaFree(out);
        }
    """
    path = compile_shared(text, tmp_path / "wrong.so", instrumentation=checked([check]))
    library = EmulatorLibrary.open(path)
    assert library.function("run")() == ILLEGAL_ADDRESS
    found = {finding.check for finding in Reader(library, text).read()}
    assert found == {check, "address"}  # there is no going on from a stray access


@pytest.mark.parametrize(
    ("version", "usable"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", True),
        ("g++-13 (Ubuntu 13.1.0-8ubuntu1~22.04) 13.1.0", True),
        ("c++ (GCC) 11.4.1 20230605", False),
        ("Ubuntu clang version 18.1.3", False),
    ],
)
def test_which_compilers_can_check(version: str, usable: bool) -> None:
    compiler = HostCompiler(("c++",), "clang" if "clang" in version else "gcc", version)
    if usable:
        assert "-fsanitize=thread" in checked(CHECKS).flags(compiler)
    else:
        with pytest.raises(DeviceError, match=r"need g\+\+ 12 or later"):
            checked(CHECKS).flags(compiler)


ATOMIC_BUILTINS = """
#include <cuda_runtime.h>
#include <atomic>
__global__ void builtins(int *sum, int *out) {
  std::atomic<int> mine(0);
  mine += 1;
  out[threadIdx.x] = __atomic_fetch_add(sum, mine.load(), __ATOMIC_RELAXED);
}
extern "C" int run() {
  int *sum, *out;
  cudaMalloc(&sum, 4);
  cudaMalloc(&out, 4 * 64);
  cudaMemset(sum, 0, 4);
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 64;
  static const int status = cudaLaunchKernelEx(&config, builtins, sum, out);
  int total = 0;
  cudaMemcpy(&total, sum, 4, cudaMemcpyDeviceToHost);
  cudaFree(sum);
  cudaFree(out);
  return status ? -1 : total;
}
"""


@pytest.mark.slow
def test_atomic_builtins_are_atomic(emulator: None, tmp_path: Path) -> None:
    path = compile_shared(ATOMIC_BUILTINS, tmp_path / "builtins.so", instrumentation=checked(CHECKS))
    library = EmulatorLibrary.open(path)
    assert library.function("run")() == 64
    assert Reader(library, ATOMIC_BUILTINS).read() == ()


UNWRITTEN_LOCAL = """
#include <cuda_runtime.h>
__global__ void local(int *out, int n) {
  int mine[4];
  for (int i = 0; i < n; ++i) mine[i] = i;
  out[0] = mine[n];
}
extern "C" int run() {
  int *out, value = 0;
  cudaMalloc(&out, 4);
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = 1;
  cudaLaunchKernelEx(&config, local, out, 3);
  cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost);
  cudaFree(out);
  return value;
}
"""


@pytest.mark.slow
def test_local_arrays_begin_with_a_pattern(emulator: None, tmp_path: Path) -> None:
    path = compile_shared(UNWRITTEN_LOCAL, tmp_path / "local.so", instrumentation=checked(["uninitialised"]))
    assert EmulatorLibrary.open(path).function("run")() & 0xFFFFFFFF == 0xFEFEFEFE


@pytest.mark.slow
def test_findings_without_binutils(emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = KERNELS / "races.cu"
    path = compile_shared(source, tmp_path / "races.so", instrumentation=checked(["race"]))
    monkeypatch.setattr("polytile.runtime.emulator.sites.shutil.which", lambda name: None)
    library = EmulatorLibrary.open(path)
    assert library.function("run_handed_on_too_early")() == 0
    (finding,) = Reader(library, source.read_text()).read()
    assert re.fullmatch(
        r"polytile: error: race: a kernel: thread \(2,0,0\) of block \(0,0,0\) reads element \d of shared memory, "
        r"which thread \(0,0,0\) of block \(0,0,0\) writes, with no barrier between them",
        finding.diagnostic.render(),
    )
