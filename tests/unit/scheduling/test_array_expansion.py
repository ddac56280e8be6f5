"""Expansion: what gets new dimensions, what must not, and that the result is the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from polytile import Array, scop_from_isl
from polytile.ir.scop import Origin, Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.array_expansion import expand

TWO = "int n, int m, double A[n][m], double B[n][m]"
ONE = "int n, double A[n], double B[n]"
# The shape of doitgen: a row is computed into `sum`, then copied back; `sum` is visible afterwards.
ROWS = (
    "int n, int m, double A[n][m], double C[m][m], double sum[m]",
    """for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            sum[j] = 0;
            for (int k = 0; k < m; k++)
                sum[j] += A[i][k] * C[k][j];
        }
        for (int j = 0; j < m; j++)
            A[i][j] = sum[j];
    }""",
)


def expanded(scop: Scop) -> tuple[Scop, tuple[str, ...]]:
    return expand(scop, analyse(scop))


def test_a_scalar_gets_a_dimension_for_each_loop_that_its_reuse_serialises(scop: Callable[..., Scop]) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { t = A[i][j]; B[i][j] = t * t; }"
    after, notes = expanded(scop(TWO, body, "double t;"))
    assert notes == ("t is expanded over i, j: its reuse alone kept the loop serial",)
    assert after.array("t").rank == 2
    assert after.array("t").origin is Origin.TEMPORARY
    read = next(a for a in after.statement("S1").accesses if a.array == "t")
    assert read.relation.intersect_domain(after.statement("S1").domain).is_equal(
        isl.Map("[n, m] -> { S1[i, j] -> t[i, j] : 0 <= i < n and 0 <= j < m }")
    )


def test_only_loops_that_become_parallel_are_expanded(scop: Callable[..., Scop]) -> None:
    """The recurrence through B keeps j serial whatever happens to t."""
    body = "for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) { t = A[i][j]; B[i][j] = B[i][j - 1] * t; }"
    after, notes = expanded(scop(TWO, body, "double t;"))
    assert notes == ("t is expanded over i: its reuse alone kept the loop serial",)
    assert after.array("t").rank == 1


def test_flow_is_kept_and_only_false_dependences_go(scop: Callable[..., Scop]) -> None:
    before = scop(*ROWS)
    after, _ = expanded(before)
    rest = after.domain.subtract(isl.UnionSet.from_set(after.statement(after.epilogue[0]).domain))
    flow = analyse(after).flow.intersect_range(rest)
    assert flow.is_equal(analyse(before).flow)
    assert analyse(after).of("sum_x").false.is_subset(analyse(before).of("sum").false)


def test_a_visible_array_gets_its_last_values_from_a_copy(scop: Callable[..., Scop]) -> None:
    after, _ = expanded(scop(*ROWS))
    assert after.array("sum_x").rank == 2
    assert after.array("sum").origin is Origin.EXTERNAL
    (copy,) = after.epilogue
    accesses = {a.array: a.relation for a in after.statement(copy).accesses}
    read = accesses["sum_x"].intersect_domain(after.statement(copy).domain)
    assert read.is_equal(isl.Map(f"[n, m] -> {{ {copy}[j] -> sum_x[n - 1, j] : n > 0 and 0 <= j < m }}"))


def test_the_copy_finds_the_last_writer_of_each_element(scop: Callable[..., Scop]) -> None:
    """Element j is written in the iterations i >= j only, the last of them being n - 1 or, downwards, j."""
    body = """for (int i = n - 1; i >= 0; i--) {
        for (int j = 0; j <= i; j++) s[j] = A[i];
        for (int j = 0; j <= i; j++) B[i] += s[j];
    }"""
    after, _ = expanded(scop("int n, double A[n], double B[n], double s[n]", body))
    (copy,) = after.epilogue
    read = next(a.relation for a in after.statement(copy).accesses if a.array == "s_x")
    domain = after.statement(copy).domain
    assert read.intersect_domain(domain).is_equal(isl.Map(f"[n] -> {{ {copy}[j] -> s_x[j, j] : 0 <= j < n }}"))


KEPT = {
    "values flow across iterations": "for (int i = 0; i < n; i++) { B[i] = t; t = A[i]; }",
    "a may-write may leave it unwritten": "for (int i = 0; i < n; i++) { if (A[i] > 0) t = A[i]; B[i] = t; }",
    "the first value comes from before": "for (int i = 0; i < n; i++) { if (i > 0) t = A[i]; B[i] = t; }",
    "a value is used behind the loop": "for (int i = 0; i < n; i++) if (i % 2) { t = A[i]; B[i] = t; } B[0] += t;",
    "nothing is reused": "for (int i = 0; i < n; i++) B[i] = A[i];",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT.keys())
def test_what_stays_as_it_is(scop: Callable[..., Scop], body: str) -> None:
    before = scop(ONE, body, "double t = 1;")
    after, notes = expanded(before)
    assert after is before
    assert notes == ()


def test_a_bound_that_may_be_negative_shifts_the_new_dimension(scop: Callable[..., Scop]) -> None:
    """As in another compiler's domain: those of C count from 0 then."""
    source = scop_from_isl(
        "f",
        domain="[n, m] -> { S0[i] : -m <= i < n; S1[i] : -m <= i < n }",
        schedule="[n, m] -> { S0[i] -> [i, 0]; S1[i] -> [i, 1] }",
        reads="[n, m] -> { S0[i] -> A[i + m]; S1[i] -> t[] }",
        writes="[n, m] -> { S0[i] -> t[]; S1[i] -> B[i + m] }",
        bodies={"S0": "t = A[i + m];", "S1": "B[i + m] = t * t;"},
        arrays=[Array("A", "double", ("n + m",)), Array("B", "double", ("n + m",)), Array("t", "double", ())],
    )
    after, _ = expanded(source)
    read = next(a.relation for a in after.statement("S1").accesses if a.array == "t_x")
    assert read.intersect_domain(after.statement("S1").domain).is_equal(
        isl.Map("[n, m] -> { S1[i] -> t_x[m + i] : -m <= i < n }").intersect_params(after.context)
    )


