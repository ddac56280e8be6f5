"""Updates of one element in one loop body: which become one statement, and where that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from polytile.ir.expr import Assign
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.chains import accumulated
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.transform.reductions.combined_updates import combine_updates
from polytile.scheduling.transform.statement_fusion import fuse_locals

ARRAYS = "int n, double s[1], double q[1], double A[n], double B[n], double C[n], double D[n][n]"
# The statements afterwards, with what they are made of.
TOGETHER: Mapping[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "neighbours": ("s[0] += A[i]; s[0] -= B[i];", {"S1": ("S0", "S1")}),
    "three, one under a condition": (
        "s[0] += A[i]; if (A[i] > 0) s[0] += B[i]; s[0] += C[i];",
        {"S2": ("S0", "S1", "S2")},
    ),
    "another statement between": (
        "s[0] += A[i]; A[i] = 0; s[0] += B[i];",
        {"S0": ("S0", "S2"), "S1": ()},
    ),
    "what the second one reads is set between": (
        "s[0] += A[i]; B[i] = 0; s[0] += B[i];",
        {"S1": (), "S2": ("S0", "S2")},
    ),
    "two sums": (
        "s[0] += A[i]; q[0] += B[i]; s[0] += B[i]; q[0] += A[i];",
        {"S2": ("S0", "S2"), "S3": ("S1", "S3")},
    ),
    "two sums, one to the front": (
        "s[0] += A[i]; q[0] += B[i]; A[i] = 0; s[0] += C[i]; q[0] += A[i];",
        {"S0": ("S0", "S3"), "S2": (), "S4": ("S1", "S4")},
    ),
    "an inner loop": ("for (int j = 0; j < n; j++) { C[i] += D[i][j]; C[i] += D[j][i]; }", {"S1": ("S0", "S1")}),
}
APART = {
    "other elements": "A[i % 4] += B[i]; A[i % 3] += B[i];",
    "other operations": "s[0] += A[i]; s[0] *= B[i];",
    "one element for each iteration": "C[i] += A[i]; C[i] += B[i];",
    "a running sum that is read": "s[0] += A[i]; C[i] = s[0]; s[0] += B[i];",
    "a running sum that is read behind": "s[0] += A[i]; s[0] += B[i]; C[i] = s[0];",
    "terms that can move to neither": "s[0] += A[i]; A[i] = B[i]; s[0] += A[i];",
    "other iterations": "s[0] += A[i]; if (i > 2) s[0] += B[i];",
    "other loops": "s[0] += A[i]; for (int j = 0; j < n; j++) s[0] += D[i][j];",
    "a value that rounds to another type": "k[0] += p[i]; k[0] += A[i];",
}


def loop(body: str) -> str:
    return f"for (int i = 0; i < n; i++) {{ {body} }}"


@pytest.mark.parametrize("name", TOGETHER)
def test_updates_of_a_sum_are_one_statement(scop: Callable[..., Scop], name: str) -> None:
    body, expected = TOGETHER[name]
    before = scop(ARRAYS, loop(body))
    after = combine_updates(before)
    assert {s.name: s.parts for s in after.statements} == expected
    for statement in (s for s in after.statements if s.parts):
        assert statement.reduction is not None and len(accumulated(statement)) == len(statement.parts)
    assert changed_values(before, analyse(before), after, analyse(after)) == ()


@pytest.mark.parametrize("name", APART)
def test_other_updates_stay_apart(scop: Callable[..., Scop], name: str) -> None:
    before = scop(f"{ARRAYS}, int k[1], int p[n]", loop(APART[name]))
    assert combine_updates(before) is before


LOCAL = "double t = A[i]; s[0] += t; t += B[i]; s[0] += t;"


def test_a_local_may_be_part_of_a_sum_in_several_updates(scop: Callable[..., Scop]) -> None:
    before = scop(ARRAYS, loop(LOCAL))
    assert fuse_locals(before) is before
    after = fuse_locals(before, sums=True)
    (only,) = after.statements
    assert only.parts == ("S0", "S1", "S2", "S3") and len(accumulated(only)) == 2
    assert sum(isinstance(n, Assign) for s in only.body for n in walk(s)) == 4
    assert changed_values(before, analyse(before), after, analyse(after)) == ()


def test_a_local_stays_where_its_updates_are_no_sum(scop: Callable[..., Scop]) -> None:
    before = scop(ARRAYS, loop(f"C[i] = s[0]; {LOCAL}"))
    assert fuse_locals(before, sums=True) is before
