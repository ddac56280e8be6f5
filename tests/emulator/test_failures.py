"""Kernels that cannot go on, launches that are refused, and the rest of what the host API checks."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polytile.runtime.emulator import EmulatorLibrary

Open = Callable[[str], EmulatorLibrary]
BARRIERS = Path(__file__).parent / "kernels" / "barriers.cu"
LAUNCH_FAILURE = 719


def line_of(comment: str) -> int:
    """The line of barriers.cu that ends with this comment."""
    lines = BARRIERS.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"// {comment}"))


def run_failing(barriers: EmulatorLibrary, kernel: str, threads: int) -> str:
    values = np.zeros(threads, np.int32)
    pointer = values.ctypes.data_as(ctypes.c_void_p)
    assert barriers.function(f"run_{kernel}")(pointer, threads, threads) == LAUNCH_FAILURE
    assert barriers.function("synchronize")() == LAUNCH_FAILURE
    return barriers.message()


def test_divergent_barrier_is_reported(library: Open, capfd: pytest.CaptureFixture[str]) -> None:
    message = run_failing(library("barriers"), "diverge", 48)
    assert message.startswith("polytile emulator: barrier divergence")
    assert "in kernel `diverge(int*)`, block (0,0,0) of 48x1x1 threads" in message
    for threads, comment in (("0-15", "barrier of the first half"), ("16-47", "barrier of the second half")):
        assert re.search(rf"threads {threads} wait in __syncthreads at \S*barriers\.cu:{line_of(comment)} ", message)
    assert message in capfd.readouterr().err


def test_shuffle_without_one_lane_is_reported(library: Open) -> None:
    message = run_failing(library("barriers"), "starve", 64)
    assert message.startswith("polytile emulator: deadlock in kernel `starve(int*)`")
    shuffle, barrier = line_of("the shuffle"), line_of("the barrier")
    assert re.search(rf"threads 0-4,6-31 wait in a shuffle, mask 0xffffffff, at \S*:{shuffle} ", message)
    assert re.search(rf"threads 5,32-63 wait in __syncthreads at \S*:{barrier} ", message)


@pytest.mark.slow
def test_threads_that_spin_for_ever_are_reported(library: Open) -> None:
    message = run_failing(library("barriers"), "forever", 8)
    assert "deadlock in kernel `forever(int volatile*)`" in message
    assert "threads 0-7 spin at" in message


def test_kernels_run_again_after_a_failure(library: Open) -> None:
    barriers = library("barriers")
    run_failing(barriers, "diverge", 48)
    values = np.zeros(300, np.int32)
    votes = barriers.function("run_votes")
    assert votes(values.ctypes.data_as(ctypes.c_void_p), 300, 100) == LAUNCH_FAILURE
    barriers.reset_errors()
    assert barriers.message() == ""
    assert votes(values.ctypes.data_as(ctypes.c_void_p), 300, 100) == 0
    assert values[0] == 34


@pytest.mark.parametrize(
    ("grid", "block", "error"),
    [
        ((1, 1, 1), (1024, 1, 1), 0),
        ((1, 1, 1), (4, 4, 64), 0),
        ((1, 65535, 1), (1, 1, 1), 0),
        ((1, 1, 65535), (1, 1, 1), 0),
        ((70000, 1, 1), (1, 1, 1), 0),
        ((0, 1, 1), (1, 1, 1), 1),
        ((1, 0, 1), (1, 1, 1), 1),
        ((1, 1, 1), (1, 0, 1), 1),
        ((2**31, 1, 1), (1, 1, 1), 1),
        ((1, 65536, 1), (1, 1, 1), 1),
        ((1, 1, 65536), (1, 1, 1), 1),
        ((1, 1, 1), (1025, 1, 1), 1),
        ((1, 1, 1), (33, 32, 1), 1),
        ((1, 1, 1), (1, 1, 65), 1),
        ((1, 1, 1), (65536, 65536, 1), 1),
    ],
)
def test_launch_limits(library: Open, grid: tuple[int, ...], block: tuple[int, ...], error: int) -> None:
    # The errors are those of CUDA 13.0 on a GPU.
    arguments = [ctypes.c_uint(extent) for extent in (*grid, *block)]
    assert library("limits").function("launch")(*arguments) == error


@pytest.mark.parametrize(
    ("opt_in", "size", "error"),
    [
        (48 * 1024, 48 * 1024, 0),
        (48 * 1024, 48 * 1024 + 1, 1),
        (100 * 1024, 100 * 1024, 0),
        (100 * 1024, 100 * 1024 + 4, 1),
        (227 * 1024, 227 * 1024, 0),
        (227 * 1024 + 1, 0, 1001),
    ],
)
def test_dynamic_shared_memory_limits(library: Open, opt_in: int, size: int, error: int) -> None:
    assert library("limits").function("launch_shared")(opt_in, ctypes.c_size_t(size)) == error


def test_device_pointers_are_known(library: Open) -> None:
    pointer_type = library("limits").function("pointer_type")
    assert [pointer_type(which) for which in range(5)] == [2, 2, 0, 0, 0]


def test_allocation_fails_cleanly(library: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    allocate = library("limits").function("allocate")
    assert allocate(ctypes.c_size_t(1000)) == 0
    assert allocate(ctypes.c_size_t(2**64 - 1)) == 2
    monkeypatch.setenv("POLYTILE_EMULATOR_MEMORY_BYTES", "4096")
    assert allocate(ctypes.c_size_t(4096)) == 0
    assert allocate(ctypes.c_size_t(4097)) == 2


@pytest.mark.parametrize(("which", "error"), list(enumerate([0, 1, 1, 0, 12, 21, 1, 1])))
def test_copies_are_checked(library: Open, which: int, error: int) -> None:
    assert library("limits").function("copy")(which) == error


def test_errors_have_names(library: Open) -> None:
    limits = library("limits")
    name, text = limits.function("error_name"), limits.function("error_text")
    name.restype = text.restype = ctypes.c_char_p
    assert (name(719), text(719)) == (b"cudaErrorLaunchFailure", b"unspecified launch failure")
    assert (name(0), text(0)) == (b"cudaSuccess", b"no error")
    assert (name(12345), text(12345)) == (b"unrecognized error code", b"unrecognized error code")


def test_device_attributes(library: Open) -> None:
    attribute = library("limits").function("attribute")
    assert [attribute(which) for which in (10, 97, 8, 75, 4711)] == [32, 227 * 1024, 48 * 1024, 9, -1]
