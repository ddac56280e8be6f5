"""What a caller waits beside the kernels: `python -m polybench.calls [--only SECTION..] [--json FILE]`.

- `cupy`, `torch`, `numpy`: calls of a kernel that takes microseconds, beside one of CuPy's RawKernel, of torch, and
  torch's copies;
- `copies`: NumPy arrays of 1 to 800 MB that go to the device and come back, beside torch's copies of them;
- `entries`: C entries of the .cu of five programs, beside their kernels alone and cuBLAS;
- `leaks`: memory and threads after 1e5 calls, `threads`: eight threads at once;
- `staging`: copies with pieces, slots and threads other than the usual.

Times are the least of some rounds. Each output is compared with what is expected. A target that is missed is marked
SHORT; the exit status is 1 where an output differs or a section fails, 4 without a GPU or CuPy. Needs torch; `entries`
needs nvcc.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import polytile
from polybench.call_entries import entry_times
from polybench.call_rows import CallRow, check, least_us, rate
from polybench.runner.device import machine_fields
from polybench.runner.errors import EXIT_FAILED, EXIT_MACHINE
from polytile.diagnostics import DeviceError
from polytile.runtime import host_copies, pinned_staging
from polytile.runtime.cupy_engine import require_cupy

N = 1000  # elements of a small call
SOURCE = """
void scale(int n, double w, double a[n], const double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = w * b[i];
#pragma endscop
}
void interior(int n, int m, double a[n][m], const double b[n][m])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) a[i][j] = 2.0 * b[i][j];
#pragma endscop
}
void some(int n, double a[n], const int p[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (p[i] > 0) a[i] = 1.0;
#pragma endscop
}
"""
RAW = """extern "C" __global__ void k(int n, double *a, double w, const double *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = w * b[i];
}"""
MEGABYTES = (1, 4.3, 8, 16, 64, 256, 800)
CALLS, THREADS = 100_000, 8
STAGED = 256_000_000  # bytes
STAGINGS = (  # MiB of a piece, slots, pieces ahead, threads
    (2, 16, 8, 1),
    (2, 16, 8, 2),
    (2, 16, 8, 4),
    (2, 16, 8, 8),
    (1, 16, 8, 4),
    (1, 32, 16, 8),
    (4, 8, 4, 4),
    (4, 16, 8, 8),
    (8, 8, 4, 4),
)
Section = Callable[[], Iterator[CallRow]]


@cache
def scops() -> polytile.Program:
    """Compile the functions that are called."""
    return polytile.compile(SOURCE, name="calls.c")


def cupy_calls() -> Iterator[CallRow]:
    """Time calls with CuPy arrays, by name, by position, with other ones each time and in a stream."""
    cupy, scale = require_cupy(), scops()["scale"]
    a, b = cupy.zeros(N), cupy.arange(float(N))
    raw, stream = cupy.RawKernel(RAW, "k"), cupy.cuda.get_current_stream()

    def alone() -> None:
        raw((4,), (256,), (N, a, 2.0, b))

    def waited() -> None:
        alone()
        stream.synchronize()

    scale(N, 2.0, a, b)
    check(bool((a == 2 * b).all()), "CuPy arrays")
    peers = {"RawKernel + synchronize": least_us(waited)}
    yield CallRow("CuPy arrays, by name", least_us(lambda: scale(a=a, b=b, w=2.0)), peers=peers).at_most(20)
    yield CallRow("CuPy arrays, by position", least_us(lambda: scale(N, 2.0, a, b)), peers=peers).at_most(20)
    others = cycle([cupy.zeros(N) for _ in range(200)])
    yield CallRow("CuPy arrays, other ones in each call", least_us(lambda: scale(N, 2.0, next(others), b))).at_most(20)
    own = cupy.cuda.Stream(non_blocking=True)
    us = least_us(lambda: scale(N, 2.0, a, b, stream=own), calls=500, after=own.synchronize)
    peers = {"RawKernel alone": least_us(alone, calls=500, after=stream.synchronize)}
    yield CallRow("CuPy arrays, stream=, not waited for", us, peers=peers)
    a.fill(0)
    scale(N, 3.0, a, b)
    check(bool((a == 3 * b).all()), "CuPy arrays, after all calls")


def torch_calls() -> Iterator[CallRow]:
    """Time calls with torch's tensors, and those of an operator of torch."""
    import torch

    scale = scops()["scale"]
    a = torch.zeros(N, dtype=torch.float64, device="cuda")
    b = torch.arange(N, dtype=torch.float64, device="cuda")
    operator = scale.as_torch_op("calls::scale")

    def peer() -> None:
        torch.mul(b, 2.0, out=a)
        torch.cuda.synchronize()

    def waited() -> None:
        operator(2.0, a, b)
        torch.cuda.synchronize()

    scale(N, 2.0, a, b)
    check(bool((a == 2 * b).all()), "torch CUDA tensors")
    peers = {"torch.mul(out=) + synchronize": least_us(peer)}
    yield CallRow("torch CUDA tensors", least_us(lambda: scale(N, 2.0, a, b)), peers=peers).at_most(30)
    a.zero_()
    waited()
    check(bool((a == 2 * b).all()), "torch operator")
    yield CallRow("torch operator + synchronize", least_us(waited), peers=peers).at_most(50)
    us = least_us(lambda: operator(2.0, a, b), calls=500, after=torch.cuda.synchronize)
    yield CallRow("torch operator, not waited for", us)


def torch_copies(a: Any, b: Any) -> Callable[[], None]:
    """Return what copies two arrays of the host to the device and the first back, by torch."""
    import torch

    host_a, host_b = torch.from_numpy(a), torch.from_numpy(b)
    device_a, device_b = torch.empty_like(host_a, device="cuda"), torch.empty_like(host_b, device="cuda")

    def copy() -> None:
        device_a.copy_(host_a)
        device_b.copy_(host_b)
        host_a.copy_(device_a)  # to pageable memory: waits

    return copy


def numpy_calls() -> Iterator[CallRow]:
    """Time calls with small NumPy arrays."""
    scale = scops()["scale"]
    a, b = np.zeros(N), np.arange(float(N))
    for _ in range(2):
        a[:] = 0
        scale(N, 2.0, a, b)
        check(bool((a == 2 * b).all()), "NumPy arrays")
    copies = least_us(torch_copies(a, b))
    row = CallRow("NumPy arrays of 8 kB", least_us(lambda: scale(N, 2.0, a, b)), peers={"torch's three copies": copies})
    yield row.at_most(60 + copies, "<= 60 + copies")


@contextmanager
def constants(module: Any, **values: int) -> Iterator[None]:
    """Give constants of a module other values meanwhile."""
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def numpy_copies() -> Iterator[CallRow]:
    """Measure the GB/s of calls with large NumPy arrays: two whole ones in and one out, rows, and what has changed."""
    import torch

    scale, interior, some = (scops()[name] for name in ("scale", "interior", "some"))
    for megabytes in MEGABYTES:
        n, rounds = int(megabytes * 1_000_000) // 8, 4 if megabytes > 100 else 20
        a, b = np.ones(n), np.random.rand(n)
        peers = {"torch": rate(torch_copies(a, b), 24 * n, rounds)}
        torch.cuda.empty_cache()
        staged = rate(partial(scale, n, 2.0, a, b), 24 * n, rounds)
        check(bool((a == 2 * b).all()), f"NumPy arrays of {megabytes} MB")
        with constants(host_copies, LEAST=1 << 62):  # CUDA copies arrays of any size itself
            peers["not staged"] = rate(partial(scale, n, 2.0, a, b), 24 * n, rounds)
        row = CallRow(f"NumPy arrays of {megabytes} MB, 2 in, 1 out", staged, "GB/s", peers)
        yield row.at_least(0.9 * peers["torch"], ">= 0.9 of torch")
    side, n = 7000, 20_000_000
    a, b = np.zeros((side, side)), np.random.rand(side, side)
    rows_back = rate(lambda: interior(a=a, b=b), 24 * side * side)
    expected = np.zeros_like(a)
    expected[1:-1, 1:-1] = 2 * b[1:-1, 1:-1]
    check(bool((a == expected).all()), "NumPy, rows come back")
    yield CallRow("NumPy, rows of 392 MB come back", rows_back, "GB/s")
    a, p = np.zeros(n), np.random.randint(0, 2, n).astype(np.int32)
    changed = rate(lambda: some(a=a, p=p), 20 * n)
    check(bool((a == p).all()), "NumPy, what has changed comes back")
    yield CallRow("NumPy, what changed of 160 MB comes back", changed, "GB/s")


@contextmanager
def staging(mebibytes: int, slots: int, ahead: int, copiers: int) -> Iterator[None]:
    """Stage copies in so large pieces, through so many slots, by so many threads."""
    piece = mebibytes << 20
    _forget_staging()
    with (
        constants(pinned_staging, PIECE=piece, SLOTS=slots, AHEAD=ahead, MOST_COPIERS=copiers),
        constants(host_copies, PIECE=piece),
    ):
        try:
            yield
        finally:
            _forget_staging()


def _forget_staging() -> None:
    pinned_staging.give_back()
    pinned_staging._threads.cache_clear()


def staging_choices() -> Iterator[CallRow]:
    """Measure the GB/s of a call with NumPy arrays of 256 MB with other choices of staging."""
    scale, n = scops()["scale"], STAGED // 8
    b = np.random.rand(n)
    for mebibytes, slots, ahead, copiers in STAGINGS:
        a = np.ones(n)
        with staging(mebibytes, slots, ahead, copiers):
            found = rate(partial(scale, n, 2.0, a, b), 24 * n, 3)
        what = f"256 MB: pieces {mebibytes} MiB, slots {slots}, ahead {ahead}, threads {copiers}"
        check(bool((a == 2 * b).all()), what)
        yield CallRow(what, found, "GB/s")


def state() -> dict[str, int]:
    """Return the kB of the device and of CuPy's pool that are in use, those of this process, and its threads."""
    cupy = require_cupy()
    free, total = cupy.cuda.runtime.memGetInfo()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    kilobytes = {
        "kB of the device": total - free,
        "kB of CuPy's pool": cupy.get_default_memory_pool().used_bytes(),
        "kB of the process": pages * os.sysconf("SC_PAGE_SIZE"),
    }
    return {**{what: value // 1000 for what, value in kilobytes.items()}, "threads": threading.active_count()}


def leaks() -> Iterator[CallRow]:
    """Count what 1e5 calls, small and large, leave behind."""
    cupy, scale = require_cupy(), scops()["scale"]
    a, b, host_a, host_b = cupy.zeros(N), cupy.arange(float(N)), np.zeros(N), np.arange(float(N))
    large = 1_000_000
    out, given = np.zeros(large), np.random.rand(large)

    def calls(count: int) -> None:
        for k in range(count):
            scale(N, 2.0, a, b)
            if k % 10 == 0:
                scale(N, 2.0, host_a, host_b)
            if k % 1000 == 0:
                scale(large, 2.0, out, given)

    calls(2000)
    before = state()
    calls(CALLS)
    good = bool((a == 2 * b).all()) and bool((host_a == 2 * host_b).all()) and bool((out == 2 * given).all())
    check(good, "after 1e5 calls")
    for what, after in state().items():
        yield CallRow(f"{what} more after 1e5 calls", after - before[what], "")
    yield CallRow("pinned rings that are kept", sum(map(len, pinned_staging._IDLE.values())), "")


def _thread_calls(k: int) -> bool:
    """Call from one thread, in a stream of its own; return whether all outputs are right."""
    cupy, scale, large = require_cupy(), scops()["scale"], 700_000
    host_a, host_b = np.zeros(large), np.full(large, float(k))
    good = True
    with cupy.cuda.Stream(non_blocking=True):
        a, b = cupy.zeros(N), cupy.full(N, float(k))
        for w in range(300):
            scale(N, float(w), a, b)
            if w % 20 == 0:
                scale(large, float(w), host_a, host_b)
                good &= bool((host_a == w * k).all())
            good &= bool((a.get() == w * k).all())
    return good


def thread_calls() -> Iterator[CallRow]:
    """Call from eight threads at once and count those whose outputs are right."""
    with ThreadPoolExecutor(THREADS) as pool:
        right = sum(pool.map(_thread_calls, range(THREADS)))
    check(right == THREADS, f"{THREADS - right} of {THREADS} threads")
    yield CallRow("threads at once whose outputs are right", right, "").at_least(THREADS)


SECTIONS: dict[str, Section] = {
    "cupy": cupy_calls,
    "torch": torch_calls,
    "numpy": numpy_calls,
    "copies": numpy_copies,
    "entries": entry_times,
    "leaks": leaks,
    "threads": thread_calls,
    "staging": staging_choices,
}


def measure(names: Sequence[str], json_file: Path | None) -> int:
    """Measure sections and print a row a line; return how many failed. An output that differs fails its section."""
    failed = 0
    about = {**machine_fields(), "processors": len(os.sched_getaffinity(0)), "date": datetime.now(UTC).isoformat()}
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    for name in names:
        try:
            for row in SECTIONS[name]():
                print(row.line(), flush=True)
                if json_file is not None:
                    with json_file.open("a") as file:
                        file.write(json.dumps({"section": name, **asdict(row), **about}) + "\n")
        except Exception as error:  # the other sections are measured nevertheless
            failed += 1
            print(f"{name} FAILED: {error}", flush=True)
            traceback.print_exc(limit=6)
    return failed


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(prog="python -m polybench.calls", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS), default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append the rows to FILE")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit status is 1 where an output differs or a section fails, 4 without a GPU or CuPy."""
    chosen = parse(arguments)
    try:
        import torch  # noqa: F401 (before CuPy: both then use its cuBLAS)
    except ImportError:
        print("polybench: there is no torch; sections that compare with it fail", file=sys.stderr)
    try:
        require_cupy()
    except DeviceError as error:
        print(f"polybench: error: {error.message}; {error.hint}", file=sys.stderr)
        return EXIT_MACHINE
    return EXIT_FAILED if measure(chosen.only, chosen.json) else 0


if __name__ == "__main__":
    sys.exit(main())
