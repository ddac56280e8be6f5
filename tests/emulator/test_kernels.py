"""Kernels that run to their end and give the right answer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from polytile.runtime.emulator import EmulatorCounts, EmulatorLibrary

Open = Callable[[str], EmulatorLibrary]


def pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 100_003])
def test_vector_add(library: Open, n: int) -> None:
    add = library("vector_add").function("vector_add")
    a, b = np.random.default_rng(n).random((2, n))
    c = np.zeros(n)
    assert add(pointer(a), pointer(b), pointer(c), n) == 0
    np.testing.assert_array_equal(c, a + b)


def test_vector_add_of_nothing_is_an_invalid_launch(library: Open) -> None:
    assert library("vector_add").function("vector_add")(None, None, None, 0) == 1


@pytest.mark.parametrize("n", [128, 1000, 5000])
@pytest.mark.parametrize(
    ("function", "threads", "kind"),
    [
        ("reduce_static", 128, np.float64),
        ("reduce_dynamic", 128, np.float64),
        ("reduce_shuffle", 256, np.float64),
        ("reduce_shuffle_float", 256, np.float32),
    ],
)
def test_reductions(library: Open, function: str, threads: int, kind: type[Any], n: int) -> None:
    reduce = library("reductions").function(function)
    x: npt.NDArray[Any] = np.random.default_rng(n).integers(-1000, 1000, n).astype(kind)
    blocks = -(-n // threads)
    sums: npt.NDArray[Any] = np.zeros(blocks, kind)
    assert reduce(pointer(x), pointer(sums), n) == 0
    expected = np.add.reduceat(x, np.arange(0, n, threads))
    np.testing.assert_array_equal(sums, expected)


def test_reduction_counts_barriers_once_per_block(library: Open) -> None:
    reductions = library("reductions")
    x = np.ones(256)
    sums = np.zeros(2)
    assert reductions.function("reduce_static")(pointer(x), pointer(sums), 256) == 0
    assert reductions.counts() == EmulatorCounts(launches=1, blocks=2, threads=256, barriers=2 * 8)
    reductions.reset_counts()
    assert reductions.counts() == EmulatorCounts(0, 0, 0, 0)


def test_histogram(library: Open) -> None:
    x = np.random.default_rng(1).integers(0, 17, 10_001).astype(np.int32)
    bins = np.zeros(17, np.uint32)
    assert library("atomics").function("count_values")(pointer(x), pointer(bins), len(x), 17) == 0
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=17))


class AtomicResults(ctypes.Structure):
    """`Results` of atomics.cu."""

    _fields_ = [
        ("sum_double", ctypes.c_double),
        *((name, ctypes.c_longlong) for name in ("smallest", "largest", "bits")),
        *((name, ctypes.c_ulonglong) for name in ("sum", "swapped", "most")),
        ("sum_float", ctypes.c_float),
        *((name, ctypes.c_int) for name in ("sum_int", "least_int", "sub")),
        *((name, ctypes.c_uint) for name in ("wrapped", "any", "flipped", "last")),
    ]


def test_atomics_of_all_kinds(library: Open) -> None:
    r = AtomicResults(bits=-1)
    assert library("atomics").function("run_all_kinds")(ctypes.byref(r)) == 0
    n = 99
    total = n * (n - 1) // 2
    assert (r.sum_double, r.sum_float, r.sum_int, r.sub) == (total / 2, n, -total, -2 * n)
    assert (r.smallest, r.largest, r.least_int) == (-(2**40) - n + 1, 2**40 + n - 1, -(n - 1))
    assert (r.sum, r.swapped) == (n * 2**33, 3 * n)
    assert r.most == int(np.float64(n).view(np.uint64))
    assert (r.bits, r.any, r.flipped) == (-(2**48), 2**32 - 1, (2**32 - 1) ^ 0b111)
    assert (r.wrapped, r.last) == (n % 7, 7)


@pytest.mark.parametrize("turns", [0, 1, 5, 200])
def test_barrier_in_a_loop_after_a_thread_has_left(library: Open, turns: int) -> None:
    values = np.arange(96, dtype=np.int32)
    barriers = library("barriers")
    assert barriers.function("run_rotate")(pointer(values), 96, turns) == 0
    np.testing.assert_array_equal(values[:95], np.roll(np.arange(95), -turns))
    assert values[95] == 95
    assert barriers.counts().barriers == 2 * turns


def test_barriers_that_count(library: Open) -> None:
    values = np.zeros((100, 3), np.int32)
    assert library("barriers").function("run_votes")(pointer(values), 300, 100) == 0
    assert (values == [34, 1, 1]).all()


def test_lanes_that_ended_are_not_waited_for(library: Open) -> None:
    values = np.full(40, -7, np.int32)
    assert library("barriers").function("run_alone")(pointer(values), 40, 40) == 0
    expected = [0, *range(15), *[-7] * 16, 32, *range(32, 39)]
    assert values.tolist() == expected


def test_a_thread_may_wait_for_memory(library: Open) -> None:
    values = np.zeros(64, np.int32)
    assert library("barriers").function("run_handshake")(pointer(values), 64, 64) == 0
    assert values.tolist() == list(range(1, 65))


@pytest.mark.parametrize("extent", [(1, 1, 1), (7, 3, 2), (20, 10, 5), (33, 1, 9)])
def test_three_dimensional_grids(library: Open, extent: tuple[int, int, int]) -> None:
    x, y, z = extent
    out = np.zeros((z, y, x), np.uint32)
    assert library("grid3d").function("fill_where")(pointer(out), x, y, z) == 0
    k, j, i = np.indices(out.shape)
    blocks = -(-x // 7) + -(-y // 3) + -(-z // 2)
    np.testing.assert_array_equal(out, i + 100 * j + 10_000 * k + 1_000_000 * blocks)


def test_a_million_tiny_blocks(library: Open) -> None:
    grid = library("grid3d")
    many_blocks = grid.function("many_blocks")
    many_blocks.restype = ctypes.c_double
    nanoseconds = many_blocks(1_000_000, 8)
    assert 0 < nanoseconds < 5e9  # about 0.05 s where it was written
    assert grid.counts() == EmulatorCounts(launches=1, blocks=1_000_000, threads=8_000_000, barriers=0)


def shuffle_sources(width: int) -> list[list[int]]:
    """For each lane, where `shfl 3`, `up 2`, `down 3` and `xor 5` read, from the definition in the PTX manual."""
    rows = []
    for lane in range(32):
        first = lane - lane % width
        last = first + width - 1
        up = lane - 2 if lane - 2 >= first else lane
        down = lane + 3 if lane + 3 <= last else lane
        across = lane ^ 5 if lane ^ 5 <= last else lane
        rows.append([first + 3 % width, up, down, across])
    return rows


@pytest.mark.parametrize("width", [32, 16, 4, 1])
def test_shuffles_and_votes(library: Open, width: int) -> None:
    out = np.zeros((32, 10), np.int64)
    assert library("warps").function("run_shuffles")(pointer(out), width) == 0
    for lane, (indexed, up, down, across) in enumerate(shuffle_sources(width)):
        low = lane < 16
        ballot = sum(1 << i for i in range(0, 32, 3))
        halves = (lane ^ 1, 0xFFFF) if low else (16 + (lane + 1) % 16, 0xAAAA0000)
        expected = [indexed * 10, up << 40, down // 2, across * 2, ballot, 3, *halves, 0xFFFFFFFF, 1 - lane % 2]
        assert out[lane].tolist() == expected, f"lane {lane}"


def test_lanes_that_are_together(library: Open) -> None:
    out = np.zeros((40, 4), np.uint32)
    assert library("warps").function("run_together")(pointer(out)) == 0
    for first in (0, 32):
        lanes = range(first, min(first + 32, 40))
        here = [sum(1 << t - first for t in lanes if (t % 3 == 0) is third) for third in (False, True)]
        odd = sum(1 << t - first for t in lanes if t % 2)
        everyone = sum(1 << t - first for t in lanes)
        for t in lanes:
            assert out[t].tolist() == [here[t % 3 == 0], everyone, odd if t % 2 else 0, first + t % 2], t


def test_overloads_and_intrinsics(library: Open) -> None:
    f = np.array([2.0, -1.5], np.float32)
    d = np.array([1.1, -2.5, 3.25, 0.0])
    i = np.array([4, -3], np.int32)
    out = np.zeros(24)
    assert library("dialect").function("run_overloads")(pointer(out), len(out), pointer(f), pointer(d), pointer(i)) == 0
    # As a GPU of compute capability 9.0 computes them, but for the last, which it contracts to a multiply-add.
    expected = [
        1.4142135381698608, 1.0488088481701516, 7.0, 0.0, 8.88178419700126e-18, 8.88178419700126e-18, 2.5, 1.5, 1.1,
        171.0, 2147483648.0, 2002072337.0, 4294967287.0, 2682.0, 8.5, 27.75, 3.1, 5.0, 3.5999999999999996, 35.0, 3.0,
        106.5, 5.5, 1.1 * -2.5 + 3.25,
    ]  # fmt: skip
    assert out.tolist() == expected
