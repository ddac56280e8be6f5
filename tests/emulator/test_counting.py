"""Requests, sectors, wavefronts and divergence of kernels whose figures can be told by hand."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.counts import Counts, SiteCount, learning, read, reset
from polytile.runtime.emulator.instrument import COUNTING

KERNELS = Path(__file__).parent / "kernels"
Array = npt.NDArray[Any]
Run = Callable[..., Counts]


@pytest.fixture(scope="module")
def library(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> EmulatorLibrary:
    out = tmp_path_factory.mktemp("counting") / "counting.so"
    flags = ["-Wall", "-Werror"]
    return EmulatorLibrary.open(
        compile_shared(KERNELS / "counting.cu", out, instrumentation=COUNTING, extra_flags=flags)
    )


@pytest.fixture
def run(library: EmulatorLibrary) -> Run:
    """`run(kernel, in_, out, blocks=1, x=32, y=1, n=0, m=0)`: run a kernel of counting.cu and read its counts."""

    def go(
        name: str, in_: Array, out: Array, *, blocks: int = 1, x: int = 32, y: int = 1, n: int = 0, m: int = 0
    ) -> Counts:
        library.reset_errors()

        def once(to: Array) -> None:
            pointers = [ctypes.c_void_p(in_.ctypes.data), ctypes.c_size_t(in_.nbytes)]
            pointers += [ctypes.c_void_p(to.ctypes.data), ctypes.c_size_t(to.nbytes)]
            assert library.function(f"run_{name}")(*pointers, blocks, x, y, n, m) == 0, library.message()
            assert library.allocated_bytes() == 0

        with learning(library):
            once(out.copy())
        once(out)
        return read(library, arrays=["in", "out"])

    return go


def only(counts: Counts, array: str, access: str = "load") -> SiteCount:
    (site,) = counts.of(array, access)
    return site


def costs(site: SiteCount) -> tuple[int, int, int]:
    return (site.requests, site.lanes, site.sectors)


@pytest.mark.slow(but="copy_float-1-1-5")
@pytest.mark.parametrize(
    ("kernel", "start", "stride", "sectors"),
    [
        ("copy_float", 0, 1, 4),
        ("copy_float", 0, 0, 1),
        ("copy_float", 0, 2, 8),
        ("copy_float", 0, 8, 32),
        ("copy_float", 0, 32, 32),
        ("copy_float", 1, 1, 5),
        ("copy_float", 8, 1, 4),
        ("copy_float", 31, -1, 4),
        ("copy_double", 0, 1, 8),
        ("copy_double", 0, 0, 1),
        ("copy_double", 0, 2, 16),
        ("copy_double", 0, 32, 32),
        ("copy_double", 1, 1, 9),
        ("copy_double", 4, 1, 8),
        ("copy_float4", 0, 1, 16),
        ("copy_float4", 1, 1, 17),
        ("copy_float4", 0, 2, 32),
        ("copy_double2", 0, 1, 16),
    ],
)
def test_sectors_of_a_warp(run: Run, kernel: str, start: int, stride: int, sectors: int) -> None:
    width = {"copy_float": 4, "copy_double": 8}.get(kernel, 16)
    in_, out = np.zeros(1100 * width, np.uint8), np.zeros(128 * width, np.uint8)
    counts = run(kernel, in_, out, blocks=1, x=32, n=start, m=stride)
    load, store = only(counts, "in"), only(counts, "out", "store")
    assert costs(load) == (1, 32, sectors)
    assert costs(store) == (1, 32, width)
    assert (load.size, load.space, load.sectors_per_request, load.lanes_per_request) == (width, "global", sectors, 32)
    text = (KERNELS / "counting.cu").read_text().splitlines()
    assert text[load.line - 1].startswith("COPY(")


def test_requests_are_counted_over_blocks_and_warps(run: Run) -> None:
    in_, out = np.zeros(3 * 128), np.zeros(3 * 128)
    counts = run("copy_double", in_, out, blocks=3, x=128, m=1)
    assert costs(only(counts, "in")) == (12, 384, 96)
    (kernel,) = counts.kernels
    assert (kernel.name, kernel.launches, kernel.warps) == ("copy_double", 1, 12)
    assert (kernel.barriers, kernel.divergent_branches) == (0, 0)


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 100])
def test_a_last_warp_may_be_partial(run: Run, threads: int) -> None:
    counts = run("copy_double", np.zeros(100), np.zeros(100), x=threads, m=1)
    assert costs(only(counts, "in")) == (-(-threads // 32), threads, -(-threads * 8 // 32))


@pytest.mark.parametrize("n", [0, 1, 32, 40, 64])
def test_threads_may_return_at_once(run: Run, n: int) -> None:
    counts = run("copy_some", np.zeros(64), np.zeros(64), x=64, n=n)
    assert [costs(s) for s in counts.of("in")] == ([(-(-n // 32), n, -(-n // 4))] if n else [])
    assert counts.kernels[0].divergent_branches == (n % 32 != 0)


@pytest.mark.parametrize(
    ("x", "y", "requests", "sectors"), [(16, 16, 8, 64), (8, 8, 2, 16), (4, 2, 1, 2), (32, 2, 2, 16)]
)
def test_warps_are_consecutive_threads_x_fastest(run: Run, x: int, y: int, requests: int, sectors: int) -> None:
    counts = run("copy_rows", np.zeros(64 * 16), np.zeros(64 * 16), x=x, y=y, m=64)
    assert costs(only(counts, "in")) == (requests, x * y, sectors)


def test_rows_that_do_not_begin_at_a_sector(run: Run) -> None:
    """Two rows of 16 doubles: where rows are 65 long, odd ones begin 8 bytes into a sector and take five for four."""
    counts = run("copy_rows", np.zeros(65 * 4), np.zeros(65 * 4), x=16, y=4, m=65)
    # Row r begins r elements into a sector: 4, 5, 5, 5 sectors for 16 elements.
    assert costs(only(counts, "in")) == (2, 64, 4 + 5 + 5 + 5)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(
    ("kernel", "stride", "wavefronts", "ideal"),
    [
        ("shared_float", 1, 1, 1),
        ("shared_float", 0, 1, 1),
        ("shared_float", 2, 2, 1),
        ("shared_float", 4, 4, 1),
        ("shared_float", 32, 32, 1),
        ("shared_float", 33, 1, 1),
        ("shared_double", 1, 2, 2),
        ("shared_double", 0, 2, 2),
        ("shared_double", 2, 4, 2),
        ("shared_double", 16, 32, 2),
        ("shared_double", 17, 2, 2),
        ("shared_float4", 1, 4, 4),
        ("shared_float4", 2, 8, 4),
        ("shared_float4", 8, 32, 4),
        ("shared_float4", 9, 4, 4),
    ],
)
def test_bank_conflicts(run: Run, kernel: str, stride: int, wavefronts: int, ideal: int) -> None:
    counts = run(kernel, np.zeros(1), np.zeros(32 * 2), n=0, m=stride)
    for access in ("load", "store"):
        site = only(counts, "words", access)
        assert (site.space, site.requests, site.wavefronts, site.ideal_wavefronts) == ("shared", 1, wavefronts, ideal)
        assert site.bank_conflicts == wavefronts - ideal
    assert counts.kernels[0].barriers == 1


def test_half_a_warp_takes_one_wavefront(run: Run) -> None:
    counts = run("shared_double", np.zeros(1), np.zeros(64), x=16, m=1)
    assert only(counts, "words").wavefronts == 1


@pytest.mark.parametrize(("columns", "wavefronts"), [(32, 32), (33, 1)])
def test_padding_a_tile_removes_its_conflicts(run: Run, columns: int, wavefronts: int) -> None:
    in_, out = np.random.default_rng(1).random((32, 32), np.float32), np.zeros((32, 32), np.float32)
    counts = run("transpose", in_, out, x=32, y=32, n=columns)
    np.testing.assert_array_equal(out, in_.T)
    assert only(counts, "shared", "store").wavefronts == 32
    assert only(counts, "shared").wavefronts == 32 * wavefronts
    assert costs(only(counts, "in")) == costs(only(counts, "out", "store")) == (32, 1024, 128)


def segments(addresses: list[int], size: int = 8) -> int:
    """Distinct 32-byte segments of accesses that begin at byte offsets `addresses` of an array."""
    return len({b // 32 for a in addresses for b in range(a, a + size)})


@pytest.mark.parametrize("density", [0.0, 0.03, 0.5, 1.0])
def test_guards_that_hold_in_some_iterations(run: Run, density: float) -> None:
    n = 50
    guard = (np.random.default_rng(7).random((n, 32)) < density).astype(float)
    counts = run("guarded", guard, np.zeros(64 + 40 * n + 32), n=n)
    assert costs(only(counts, "in")) == (n, 32 * n, 8 * n)
    sites = counts.of("out")
    expected = [[8 * (64 + 40 * k + t) for t in range(32) if guard[k, t]] for k in range(n)]
    some = [each for each in expected if each]
    if some:
        assert costs(sites[0]) == (len(some), sum(map(len, some)), sum(map(segments, some)))
    assert costs(sites[-1]) == (n, 32 * n, n)
    assert counts.kernels[0].divergent_branches == sum(len(each) < 32 for each in some)


def test_both_sides_of_a_condition(run: Run) -> None:
    n = 10
    counts = run("either", np.zeros(64), np.zeros(32), n=n)
    then = [[8 * t for t in range(32) if (t + k) % 3 == 0] for k in range(n)]
    otherwise = [[16 * t for t in range(32) if (t + k) % 3] for k in range(n)]
    first, second = counts.of("in")
    assert costs(first) == (n, sum(map(len, then)), sum(map(segments, then)))
    assert costs(second) == (n, sum(map(len, otherwise)), sum(map(segments, otherwise)))
    assert counts.kernels[0].divergent_branches == n


def test_loops_of_different_trip_counts(run: Run) -> None:
    counts = run("triangle", np.zeros(32 * 32), np.zeros(32))
    lanes = [[8 * (k * 32 + t) for t in range(k + 1, 32)] for k in range(31)]
    assert costs(only(counts, "in")) == (31, 31 * 16, sum(map(segments, lanes)))
    assert costs(only(counts, "out", "store")) == (1, 32, 8)


@pytest.mark.parametrize("m", [1, 2, 7, 32])
def test_inner_loops_of_different_trip_counts(run: Run, m: int) -> None:
    n = 12
    counts = run("ragged", np.zeros(32 * 32 + n), np.zeros(32), n=n, m=m)
    *inner, after = counts.of("in")
    trips = [[(t + i) % m for t in range(32)] for i in range(n)]
    steps = [[8 * (j * 32 + t) for t in range(32) if j < row[t]] for row in trips for j in range(max(row))]
    assert [costs(s) for s in inner] == (
        [(len(steps), sum(map(len, steps)), sum(map(segments, steps)))] if steps else []
    )
    assert costs(after) == (n, 32 * n, n)


def test_lanes_that_leave_a_loop_or_skip_the_rest_of_an_iteration(run: Run) -> None:
    n = 20
    counts = run("leaving", np.zeros(96), np.zeros(32), n=n)
    first, second = counts.of("in")
    there = [[t for t in range(32) if t >= k] for k in range(1, n)]
    rest = [[t for t in lanes if t % k == 0] for k, lanes in enumerate(there, 1)]
    assert costs(first) == (n - 1, sum(map(len, there)), n - 1)
    assert costs(second) == (n - 1, sum(map(len, rest)), sum(segments([8 * (64 + t) for t in each]) for each in rest))
    assert costs(only(counts, "out", "store")) == (1, 32, 8)


def test_loops_that_data_end(run: Run) -> None:
    """Lane t follows a chain of t steps: element e of chain t is 32 * e + t."""
    chain = np.full((33, 32), -1.0)
    for t in range(32):
        chain[:t, t] = [32 * (e + 1) + t for e in range(t)]
    out = np.zeros(32)
    counts = run("chase", chain, out)
    assert out.tolist() == list(range(32))
    sites = counts.of("in")
    steps = [[8 * (32 * e + t) for t in range(e, 32)] for e in range(32)]
    assert sum(s.requests for s in sites) == 32
    assert sum(s.lanes for s in sites) == sum(map(len, steps))
    assert sum(s.sectors for s in sites) == sum(map(segments, steps))


@pytest.mark.parametrize("m", [64, 40, 32, 17])
def test_barriers_in_a_loop_that_some_threads_never_reach(run: Run, m: int) -> None:
    n = 9
    counts = run("exchange", np.zeros(64), np.zeros(64), x=64, n=n, m=m)
    warps = -(-m // 32)
    assert counts.kernels[0].barriers == 2 * n
    (store,), (load,) = counts.of("left", "store"), counts.of("left")
    assert (store.requests, store.lanes) == (load.requests, load.lanes) == (n * warps, n * m)
    first, guarded = counts.of("in")
    assert (first.requests, first.lanes) == (warps, m)
    assert (guarded.requests, guarded.lanes) == (n - 1, n * (n - 1) // 2)


def test_traces_longer_than_what_is_kept(run: Run) -> None:
    n, m = 3000, 7
    counts = run("longer", np.zeros(64), np.zeros(64), x=64, n=n, m=m)
    guarded, inner = counts.of("in")
    warps = [range(32), range(32, 64)]
    hits = [[t for t in warp if (t * 7 + k) % 5 < 2] for warp in warps for k in range(n)]
    assert costs(guarded) == (len(hits), sum(map(len, hits)), sum(segments([8 * t for t in each]) for each in hits))
    steps = [[t for t in warp if j < (t + k) % 3] for warp in warps for k in range(n) for j in range(2)]
    assert costs(inner) == (len(steps), sum(map(len, steps)), len(steps))
    assert counts.kernels[0].barriers == -(-n // (2 * m))


def test_lanes_that_wait_for_some_of_the_others(run: Run) -> None:
    """What comes after the condition waits for the lanes that meet inside it, though these wait for each other."""
    n = 2000
    counts = run("halves", np.zeros(96), np.zeros(64), x=64, n=n, m=32)
    before, met, after = counts.of("in")
    assert costs(before) == (2 * n, 32 * n, 8 * n)
    assert costs(met) == (2 * n, 32 * n, 2 * n)
    assert costs(after) == (2 * n, 64 * n, 2 * n)


def test_functions_that_are_called(run: Run) -> None:
    n, m = 3, 6
    counts = run("calling", np.zeros(32), np.zeros(32), n=n, m=m)
    inner, after = counts.of("in")
    lanes = range(0, 32, 2)
    first = [[t for t in lanes if k < t % m] for k in range(m)]
    requests = n * (sum(1 for each in first if each) + 2)
    assert (inner.requests, inner.lanes) == (requests, n * (sum(map(len, first)) + 2 * len(lanes)))
    assert costs(after) == (1, 32, 8)


def test_atomics(run: Run) -> None:
    in_, out = np.arange(32.0), np.zeros(4)
    counts = run("histogram", in_, out, n=4)
    assert out.tolist() == [8, 0, 0, 0] or out.sum() == 32
    shared, device = only(counts, "bins", "atomic"), only(counts, "out", "atomic")
    assert (shared.space, shared.requests, shared.lanes) == ("shared", 1, 32)
    assert costs(device) == (1, 32, 1)
    assert counts.of("out", "store") == ()
    assert counts.kernels[0].barriers == 2


def test_private_memory_is_not_counted(run: Run) -> None:
    counts = run("local", np.zeros(256), np.zeros(32), n=3, m=5)
    assert {(s.array, s.access) for s in counts.sites} == {("in", "load"), ("out", "store")}
    assert sum(s.requests for s in counts.of("in")) == 8


def test_counts_begin_again_after_a_reset(run: Run, library: EmulatorLibrary) -> None:
    run("copy_double", np.zeros(32), np.zeros(32), m=1)
    reset(library)
    assert read(library) == Counts((), ())


def test_columns_tell_the_accesses_of_one_line_apart(run: Run) -> None:
    counts = run("neighbours", np.zeros(64), np.zeros(32))
    sites = counts.of("in")
    assert [s.sectors for s in sites] == [8, 9, 8]
    text = (KERNELS / "counting.cu").read_text().splitlines()
    assert len({s.line for s in counts.sites}) == 1
    ends = [text[s.line - 1][: s.column].rpartition("in[")[2] for s in sites]
    assert ends == ["threadIdx.x]", "threadIdx.x + 1]", "threadIdx.x + 4]"]


@pytest.fixture(scope="module")
def reductions(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Counts]:
    """`reductions(function)`: the counts of a kernel of reductions.cu on a thousand ones."""
    out = tmp_path_factory.mktemp("counting") / "reductions.so"
    library = EmulatorLibrary.open(compile_shared(KERNELS / "reductions.cu", out, instrumentation=COUNTING))

    def go(function: str) -> Counts:
        x, sums = np.ones(1000), np.zeros(8)
        pointers = (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(sums.ctypes.data))
        with learning(library):
            assert library.function(function)(*pointers, 1000) == 0
        assert library.function(function)(*pointers, 1000) == 0
        assert sums.sum() == 1000
        return read(library, arrays=["x", "sums"])

    return go


def added(counts: Counts, array: str, access: str) -> tuple[int, int]:
    """Requests and lanes of all sites of an array."""
    sites = counts.of(array, access)
    return sum(s.requests for s in sites), sum(s.lanes for s in sites)


@pytest.mark.slow
def test_a_reduction_with_a_barrier_for_each_step(reductions: Callable[[str], Counts]) -> None:
    """Eight blocks of 128: steps 64 and 32 take two warps and one, the five others a part of one."""
    counts = reductions("reduce_static")
    assert added(counts, "x", "load") == (32, 1000)
    assert added(counts, "partial", "store") == (8 * (4 + 8), 8 * (128 + 127))
    assert added(counts, "partial", "load") == (8 * (2 * 8 + 1), 8 * (2 * 127 + 1))
    assert added(counts, "sums", "store") == (8, 8)
    assert counts.kernels[0].barriers == 8 * 8


def test_a_reduction_with_shuffles(reductions: Callable[[str], Counts]) -> None:
    """Four blocks of 256: each warp leaves a sum, and the first warp of a block adds eight of them."""
    counts = reductions("reduce_shuffle")
    assert added(counts, "x", "load") == (32, 1000)
    assert added(counts, "of_warp", "store") == (32, 32)
    assert added(counts, "of_warp", "load") == (4, 32)
    assert added(counts, "sums", "store") == (4, 4)
    assert counts.kernels[0].barriers == 4
