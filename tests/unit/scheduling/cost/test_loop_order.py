"""Which loop goes innermost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.reference_groups import Step
from polytile.scheduling.cost import coalescing, derivatives, is_coalesced, priority

MATRICES = "int n, double A[n][n], double B[n][n], double C[n][n], double x[n], double y[n], double T[n][n][n]"


def loops(*names: str) -> str:
    return "".join(f"for (int {v} = 0; {v} < n; {v}++) " for v in names)


# The statement's iterators in source order, the statement, the order by priority.
ORDERS = {
    "matrix product": ("ijk", "C[i][j] += A[i][k] * B[k][j];", "ikj"),
    "product with a transposed matrix": ("ijk", "C[i][j] += A[i][k] * B[j][k];", "ijk"),
    "matrix times vector": ("ij", "y[i] += A[i][j] * x[j];", "ij"),
    "transposed matrix times vector": ("ij", "y[j] += A[i][j] * x[i];", "ij"),
    "columns": ("ij", "y[i] += A[j][i] * x[j];", "ji"),
}


@pytest.mark.parametrize("case", ORDERS)
def test_priority(scop: Callable[..., Scop], case: str) -> None:
    iterators, text, expected = ORDERS[case]
    program = scop(MATRICES, loops(*iterators) + text)
    found = "".join(iterators[i] for i in priority(program, program.statements[0].name))
    assert found == expected


def test_the_loop_of_doitgen_that_goes_along_x(scop: Callable[..., Scop]) -> None:
    """sum[r][q][p] += A[r][q][s]*C4[s][p]: p alone makes all accesses rows or one element."""
    program = scop(
        "int n, double S[n][n][n], double A[n][n][n], double C4[n][n]",
        loops(*"rqps") + "S[r][q][p] += A[r][q][s] * C4[s][p];",
    )
    name = program.statements[0].name
    assert priority(program, name)[-1] == 2
    assert [is_coalesced(program, name, i) for i in range(4)] == [False, False, True, False]
    costs = [coalescing(program, name, i) for i in range(4)]
    assert min(costs) == costs[2]


def test_equal_loops_keep_their_order(scop: Callable[..., Scop]) -> None:
    program = scop(MATRICES, loops(*"ij") + "A[i][j] = A[j][i];")
    name = program.statements[0].name
    first, second = derivatives(program, name)
    assert first == pytest.approx(second)
    assert priority(program, name) == (0, 1)


def test_statements_under_common_loops(scop: Callable[..., Scop]) -> None:
    """Each statement has its own iterators; the rows of a loop say which of them it runs through."""
    program = scop(MATRICES, loops(*"ij") + "A[i][j] = 1.0;" + loops(*"ij") + "B[j][i] = 2.0;")
    first, second = (s.name for s in program.statements)
    same = [[Step(first, 0), Step(second, 0)], [Step(first, 1), Step(second, 1)]]
    swapped = [[Step(first, 0), Step(second, 1)], [Step(first, 1), Step(second, 0)]]
    a, b = derivatives(program, [first, second], same)
    assert a == pytest.approx(b)
    a, b = derivatives(program, [first, second], swapped)
    assert b < a
    assert priority(program, [first, second], swapped) == (0, 1)


def test_a_statement_that_stands_still_in_a_loop(scop: Callable[..., Scop]) -> None:
    program = scop(MATRICES, loops("i") + "{ y[i] = 0.0; for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }")
    first, second = (s.name for s in program.statements)
    rows = [[Step(first, 0), Step(second, 0)], [Step(first, -1), Step(second, 1)]]
    assert priority(program, [first, second], rows) == (0, 1)



def test_vectors_do_not_outweigh_the_matrix_that_is_read_across(scop: Callable[..., Scop]) -> None:
    program = scop(MATRICES, loops(*"ij") + "y[i] = y[i] + A[i][j] + x[i] + C[0][i] + B[0][i];")
    name = program.statements[0].name
    assert coalescing(program, name, 1) == 8 + 5
    assert coalescing(program, name, 0) == 32 + 5 * 8
