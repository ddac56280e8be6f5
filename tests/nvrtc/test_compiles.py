"""Kernels as CuPy compiles them: NVRTC has no headers, so a name that only a header declares fails there alone."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

import polytile
from polybench.runner.tables import load
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.runtime.nvrtc import compile_to_ptx, nvrtc
from tests.every_schedule import source
from tests.nvrtc.library import ptx_of

REGRESSIONS = Path(__file__).resolve().parents[1] / "property" / "regressions"
CASES = (  # program, type, strategy: each kind of kernel, both types where vectors differ
    ("polybench/gemm", "double", "tiled"),  # asynchronous copies, 16 bytes wide
    ("polybench/gemm", "float", "auto"),
    ("polybench/mvt", "float", "auto"),  # reductions over warps
    ("polybench/gramschmidt", "double", "auto"),  # sums of all blocks together
    ("polybench/correlation", "double", "classic"),
    ("polybench/nussinov", "double", "classic"),  # integers, conditions
    ("polybench/deriche", "float", "auto"),  # functions of libm
    ("polybench/jacobi-1d", "float", "overlapped"),
    ("polybench/fdtd-2d", "double", "overlapped"),
    ("polybench/fdtd-2d", "float", "split"),
    ("polybench/heat-3d", "float", "split"),  # slabs
    ("an5d/star3d1r", "double", "overlapped"),  # split barriers, rows of warps
    ("an5d/box2d2r", "float", "overlapped"),  # sums taken plane by plane
    ("stencilgen/curl", "double", "overlapped"),  # a fused graph of stencils
)


@pytest.fixture(scope="module")
def compiler() -> ctypes.CDLL:
    library = nvrtc()
    if library is None:
        pytest.skip("the package nvidia-cuda-nvrtc is not installed")
    return library


@pytest.mark.slow(but="polybench/jacobi-1d-float-overlapped")
@pytest.mark.parametrize(("program", "dtype", "schedule"), CASES)
def test_kernels_compile_without_headers(
    program: str, dtype: str, schedule: str, compiler: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = load()[program]
    monkeypatch.chdir(entry.path.parents[1])
    compiled = polytile.compile(Path(entry.file), defines=entry.defines("large", dtype), schedule=schedule)
    for scop in compiled.scops:
        assert scop.program is not None
        good, log = compile_to_ptx(compiler, print_kernels(scop.program))
        assert good, log


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_offsets_compile_without_headers(dtype: str, compiler: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = load()["reorder/derivative"]
    monkeypatch.chdir(entry.path.parents[1])
    compiled = polytile.compile(Path(entry.file), defines=entry.defines("large", dtype), registers=64)
    (scop,) = compiled.scops
    assert scop.program is not None
    text = print_kernels(scop.program)
    good, log = compile_to_ptx(compiler, text)
    assert good and "polytile_offset(at, " in text, log


UPDATES = {
    "histogram": ("unsigned h[256], int p[n]", "for (int i = 0; i < n; i++) h[p[i]]++;"),
    "weights": (
        "double h[m], float g[m], long k[m], int p[n], float w[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] += w[i]; g[p[i]] -= w[i]; if (i > k[p[i]]) k[p[i]] = i; }",
    ),
    "sparse rows": (
        "int row[n + 1], int col[m], float val[m], float x[n], float y[n], int c[n]",
        "for (int i = 0; i < n; i++) { float s = 0; for (int j = row[i]; j < row[i + 1]; j++)"
        " { s += val[j] * x[col[j]]; if (val[j] > 0) c[i]++; } y[i] = s; }",
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_atomic_updates_and_shared_loops_compile(name: str, compiler: ctypes.CDLL) -> None:
    (scop,) = polytile.compile(source(*UPDATES[name]), name="f.c", atomics=True).scops
    assert scop.program is not None and len(scop.program.kernels) > 1
    good, log = compile_to_ptx(compiler, print_kernels(scop.program))
    assert good, log


def test_a_name_that_needs_a_header_is_found(compiler: ctypes.CDLL) -> None:
    text = 'extern "C" __global__ void f(double *a) { a[0] = (uintptr_t) a % 16; }'
    good, log = compile_to_ptx(compiler, text)
    assert not good and "uintptr_t" in log


@pytest.mark.parametrize("name", ["value_of_another_type", "wide_iterator_in_atomic"])
def test_what_host_compilers_take_and_these_do_not(name: str, compiler: ctypes.CDLL) -> None:
    for scop in polytile.compile(REGRESSIONS / f"{name}.c").scops:
        assert scop.program is not None
        good, log = compile_to_ptx(compiler, print_kernels(scop.program))
        assert good, log


def test_packed_structs_are_loaded_byte_by_byte() -> None:
    """NVRTC leaves out attributes behind the brace of a struct, and GPUs fault where a load is not aligned."""
    text = """
struct __attribute__((packed)) s { char c; int x; };
struct __attribute__((aligned(4))) t { char c[3]; };
void f(int n, struct s a[n], struct t b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) { a[i].x = i; b[i].c[1] = i; }
#pragma endscop
}
"""
    (scop,) = polytile.compile(text, name="f.c").scops
    assert scop.program is not None
    ptx = ptx_of(print_kernels(scop.program))
    assert "st.global.u8" in ptx and "st.global.u32" not in ptx
