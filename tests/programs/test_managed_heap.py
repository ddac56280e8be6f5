"""`--build --managed`: heap memory of the program is shared with the GPU, used in place, and behaves as C's."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.runtime import managed_heap
from polytile.runtime.emulator import compile_shared

pytestmark = pytest.mark.usefixtures("emulator")

PROGRAM = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double *filled(int n);
void dispose(void *memory);

static void smooth(int n, double *restrict a, double *restrict b)
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        b[i] = (a[i - 1] + a[i + 1]) / 2;
    for (int i = 1; i < n - 1; i++)
        a[i] = b[i];
#pragma endscop
}

static double sum(int n, double *a)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * (i % 3);
    return s;
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    void (*give_back)(void *) = free;
    double *a = malloc(n * sizeof *a), *b = calloc(n, sizeof *b), *c, *d = aligned_alloc(64, (n + 7) / 8 * 64);
    if (posix_memalign((void **) &c, 4096, n * sizeof *c) || (unsigned long) c % 4096)
        return 2;
    for (int i = 0; i < n; i++) {
        a[i] = i % 7;
        c[i] = d[i] = i % 5;
    }
    for (int t = 0; t < 3; t++)
        smooth(n, a, b);
    smooth(n, c, d);
    a = realloc(a, 3 * n * sizeof *a);
    for (int i = n; i < 3 * n; i++)
        a[i] = i % 2;
    b = reallocarray(b, 3 * n, sizeof *b);
    memset(b + n, 0, 2 * n * sizeof *b);
    smooth(3 * n, a, b);
    char *text = strdup("copied"), *other = NULL;
    double *e = filled(n);
    smooth(n, e, d);
    printf("%s %.17g %.17g %.17g %.17g\\n", text, sum(3 * n, a), sum(n, c), sum(n, d), sum(n, e));
    free(text);
    free(other);
    give_back(a);
    free(b);
    free(c);
    dispose(d);
    free(e);
    return 0;
}
"""
OTHER = """
#include <stdlib.h>

double *filled(int n)
{
    double *found = malloc(n * sizeof *found);
    for (int i = 0; i < n; i++)
        found[i] = i;
    return found;
}

void dispose(void *memory)
{
    free(memory);
}
"""


def run(program: Path, *arguments: object) -> tuple[str, list[float]]:
    """What a program prints, and the milliseconds of transfers that each call of a SCoP took."""
    environment = {**os.environ, "POLYTILE_TIMING": "1"}
    finished = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, [float(ms) for ms in re.findall(r"transfers ([\d.]+) ms", finished.stderr)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    gcc = shutil.which("gcc") or shutil.which("cc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("managed")
    source, other = folder / "main.c", folder / "other.c"
    source.write_text(PROGRAM)
    other.write_text(OTHER)
    made = {name: folder / name for name in ("sequential", "plain", "managed")}
    subprocess.run(
        [gcc, "-std=gnu99", "-ffp-contract=off", source, other, "-o", made["sequential"], "-lm"], check=True, timeout=60
    )
    compiled = polytile.compile(source, strict=True)
    compiled.build(made["plain"], on="emulator", link=[other])
    compiled.build(made["managed"], on="emulator", link=[other], managed=True)
    return made


@pytest.mark.parametrize("n", [0, 1, 5, 8192, 30_001])
def test_the_program_computes_the_same(built: dict[str, Path], n: int) -> None:
    expected, _ = run(built["sequential"], n)
    for way in ("plain", "managed"):
        assert run(built[way], n)[0] == expected


def test_large_arrays_are_used_in_place_and_small_ones_copied(built: dict[str, Path]) -> None:
    """64 KiB are 8192 elements; blocks grow beyond that with `realloc`."""
    assert all(run(built["plain"], 30_001)[1])
    assert not any(run(built["managed"], 30_001)[1])
    assert not any(run(built["managed"], 8192)[1])
    small = run(built["managed"], 5000)[1]
    assert len(small) == 6
    assert all(small[:4]) and small[4] == 0 and small[5] > 0


def test_the_command_builds_so(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(PROGRAM.replace("double *filled(int n);", OTHER).replace("void dispose(void *memory);", ""))
    command = ["polytile", str(source), "-o", str(tmp_path), "--on", "emulator", "--managed"]
    from polytile.cli.main import main

    assert main(command[1:]) == 2
    assert main([*command[1:], "--build", str(tmp_path / "program")]) == 0
    assert not any(run(tmp_path / "program", 20_000)[1])


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("heap") / "heap.so"
    opened = ctypes.CDLL(str(compile_shared(managed_heap.SOURCE.read_text(), library)))
    for name in managed_heap.FUNCTIONS:
        function = getattr(opened, f"polytile_managed_{name}")
        function.restype = {"free": None, "posix_memalign": ctypes.c_int}.get(name, ctypes.c_void_p)
    return opened


def call(heap: ctypes.CDLL, name: str, *arguments: object) -> int | None:
    passed = [ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments]
    found = getattr(heap, f"polytile_managed_{name}")(*passed)
    return None if found is None else int(found)


def bytes_at(address: int | None, count: int) -> np.ndarray[Any, Any]:
    assert address is not None
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (count,))


def test_blocks_keep_their_bytes_when_they_grow_and_shrink(heap: ctypes.CDLL) -> None:
    pattern = np.arange(300_000, dtype=np.uint8)
    for sizes in ((10, 100_000, 300_000, 70_000, 20, 0), (65_535, 65_536, 65_537, 1), (200_000, 0, 80_000)):
        memory: int | None = None
        before = 0
        for size in sizes:
            memory = call(heap, "realloc", memory, size)
            kept = min(before, size)
            if size:
                np.testing.assert_array_equal(bytes_at(memory, kept), pattern[:kept])
                bytes_at(memory, size)[...] = pattern[:size]
            before = size
        call(heap, "free", memory)
    call(heap, "free", None)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 1_000_000])
def test_blocks_are_aligned_and_zeroed_as_c_says(heap: ctypes.CDLL, size: int) -> None:
    for alignment in (16, 64, 4096, 1 << 20):
        found = ctypes.c_void_p()
        assert call(heap, "posix_memalign", ctypes.byref(found), alignment, size) == 0
        assert (found.value or 0) % alignment == 0
        call(heap, "free", found.value)
        rounded = -(-size // alignment) * alignment
        aligned = call(heap, "aligned_alloc", alignment, rounded)
        assert (aligned or 0) % alignment == 0
        call(heap, "free", aligned)
    zeroed = call(heap, "calloc", size, 1)
    assert size == 0 or not bytes_at(zeroed, size).any()
    call(heap, "free", zeroed)
    found = ctypes.c_void_p()
    assert call(heap, "posix_memalign", ctypes.byref(found), 24, 1_000_000) != 0


@pytest.mark.quick
def test_sizes_that_overflow_give_no_memory(heap: ctypes.CDLL) -> None:
    huge = 2**63 + 1
    assert call(heap, "calloc", huge, 2) is None
    assert call(heap, "reallocarray", None, huge, 2) is None
    assert call(heap, "malloc", 2**64 - 1) is None


def test_nvcc_compiles_the_heap(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("needs nvcc")
    command = [nvcc, "-std=c++17", "-Xcompiler=-Wall", "-c", managed_heap.SOURCE, "-o", tmp_path / "heap.o"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert (finished.returncode, finished.stdout + finished.stderr) == (0, "")