def test_a_bound_that_is_no_sum_is_left_alone(scop: Callable[..., Scop]) -> None:
    body = "for (int i = m < k ? m : k; i < n; i++) { double t = A[i - m]; B[i - m] = t * t; }"
    _, notes = expanded(scop("int n, int m, int k, double *A, double *B", body))
    assert notes == ()


def test_a_constant_negative_bound_shifts_the_new_dimension(scop: Callable[..., Scop]) -> None:
    body = "for (int i = -3; i < n; i++) { double t = A[i + 3]; B[i + 3] = t * t; }"
    after, _ = expanded(scop("int n, double A[n + 3], double B[n + 3]", body))
    read = next(a.relation for a in after.statement("S1").accesses if a.array == "t")
    assert read.intersect_domain(after.statement("S1").domain).is_equal(
        isl.Map("[n] -> { S1[i] -> t[i + 3] : -3 <= i < n }")
    )


@pytest.mark.slow(but="7")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_the_visible_array_is_right_afterwards(compiled: Callable[..., Any], size: int) -> None:
    found = compiled(*ROWS, strict=True)
    found.validate(on="emulator", parameters={"n": size, "m": 3}, seed=1)


def test_an_array_whose_last_values_are_scattered_is_left_alone(scop: Callable[..., Scop]) -> None:
    body = """for (int t = 0; t < 4; t++)
        for (int i = 0; i < m; i++) {
            C[2 * i][i % 3][i / 2] = A[i];
            C[i][n - i + m][i] = 1.5;
            C[m - i][i % 5][i / 3] = 2.5;
        }"""
    _, notes = expanded(scop("int n, int m, double A[m], double C[2 * m + 1][n + m + 3][m + 1]", body))
    assert notes == ()


FACTOR = (
    "int n, double A[n][n]",
    """for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            w = A[i][j];
            for (int k = 0; k < j; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }""",
    "double w;",
)


def test_an_expansion_over_serial_loops_covers_loops_that_stay_serial(scop: Callable[..., Scop]) -> None:
    before = scop(*FACTOR)
    assert expanded(before)[0].array("w").rank == 1
    after, notes = expand(before, analyse(before), serial_loops=True)
    assert notes == ("w is expanded over i, j: its reuse kept the loops in order",)
    assert after.array("w").rank == 2
    assert analyse(after).of("w").false.is_subset(analyse(after).of("w").flow)
    assert analyse(after).flow.is_equal(analyse(before).flow)


def test_an_expansion_over_serial_loops_is_no_larger_than_the_data(scop: Callable[..., Scop]) -> None:
    body = "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) { t = A[j]; A[j] = t * A[j - 1]; }"
    before = scop(ONE, body, "double t;")
    assert expand(before, analyse(before), serial_loops=True) == expanded(before)


def test_an_expansion_over_serial_loops_of_what_the_user_sees_is_none(scop: Callable[..., Scop]) -> None:
    before = scop(f"{FACTOR[0]}, double w[1]", FACTOR[1].replace("w ", "w[0] "))
    assert expand(before, analyse(before), serial_loops=True) == expanded(before)
