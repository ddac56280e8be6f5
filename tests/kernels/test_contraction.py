"""Contractions compute what NumPy does, for all layouts, domains and sizes, and what is planted in one is caught."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polytile.diagnostics import InternalError
from polytile.ir.expr import DOUBLE, FLOAT, Call, For, If, Literal
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import AsyncCopy, Leave, WaitCopies
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.verify.kernel import check_kernel
from polytile.runtime.emulator import compile_shared

from .common import build, build_checked, optimised, passed
from .contraction_cases import Case, Operands, domain, dtype, fma, real, small, tensor
from .contraction_parts import Contraction
from .fma_product import fma_contraction
from .tensor_product import tensor_contraction

ODD = [(1, 1, 1), (5, 5, 5), (33, 33, 33), (65, 65, 65), (70, 77, 49), (3, 130, 18), (97, 2, 100), (40, 20, 0)]
EVEN = [(4, 4, 4), (36, 68, 52), (64, 64, 64), (100, 32, 36)]
CASES = {
    "tensor": small(tensor),
    "fma": small(fma),
    "other tensor tiles": [
        tensor("k4", "tn", shape="m16n8k4"),
        tensor("three_warps", "nt", tile=(48, 32, 16), warp=(16, 32), stages=3),
        tensor("one_warp", "tt", tile=(16, 40, 48), warp=(16, 40), group=1, triangle="upper"),
    ],
    "other threads": [
        fma("in_double", "tn", element=DOUBLE, stages=3),
        fma("wide_lanes", "nt", tile=(64, 32, 8), warp=(64, 16), lanes=8, triangle="upper"),
        fma("many_threads", "tt", tile=(16, 128, 8), warp=(16, 32), stages=2),
    ],
}
VECTORS = [
    tensor("doubles_nn", "nn", tile=(32, 32, 32), stages=3, vectors=(2, 2, 2), triangle="lower"),
    tensor("doubles_tt", "tt", warp=(16, 32), vectors=(2, 2, 1), triangle="upper"),
    tensor("mixed", "tn", vectors=(1, 2, 2)),
    fma("floats_nn", "nn", stages=3, vectors=(1, 4, 4), triangle="upper"),
    fma("floats_tn", "tn", vectors=(4, 2, 2), triangle="lower"),
    fma("floats_tt", "tt", tile=(32, 64, 16), warp=(16, 32), vectors=(4, 1, 4)),
]
Change = Callable[[Any], Any]


# Results ------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_results_are_exact_for_integers(kind: str, emulator: None, tmp_path: Path) -> None:
    """Elements outside the domain, and what lies between rows, keep their values; NaNs between rows are not read."""
    built = build([case.program for case in CASES[kind]], tmp_path)
    for case in CASES[kind]:
        for size in ODD:
            operands = Operands.integers(case.spec, *size)
            result, _ = operands.run(built, case)
            np.testing.assert_array_equal(result, operands.expected(case.spec), f"{case.spec.name} of {size}")


@pytest.mark.slow
def test_vectors_where_rows_are_multiples_of_them(emulator: None, tmp_path: Path) -> None:
    built = build([case.program for case in VECTORS], tmp_path)
    for case in VECTORS:
        for size in EVEN:
            operands = Operands.integers(case.spec, *size, pad=4)
            result, _ = operands.run(built, case)
            np.testing.assert_array_equal(result, operands.expected(case.spec), f"{case.spec.name} of {size}")


SEQUENTIAL = """
#include <cmath>
#define PRODUCT(T) \\
    extern "C" int product_##T(int ni, int nj, int nk, const T *a, const T *b, T *c, T alpha, T beta) \\
    { \\
        for (int i = 0; i < ni; ++i) \\
            for (int j = 0; j < nj; ++j) { \\
                T sum = 0; \\
                for (int k = 0; k < nk; ++k) sum = std::fma(a[i * nk + k], b[k * nj + j], sum); \\
                c[i * nj + j] = std::fma(alpha, sum, beta == 0 ? 0 : beta * c[i * nj + j]); \\
            } \\
        return 0; \\
    }
