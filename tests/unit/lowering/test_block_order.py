"""Kernels that run through their arrays in opposite directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import polytile
from polytile.codegen.passes.block_order import alternate
from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.ir.arith import sub
from polytile.ir.expr import Binary
from polytile.ir.gpu_ops import BlockIndex, GridExtent, ThreadIndex
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from tests.reading import shared

STEPS = """
void f(int t, int n, double A[n][n], double B[n][n])
{
#pragma scop
    for (int s = 0; s < t; s++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = B[i - 1][j] + B[i + 1][j] + B[i][j - 1] + B[i][j + 1];
    }
#pragma endscop
}
"""
# The second kernel goes through A and v, the third through v alone, the last one through both.
VECTOR = """
void f(int n, double A[n][n], double B[n][n], double v[n], double w[n])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            B[i][j] = A[i - 1][j];
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            A[i][j] = B[i - 1][j] * v[i];
    for (int i = 1; i < n; i++)
        w[i] = v[i - 1];
    for (int i = 1; i < n; i++)
        v[i] = w[i - 1];
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            B[i][j] = A[i - 1][j] * v[i - 1];
#pragma endscop
}
"""


@shared
def program(text: str, **settings: Any) -> HostProgram:
    (scop,) = polytile.compile(text, **{"schedule": "classic", **settings}).scops
    assert scop.program is not None
    return scop.program


def is_backwards(kernel: Kernel) -> bool:
    """Whether all its block indices, and there are some, count down."""
    names = [n for n in kernel.nodes if isinstance(n, BlockIndex)]
    down = [n.right for n in kernel.nodes if isinstance(n, Binary) and isinstance(n.left, Binary) and n.right in names]
    sources = [c.source for c in kernel.coordinates if not isinstance(c.source, ThreadIndex)]
    turned = [s for s in sources if isinstance(s, Binary)]
    assert names or sources
    assert (len(down), len(turned)) in ((0, 0), (len(names), len(sources)))
    return bool(turned or down)


def test_kernels_of_the_same_arrays_alternate() -> None:
    first, second = program(STEPS).kernels
    assert [is_backwards(k) for k in (first, second)] == [False, True]
    (index,) = (c for c in second.coordinates if c.name == "bj")
    assert index.source == sub(sub(GridExtent("x"), 1), BlockIndex("x"))
    again = alternate(replace(program(STEPS), kernels=(first, first, first)))
    assert [is_backwards(k) for k in again.kernels] == [False, True, False]


def test_the_largest_arrays_decide() -> None:
    """The last kernel follows one that ran backwards through A, and one that ran forwards through v."""
    kernels = program(VECTOR).kernels
    used = [{p.buffer for p in k.parameters} & {"A", "v"} for k in kernels]
    assert used == [{"A"}, {"A", "v"}, {"v"}, {"v"}, {"A", "v"}]
    assert [is_backwards(k) for k in kernels] == [False, True, False, True, False]


def test_nothing_else_changes() -> None:
    kernel = program(STEPS).kernels[0]
    before, after = alternate(replace(program(STEPS), kernels=(kernel, kernel))).kernels
    assert before == kernel and after != kernel
    text = print_kernel(after).replace("gridDim.x - 1 - blockIdx.x", "blockIdx.x")
    assert text.replace("gridDim.y - 1 - blockIdx.y", "blockIdx.y") == print_kernel(before)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["classic", "superposed"])
@pytest.mark.parametrize("text", [STEPS, VECTOR], ids=["steps", "vector"])
def test_results_are_the_same(checking_compiler: None, schedule: str, text: str) -> None:
    (scop,) = polytile.compile(text, schedule=schedule).scops
    for n in (0, 1, 2, 3, 33, 70):
        parameters = {"t": 3, "n": n} if text is STEPS else {"n": n}
        scop.validate(on="emulator", parameters=parameters, sanitize=("address", "undefined", "race"))


def test_grids_beyond_their_limit_are_covered(emulator: None, compiled: Callable[..., Any]) -> None:
    """Blocks stride over what the y dimension of a grid does not hold, from its end as from its start."""
    body = (
        "for (int i = 0; i < n; i++) for (int j = 0; j < 2; j++) B[i][j] = A[i][j] + 1; "
        "for (int i = 1; i < n; i++) for (int j = 0; j < 2; j++) A[i][j] = B[i - 1][j] * 2;"
    )
    found = compiled("int n, int A[n][2], int B[n][2]", body, schedule="classic", block=(1, 2), tile=(1, 2))
    assert any(is_backwards(k) for k in found.program.kernels)
    found.validate(on="emulator", parameters={"n": 65_535 + 70})


def test_wide_indices(emulator: None) -> None:
    text = STEPS.replace("int n", "long n").replace("int i", "long i").replace("int j", "long j")
    (scop,) = polytile.compile(text, schedule="classic").scops
    assert scop.program is not None and is_backwards(scop.program.kernels[-1])
    scop.validate(on="emulator", parameters={"t": 2, "n": 40})
