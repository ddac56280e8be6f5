"""The steps that ranks take: all that compute anything, and none but those that kernels are made for, at any sizes."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polytile.ir.evaluate import evaluate
from tests.unit.distribution.programs import distribute, scop_of

SOURCE = """
void advect(int steps, int n, int k, int l, float a, float A[n], float B[n])
{
#pragma scop
    for (HEAD) {
        if (FIRST) for (int i = 1; i < n; i++) B[i] = A[i] - a * (A[i] - A[i - 1]);
        if (SECOND) for (int i = 1; i < n; i++) A[i] = B[i];
    }
#pragma endscop
}
"""
FROM_0, FROM_K = "int t = 0; t < steps; t++", "int t = k; t < steps && t < l; t += 2"


def holding(values: dict[str, int]) -> isl.Set:
    return isl.Set(f"[{', '.join(values)}] -> {{ : {' and '.join(f'{name} = {v}' for name, v in values.items())} }}")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("head", "first", "second"),
    [
        (FROM_0, "1", "1"),
        (FROM_K, "1", "1"),
        (FROM_0, "t % 2 == 0", "t % 2 == 0"),
        (FROM_0, "t % 3 != 1", "t % 3 != 1"),  # quotients of the number of steps, which may be 0
        (FROM_0, "t >= l && t <= k + 3", "t >= l && t <= k + 3"),  # several bounds on each side
        (FROM_K, "t >= l - 3", "t != 2"),
        (FROM_0, "t == k", "t == l"),  # the bounds of the loop are on neither side
    ],
)
def test_ranks_take_the_steps_that_their_kernels_are_made_for(head: str, first: str, second: str) -> None:
    scop = scop_of(SOURCE.replace("HEAD", head).replace("FIRST", first).replace("SECOND", second))
    plan = distribute(scop, 2)
    for given in product((-3, 0, 1, 5), (-2, 0, 3), (-6, 1, 4)):
        sizes = {"n": 6} | dict(zip(("steps", "k", "l"), given, strict=True))
        sizes = {p.name: sizes[p.name] for p in scop.parameters}
        taken = range(evaluate(plan.time.first, sizes), evaluate(plan.time.end, sizes))
        for statement in scop.statements:
            steps = statement.domain.intersect_params(holding(sizes)).project_out(isl.dim_type.set, 1, 1)
            assert steps.reset_tuple_id().is_subset(isl.Set(f"{{ [t] : {taken.start} <= t < {taken.stop} }}"))
        for step in taken:
            at = {**sizes, plan.step: step}
            assert not any(local.context.intersect(holding(at)).is_empty() for local in plan.local)
            several = holding({**at, plan.count: min(2, taken.stop - step)})
            assert plan.lead is not None and not plan.lead.context.intersect(several).is_empty()