PRODUCT(double)
PRODUCT(float)
"""
SCALARS = [(1.1, 0.7), (-2.5, 1.0), (0.0, 1.5), (1.3, 0.0)]


@pytest.mark.slow
@pytest.mark.parametrize("case", [tensor("doubles"), fma("floats")], ids=["tensor", "fma"])
def test_rounding_and_scaling(case: Case, emulator: None, tmp_path: Path) -> None:
    """One fused multiply-add after another, as in C; tensor cores may add in another order.

    Against NumPy in long double, the error of a sum of k terms of random rounding errors stays below about sqrt(k)
    times the unit roundoff times the sum of absolute values (Higham and Mary 2019). Where beta is 0, C is not read: it
    holds NaNs.
    """
    built = build([case.program], tmp_path)
    sequential = ctypes.CDLL(str(compile_shared(SEQUENTIAL, tmp_path / "sequential.so")))
    given = Operands.reals(case.spec, 70, 77, 300)
    sizes = Operands(abs(given.a), abs(given.b), abs(given.c))
    scale = dtype(case.spec)
    for alpha, beta in [(float(scale(alpha)), float(scale(beta))) for alpha, beta in SCALARS]:
        operands = given if beta else replace(given, c=np.full_like(given.c, np.nan))
        result, _ = operands.run(built, case, alpha, beta)
        same = operands.c.copy()
        values = (70, 77, 300, given.a, given.b, same, scale(alpha), scale(beta))
        sequential[f"product_{case.spec.element}"](*(passed(v) for v in values))
        np.testing.assert_array_equal(result[:, :77], same)
        most = sizes.expected(case.spec, abs(alpha), abs(beta)) * np.finfo(scale).eps / 2 * (300**0.5 + 2)
        assert np.all(abs(result - operands.expected(case.spec, alpha, beta))[:, :77] <= most[:, :77])


@pytest.mark.slow
def test_tiles_for_real_sizes(emulator: None, tmp_path: Path) -> None:
    cases = [case for case in real() if case.spec.name in ("tensor_nn", "tensor_96", "fma_nt", "fma_128")]
    built = build([case.program for case in cases], tmp_path)
    for case in cases:
        operands = Operands.integers(case.spec, 260, 132, 36, pad=4)
        result, _ = operands.run(built, case)
        np.testing.assert_array_equal(result, operands.expected(case.spec), case.spec.name)


@pytest.mark.slow
def test_passes_keep_what_is_computed(emulator: None, tmp_path: Path) -> None:
    def passed_on(case: Case) -> Case:
        return replace(case, build=lambda spec: optimised(case.build(spec), "index-width"))

    cases = [passed_on(c) for c in (tensor("doubles", "tt", triangle="lower"), fma("floats", "nt", stages=3))]
    built = build([case.program for case in cases], tmp_path)
    for case in cases:
        for size in ODD:
            operands = Operands.integers(case.spec, *size)
            result, _ = operands.run(built, case)
            np.testing.assert_array_equal(result, operands.expected(case.spec), f"{case.spec.name} of {size}")


# Checks -------------------------------------------------------------------------------------------
CHECKED = [
    tensor("tensor_nn", "nn", stages=3),
    tensor("tensor_tt", "tt", shape="m16n8k4", triangle="upper"),
    tensor("tensor_vectors", "nt", warp=(16, 16), vectors=(2, 2, 2), triangle="lower"),
    fma("fma_nt", "nt", stages=3, triangle="lower"),
    fma("fma_vectors", "tn", vectors=(4, 4, 4)),
]


@pytest.mark.slow
def test_contractions_do_nothing_that_is_forbidden(emulator: None, tmp_path: Path) -> None:
    built = build_checked([case.program for case in CHECKED], tmp_path)
    for case in CHECKED:
        vectors = max(case.spec.vectors) > 1
        for size in EVEN[:3] if vectors else ODD[:6:2]:
            operands = Operands.integers(case.spec, *size, pad=4 * vectors)
            result, found = operands.run(built, case)
            assert found == (), f"{case.spec.name} of {size}"
            np.testing.assert_array_equal(result, operands.expected(case.spec), f"{case.spec.name} of {size}")


# What is planted ----------------------------------------------------------------------------------
def changed(kernel: Kernel, change: Change, *, loop: bool = False) -> Kernel:
    """The kernel with every node changed, or every node of its loop over k."""

    def in_loop(stmt: Any) -> Any:
        return rewrite(stmt, change) if isinstance(stmt, For) and stmt.iterator == "k" else stmt

    new = replace(kernel, body=tuple(in_loop(s) if loop else rewrite(s, change) for s in kernel.body))
    assert new != kernel
    return new


def dropping(kind: type) -> Change:
    return lambda node: Comment("dropped") if isinstance(node, kind) else node


def waiting_for_one_less(node: Any) -> Any:
    return replace(node, pending=node.pending + 1) if isinstance(node, WaitCopies) else node


def unguarded_copies(node: Any) -> Any:
    return replace(node, guard=None) if isinstance(node, AsyncCopy) else node


def unclamped(node: Any) -> Any:
    """min(row, last) -> row."""
    copies = isinstance(node, Call) and node.function == "min" and not isinstance(node.arguments[0], Literal)
    return node.arguments[0] if copies else node


def every_row(node: Any) -> Any:
    """if (row + 8 r < ni) -> always."""
    rows = isinstance(node, If) and any(isinstance(s, For) for s in node.then)
    return replace(node, condition=Literal("1")) if rows else node


def planted(case: Case, change: Change, *, loop: bool = False) -> Case:
    return replace(case, build=lambda spec: changed(case.build(spec), change, loop=loop))


PLANTED = {
    "no barrier": (dropping(Barrier), True, "race"),
    "a wait for too few copies": (waiting_for_one_less, True, "race"),
    "copies beyond the end of k": (unguarded_copies, False, "address"),
    "copies beyond the last row": (unclamped, False, "address"),
    "stores beyond the last row": (every_row, False, "address"),
}


@pytest.mark.slow
@pytest.mark.parametrize("flaw", PLANTED)
def test_what_is_planted_is_found(flaw: str, emulator: None, tmp_path: Path) -> None:
    change, loop, check = PLANTED[flaw]
    cases = [planted(c, change, loop=loop) for c in (tensor("doubles", stages=3), fma("floats", "tn"))]
    built = build_checked([case.program for case in cases], tmp_path)
    for case in cases:
        _, found = Operands.integers(case.spec, 70, 77, 121, pad=0).run(built, case)
        assert check in {finding.check for finding in found}, f"{case.spec.name}: {found}"


def test_a_wrong_side_of_the_diagonal_shows_in_the_result(emulator: None, tmp_path: Path) -> None:
    right, wrong = tensor("right", triangle="lower"), tensor("right", triangle="upper")
    built = build([right.program], tmp_path)
    operands = Operands.integers(right.spec, 40, 40, 8)
    result, _ = operands.run(built, right)
    assert not np.array_equal(result, operands.expected(wrong.spec))
    assert np.array_equal(result[:, :40][~domain(right.spec, (40, 40))], operands.c[~domain(right.spec, (40, 40))])


def test_a_dropped_wait_is_refused() -> None:
    for case in (tensor("doubles"), fma("floats")):
        with pytest.raises(InternalError, match="a barrier follows a copy without a wait"):
            check_kernel(changed(case.kernel, dropping(WaitCopies), loop=True))


@pytest.mark.parametrize(
    ("fields", "build"),
    [
        ({"tile": (32, 32, 8), "warp": (32, 16)}, tensor_contraction),  # one step along k: none for the copies
        ({"tile": (32, 36, 16), "warp": (32, 12)}, tensor_contraction),
        ({"tile": (32, 32, 16), "warp": (32, 16), "element": FLOAT}, tensor_contraction),
        ({"tile": (32, 32, 16), "warp": (16, 16), "element": FLOAT}, fma_contraction),
        ({"tile": (32, 32, 16), "warp": (16, 32), "vectors": (2, 1, 1)}, fma_contraction),  # it is transposed
        ({"tile": (32, 32, 15), "warp": (16, 32), "element": FLOAT}, fma_contraction),
        ({"tile": (40, 32, 16), "warp": (32, 16)}, tensor_contraction),
        ({"tile": (32, 32, 16), "warp": (32, 16), "stages": 2}, tensor_contraction),
    ],
)
def test_tiles_that_do_not_fit(fields: dict[str, Any], build: Callable[[Contraction], Kernel]) -> None:
    with pytest.raises(InternalError):
        build(Contraction("misfit", **{"element": DOUBLE, **fields}))


def test_blocks_outside_the_domain_leave_at_once() -> None:
    leaves = {
        side: [n for s in tensor("case", triangle=side).kernel.body for n in walk(s) if isinstance(n, Leave)]
        for side in ("", "lower", "upper")
    }
    assert [len(found) for found in leaves.values()] == [0, 1, 1]
