"""Calls from Python on a GPU: launches by the driver, streams, threads, large arrays of the host, what is left."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.runtime import pinned_staging
from polytile.runtime.cupy_engine import cupy_available
from polytile.runtime.pinned_staging import LEAST, PIECE, SLOTS

pytestmark = pytest.mark.skipif(not cupy_available(), reason="needs a GPU and CuPy")

SOURCE = """
void scale(int n, int count, float w, double a[n], const double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = w * b[i] + count;
#pragma endscop
}
void interior(int n, int m, double a[n][m], const double b[n][m])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) a[i][j] = 2.0 * b[i][j];
#pragma endscop
}
void column(int n, int m, double a[n][m], const double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i][3] = 2.0 * b[i];
#pragma endscop
}
void some(int n, double a[n], const int p[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (p[i] > 0) a[i] = 1.0;
#pragma endscop
}
void twice(int n, int m, double A[n][m], double x[m], double y[m])
{
#pragma scop
    double t[n];
    for (int i = 0; i < n; i++) {
        t[i] = 0;
        for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];
    }
    for (int j = 0; j < m; j++) {
        y[j] = 0;
        for (int i = 0; i < n; i++) y[j] += A[i][j] * t[i];
    }
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def program() -> Any:
    return polytile.compile(SOURCE)


@pytest.mark.quick
def test_repeated_calls_on_ever_other_arrays(program: Any) -> None:
    import cupy

    for k in range(20):
        a, b = cupy.zeros(1000 + k // 10), cupy.random.rand(1000 + k // 10)
        program["scale"](count=k, w=0.5 * k, a=a, b=b)
        assert bool((a == 0.5 * k * b + k).all())


def test_kernels_of_more_than_one_launch_and_a_temporary(program: Any) -> None:
    import cupy

    for _ in range(5):
        A, x, y = cupy.random.rand(300, 500), cupy.random.rand(500), cupy.zeros(500)
        program["twice"](A=A, x=x, y=y)
        assert bool(cupy.allclose(y, A.T @ (A @ x)))
        host = {"A": A.get(), "x": x.get(), "y": np.zeros(500)}
        program["twice"](**host)
        assert np.allclose(host["y"], y.get())


def test_calls_in_a_stream_follow_what_is_in_it(program: Any) -> None:
    import cupy

    a, b, stream = cupy.zeros(1 << 20), cupy.zeros(1 << 20), cupy.cuda.Stream(non_blocking=True)
    for k in range(1, 30):
        with stream:
            b.fill(k)
        program["scale"](a.size, 1, 2.0, a, b, stream=stream)
        with stream:
            total = a.sum()
        assert float(total.get(stream=stream)) == (2 * k + 1) * a.size


def test_calls_are_recorded_by_a_capture_of_the_caller(program: Any) -> None:
    import cupy

    a, b = cupy.zeros(1000), cupy.ones(1000)
    stream = cupy.cuda.Stream(non_blocking=True)
    program["scale"](1000, 1, 2.0, a, b, stream=stream)
    program["scale"](1000, 1, 2.0, a, b, stream=stream)
    stream.synchronize()
    stream.begin_capture()
    program["scale"](1000, 1, 2.0, a, b, stream=stream)
    graph = stream.end_capture()
    b.fill(5)
    cupy.cuda.Device().synchronize()
    graph.launch(stream)
    stream.synchronize()
    assert bool((a == 11).all())


ITEMS = (LEAST // 8 - 1, LEAST // 8, PIECE // 8, PIECE // 8 + 1, SLOTS * PIECE // 8, 2 * SLOTS * PIECE // 8 + 12345)


@pytest.mark.parametrize("n", ITEMS)
def test_large_arrays_of_the_host_come_and_go_in_pieces(n: int, program: Any) -> None:
    generator = np.random.default_rng(n)
    for w in (2.0, 4.0):
        a, b = np.zeros(n), generator.random(n)
        program["scale"](n, 1, w, a, b)
        assert np.array_equal(a, w * b + 1)


@pytest.mark.parametrize("shape", [(5, 7), (700, 900), (3000, 2100), (3, 3_000_000)])
def test_what_kernels_write_of_rows_comes_back_alone(shape: tuple[int, int], program: Any) -> None:
    for _ in range(2):
        a, b = np.full(shape, 7.0), np.random.default_rng(1).random(shape)
        program["interior"](a=a, b=b)
        expected = np.full(shape, 7.0)
        expected[1:-1, 1:-1] = 2 * b[1:-1, 1:-1]
        assert np.array_equal(a, expected)
        program["column"](a=a, b=b[:, 0].copy())
        expected[:, 3] = 2 * b[:, 0]
        assert np.array_equal(a, expected)


@pytest.mark.parametrize("n", [100, 2_000_000])
def test_what_kernels_change_comes_back_alone(n: int, program: Any) -> None:
    generator = np.random.default_rng(2)
    for _ in range(2):
        a, p = generator.random(n), generator.integers(0, 2, n).astype(np.int32)
        expected = np.where(p > 0, 1.0, a)
        program["some"](a=a, p=p)
        assert np.array_equal(a, expected)


def test_pinned_arrays_of_the_host(program: Any) -> None:
    cupyx = pytest.importorskip("cupyx")
    a, b = cupyx.zeros_pinned(3_000_000), cupyx.zeros_pinned(3_000_000)
    for k in range(3):
        b[:] = k
        program["scale"](3_000_000, 1, 2.0, a, b)
        assert (a == 2 * k + 1).all()


def test_eight_threads_with_arrays_of_their_own(program: Any) -> None:
    import cupy

    def work(k: int) -> bool:
        right, scale = True, program["scale"]
        with cupy.cuda.Stream(non_blocking=True):
            a, b = cupy.zeros(5000), cupy.full(5000, float(k))
            host, large = np.zeros(600_000), np.full(600_000, float(k))
            for w in range(100):
                scale(5000, k, float(w), a, b)
                right = right and bool((a == w * k + k).all())
                if w % 10 == 0:
                    scale(600_000, k, float(w), host, large)
                    right = right and bool((host == w * k + k).all())
        return right

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))


def test_a_thread_whose_first_use_of_the_device_is_a_call(program: Any) -> None:
    import cupy

    a, b = cupy.zeros(1000), cupy.ones(1000)
    for _ in range(2):
        program["scale"](1000, 1, 2.0, a, b)
    a.fill(0)
    cupy.cuda.Device().synchronize()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(program["scale"], 1000, 1, 2.0, a, b).result()
    assert bool((a == 3).all())


def test_calls_leave_nothing(program: Any) -> None:
    import cupy

    a, b, host = cupy.zeros(1000), cupy.ones(1000), np.ones(1000)
    pool = cupy.get_default_memory_pool()

    def calls(count: int) -> tuple[int, int]:
        for k in range(count):
            program["scale"](1000, 1, 2.0, a, b)
            if k % 20 == 0:
                program["scale"](1000, 1, 2.0, host, host.copy())
        gc.collect()
        return pool.used_bytes(), cupy.cuda.runtime.memGetInfo()[0]

    before = calls(100)
    assert calls(20_000) == before


def test_pinned_memory_is_given_back(program: Any) -> None:
    program["scale"](1 << 20, 1, 2.0, np.zeros(1 << 20), np.ones(1 << 20))
    assert sum(map(len, pinned_staging._IDLE.values())) >= 1
    pinned_staging.give_back()
    assert not any(pinned_staging._IDLE.values())
    a = np.zeros(1 << 20)
    program["scale"](1 << 20, 1, 2.0, a, np.ones(1 << 20))
    assert (a == 3).all()


def test_tensors_and_their_operator(program: Any) -> None:
    torch = pytest.importorskip("torch")
    operator = program["scale"].as_torch_op("polytile_calls::scale")
    a = torch.zeros(1000, dtype=torch.float64, device="cuda")
    for k in range(1, 6):
        b = torch.full((1000,), float(k), dtype=torch.float64, device="cuda")
        program["scale"](1000, 1, 2.0, a, b)
        assert bool((a == 2 * k + 1).all())
        with torch.cuda.stream(torch.cuda.Stream()):
            c = b + 1
            operator(2, 0.5, a, c)
            assert bool((a == 0.5 * (k + 1) + 2).all())
