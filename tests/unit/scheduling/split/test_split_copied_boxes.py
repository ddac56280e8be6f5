"""What is copied to and from shared tiles that kernels update, and the barriers and guards around it."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.codegen.lowering.copy_barriers import without_second_barriers
from polytile.ir.arith import compare, lift
from polytile.ir.bounding_box import bounding_box
from polytile.ir.expr import INT, For, Name, Stmt
from polytile.ir.kernel import Barrier, Comment
from polytile.ir.plan import relation

JACOBI = """void f(int T, int N, double A[N][N], double B[N][N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                B[i][j] = 0.2 * (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[i][j] = 0.2 * (B[i - 1][j] + B[i][j - 1] + B[i][j] + B[i][j + 1] + B[i + 1][j]);
    }
#pragma endscop
}
"""
BEFORE, AFTER, STEP = Barrier("filled"), Barrier("complete"), Barrier("a step")


@pytest.mark.parametrize(
    ("used", "box"),
    [
        (
            "[n] -> { A[i, j] : 0 < i < n - 1 and 0 <= j < n; A[i, j] : 0 <= i < n and 0 < j < n - 1 }",
            "[n] -> { A[i, j] : n >= 3 and 0 <= i < n and 0 <= j < n }",
        ),
        ("{ A[i] : i = 2 or i = 5 }", "{ A[i] : 2 <= i <= 5 }"),
        ("{ A[i] : false }", "{ A[i] : false }"),
    ],
)
def test_the_box_around_elements(used: str, box: str) -> None:
    assert bounding_box(isl.Set(used)).is_equal(isl.Set(box))


def loop(*body: Stmt) -> For:
    return For("t", lift(0), compare("<", Name("t", INT), 9), 1, body, INT)


STEPS = loop(Comment("step"), STEP)


def test_a_barrier_behind_a_loop_that_ends_with_one_is_left_out() -> None:
    assert without_second_barriers((BEFORE, STEPS, AFTER)) == (BEFORE, STEPS)


@pytest.mark.parametrize(
    "body",
    [
        (STEPS, AFTER),  # no iteration, no barrier
        (BEFORE, loop(STEP, STEPS.body[0], loop()), AFTER),
        (BEFORE, loop(), AFTER),
    ],
)
def test_other_barriers_stay(body: tuple[Stmt, ...]) -> None:
    assert without_second_barriers(body) == body


@pytest.mark.slow
def test_copies_are_boxes_with_one_barrier_between_steps_and_drains() -> None:
    program = polytile.compile(JACOBI, schedule="split", time_tile=2, tile=(12, 12), block=(4, 16))
    (scop,) = program.scops
    placements = [p for plan in scop.compilation.kernel_plans for p in plan.placements]
    copies = [relation(copy.elements) for p in placements for copy in p.copies]
    assert len(copies) == 16
    for part in (part for elements in copies for part in elements.get_basic_maps()):
        assert part.dim(isl.dim_type.div) == 0
        conditions = part.get_constraints()
        out = isl.dim_type.out
        assert not any(c.involves_dims(out, 0, 1) and c.involves_dims(out, 1, 1) for c in conditions)
    kernels = scop.compilation.program
    assert kernels is not None
    reasons = [n.reason for k in kernels.kernels for n in k.nodes if isinstance(n, Barrier)]
    assert any("must be filled" in reason for reason in reasons)
    assert not any("must be complete before it is stored" in reason for reason in reasons)
