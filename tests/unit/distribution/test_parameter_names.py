"""Parameters that are called like coordinates of the analysis: p, t, x0, e1."""

from __future__ import annotations

import re

import islpy as isl
import pytest

from polytile.distribution.planner import distribute
from tests.unit.distribution.programs import scop_of

SOURCE = """
void f(int steps, int n, int m, int first, int second, double A[2][n][m], double src[steps])
{
#pragma scop
    for (int s = 0; s < steps; s++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[(s + 1) % 2][i][j] = A[s % 2][i - 1][j] + A[s % 2][i + 1][j] + A[s % 2][i][j - 1];
        A[(s + 1) % 2][first][second] += src[s];
    }
#pragma endscop
}
"""


def domains(names: tuple[str, str], steps: int) -> list[isl.Set]:
    """What ranks run of SOURCE with other names, of parameters P0, P1, .."""
    text = re.sub(r"first|second", lambda found: names[found[0] == "second"], SOURCE)
    plan, made = distribute(scop_of(text), steps), []
    for scop in (*plan.local, *([plan.lead] if plan.lead else [])):
        for statement in scop.statements:
            domain = statement.domain
            for k, parameter in enumerate(scop.parameters):
                at = domain.find_dim_by_name(isl.dim_type.param, parameter.name)
                domain = domain.set_dim_name(isl.dim_type.param, at, f"P{k}")
            made.append(domain)
    return made


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("names", [("p", "q"), ("q", "t"), ("x0", "x1"), ("e1", "e2")])
def test_plans_are_those_of_other_names(names: tuple[str, str], steps: int) -> None:
    """`p` was the position in the text of a set, to which each rank's loops shrank."""
    pairs = zip(domains(names, steps), domains(("first", "second"), steps), strict=True)
    assert all(one.is_equal(other) for one, other in pairs)
