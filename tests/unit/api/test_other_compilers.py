"""The library as another compiler uses it: isl relations in, CUDA text out, run in the emulator, checked by NumPy."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytile
from polytile.frontend.isl_text import scop_from_isl
from polytile.ir.expr import DOUBLE, FLOAT, INT, Name
from polytile.ir.scop import Array, Scop
from polytile.runtime.emulator import EmulatorLibrary, compile_shared

pytestmark = pytest.mark.usefixtures("emulator")


def n_by(*extents: str) -> tuple[Name, ...]:
    return tuple(Name(e) for e in extents)


def stencil() -> Scop:
    domain = "0 <= t < T and 0 < i < n - 1"
    return scop_from_isl(
        "stencil",
        domain=f"[T, n] -> {{ S[t, i] : {domain}; C[t, i] : {domain} }}",
        schedule="[T, n] -> { S[t, i] -> [t, 0, i]; C[t, i] -> [t, 1, i] }",
        reads="{ S[t, i] -> A[i - 1]; S[t, i] -> A[i]; S[t, i] -> A[i + 1]; C[t, i] -> B[i] }",
        writes="{ S[t, i] -> B[i]; C[t, i] -> A[i] }",
        bodies={"S": "B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1];", "C": "A[i] = B[i];"},
        arrays=[Array("A", DOUBLE, n_by("n")), Array("B", DOUBLE, n_by("n"))],
    )


def product() -> Scop:
    """A schedule tree instead of dates, in an order of its own."""
    box = "0 <= i < n and 0 <= j < m"
    domain = f"[n, m, p] -> {{ Z[i, j] : {box}; M[i, j, k] : {box} and 0 <= k < p }}"
    return scop_from_isl(
        "product",
        domain=domain,
        schedule=f"""domain: "{domain}"
child:
  sequence:
  - filter: "{{ Z[i, j] }}"
    child:
      schedule: "[{{ Z[i, j] -> [i] }}, {{ Z[i, j] -> [j] }}]"
  - filter: "{{ M[i, j, k] }}"
    child:
      schedule: "[{{ M[i, j, k] -> [k] }}, {{ M[i, j, k] -> [i] }}, {{ M[i, j, k] -> [j] }}]"
""",
        reads="{ M[i, j, k] -> C[i, j]; M[i, j, k] -> A[i, k]; M[i, j, k] -> B[k, j] }",
        writes="{ Z[i, j] -> C[i, j]; M[i, j, k] -> C[i, j] }",
        bodies={"Z": "C[i][j] = 0;", "M": "C[i][j] += A[i][k] * B[k][j];"},
        arrays=[
            Array("C", FLOAT, n_by("n", "m")),
            Array("A", FLOAT, n_by("n", "p")),
            Array("B", FLOAT, n_by("p", "m")),
        ],
    )


def clipped() -> Scop:
    """May-writes, and an integer array."""
    return scop_from_isl(
        "clipped",
        domain="[n] -> { S[i] : 0 <= i < n }",
        schedule="{ S[i] -> [-i] }",
        reads="{ S[i] -> x[i]; S[i] -> hits[i] }",
        writes="{ }",
        may_writes="{ S[i] -> x[i]; S[i] -> hits[i] }",
        bodies={"S": "if (x[i] > 0.5) { x[i] = 0.5; hits[i] += 1; }"},
        arrays=[Array("x", DOUBLE, n_by("n")), Array("hits", INT, n_by("n"))],
    )


def diffuse(A: np.ndarray[Any, Any], steps: int) -> np.ndarray[Any, Any]:
    A = A.copy()
    for _ in range(steps):
        A[1:-1] = 0.25 * A[:-2] + 0.5 * A[1:-1] + 0.25 * A[2:]
    return A


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("n", [2, 3, 50, 300])
def test_a_stencil(n: int) -> None:
    compiled = polytile.compile_scop(stencil())
    A, B = np.random.default_rng(n).random(n), np.zeros(n)
    expected = diffuse(A, 7)
    compiled(T=7, n=n, A=A, B=B)
    assert np.allclose(A, expected)


@pytest.mark.slow
@pytest.mark.parametrize("tile", [(), (5,), (16, 8, 4)])
def test_a_product_in_single_precision(tile: tuple[int, ...]) -> None:
    compiled = polytile.compile_scop(product(), tile=tile)
    generator = np.random.default_rng(1)
    A, B = generator.random((13, 7), np.float32), generator.random((7, 29), np.float32)
    C = np.full((13, 29), 9, np.float32)
    compiled(n=13, m=29, p=7, A=A, B=B, C=C)
    assert np.allclose(C, A @ B, rtol=1e-5)
    compiled(n=13, m=29, p=0, A=np.empty((13, 0), np.float32), B=np.empty((0, 29), np.float32), C=C)
    assert not C.any()


def test_may_writes() -> None:
    compiled = polytile.compile_scop(clipped())
    x, hits = np.linspace(0, 1, 41), np.zeros(41, np.int32)
    expected = np.minimum(x, 0.5)
    over = (x > 0.5).astype(np.int32)
    compiled(n=41, x=x, hits=hits)
    assert np.array_equal(x, expected)
    assert np.array_equal(hits, over)


@pytest.mark.slow
@pytest.mark.parametrize("make", [stencil, product, clipped])
def test_against_the_sequential_order(make: Any) -> None:
    compiled = polytile.compile_scop(make(), strict=True)
    for size in (0, 1, 2, 33):
        values = {p.name: size for p in compiled.scop.parameters}
        assert compiled.validate(on="emulator", parameters=values, seed=size)


def test_the_text_alone_is_enough(tmp_path: Path) -> None:
    """The .cu and its header are written out, compiled, and the entry point is called through its C signature."""
    compiled = polytile.compile_scop(stencil())
    unit = tmp_path / "stencil_kernel.cu"
    unit.write_text(compiled.cuda)
    (tmp_path / "stencil_kernel.h").write_text(compiled.header)
    assert "int polytile_stencil(int T, int n, double *A, double *B);" in compiled.header
    library = EmulatorLibrary.open(compile_shared(unit, tmp_path / "stencil.so"))
    A, B = np.random.default_rng(2).random(40), np.zeros(40)
    expected = diffuse(A, 3)
    pointer = ctypes.POINTER(ctypes.c_double)
    status = library.function("polytile_stencil")(3, 40, A.ctypes.data_as(pointer), B.ctypes.data_as(pointer))
    assert status == 0
    assert np.allclose(A, expected)
    assert library.counts().launches == 6
    assert library.allocated_bytes() == 0


def test_a_schedule_of_the_other_compiler(tmp_path: Path) -> None:
    """It brings a mapped schedule; a wrong one is an error that it can catch."""
    first = polytile.compile_scop(stencil())
    again = polytile.compile_scop(stencil(), load_schedule=first.schedule)
    assert isl.Schedule(again.schedule).get_map().is_equal(isl.Schedule(first.schedule).get_map())
    backwards = first.schedule.replace("[(t)]", "[(-t)]")
    with pytest.raises(polytile.IllegalSchedule, match="in the other order"):
        polytile.compile_scop(stencil(), load_schedule=backwards)
