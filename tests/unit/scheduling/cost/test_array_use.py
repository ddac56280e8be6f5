"""What a launch moves of each array."""

from __future__ import annotations

import pytest

import polytile
from polytile.scheduling.cost.array_use import ArrayUse, array_uses
from polytile.scheduling.cost.mapped_loops import kernels, statements
from polytile.scheduling.cost.statement_cost import Work
from tests.unit.scheduling.conftest import c_text

SIZE = 64


def uses(arguments: str, body: str, schedule: str = "classic", n: int = SIZE) -> dict[str, ArrayUse]:
    """Of the first kernel."""
    (scop,) = polytile.compile(c_text(arguments, body), schedule=schedule).scops
    state = scop.compilation
    assert state.schedule is not None
    mark = kernels(state.schedule.tree)[0]
    works = [Work(state.scop, one, {"n": n, "T": n}) for one in statements(mark)]
    return array_uses([work for work in works if not work.empty], ())


def test_what_was_written_first_is_not_read() -> None:
    body = """for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        C[i][j] = 0.0; for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j]; }"""
    found = uses("int n, double C[n][n], double A[n][n], double B[n][n]", body)
    whole = 8 * SIZE * SIZE
    assert (found["C"].read, found["C"].written) == (0, whole)
    assert found["A"] == found["B"] == ArrayUse(whole, whole, 0)


def test_updates_read_and_write() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) C[i][j] = 2.0 * C[i][j] + A[j][i];"
    found = uses("int n, double C[n][n], double A[n][n]", body)
    assert found["C"].read == found["C"].written == 8 * SIZE * SIZE


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_versions_of_an_array_are_read_and_written_once(n: int) -> None:
    body = """for (int t = 0; t < T; t++) for (int i = 1; i < n; i++)
        A[(t + 1) % 2][i] = 0.5 * (A[t % 2][i] + A[t % 2][i - 1]);"""
    found = uses("int T, int n, double A[2][n]", body, n=n)
    if n > 1:
        assert 8 * (n - 1) <= found["A"].written <= found["A"].read <= 8 * n + 64
    assert found.get("A", ArrayUse()).read <= 8 * n + 64


def test_tiles_of_time_read_what_they_have_written() -> None:
    body = """for (int t = 1; t < T; t++) for (int i = 1; i < n - 1; i++)
        A[t][i] = 0.5 * (A[t - 1][i - 1] + A[t - 1][i + 1]);"""
    found = uses("int T, int n, double A[T][n]", body, schedule="split", n=4096)
    assert found["A"].written > 0
    assert found["A"].read < found["A"].written / 4
