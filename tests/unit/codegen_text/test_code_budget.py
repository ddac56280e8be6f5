"""Finding the loops of a schedule is bounded: a simpler strategy's are found instead, or the SCoP stays on the host."""

from __future__ import annotations

import pytest

import polytile
from polytile import pipeline
from polytile.diagnostics import UserError

SUM = """
void f(int n, int m, double A[n][m], double x[n], double y[m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            x[i] += A[i][j];
            y[j] += A[i][j];
        }
#pragma endscop
}
"""


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Operations for each call of code generation, in their order; then 1."""
    given: list[int] = []
    plain = pipeline.budget
    monkeypatch.setattr(pipeline, "budget", lambda _: plain(given.pop(0) if given else 1))
    return given


@pytest.mark.slow
def test_a_simpler_strategy(most: list[int]) -> None:
    most += [1, 0]  # none is no bound
    (scop,) = polytile.compile(SUM, schedule="superposed").scops
    said = " ".join(remark.message for remark in scop.remarks)
    assert "the superposed schedule is not used, as finding the loops of the superposed schedule takes too long" in said
    assert scop.program is not None and not scop.scop.privatised


@pytest.mark.slow
def test_none_is_left(most: list[int]) -> None:
    (scop,) = polytile.compile(SUM, schedule="superposed").scops
    assert scop.program is None
    assert "f_scop0 stays on the host: finding the loops of the classic" in scop.remarks[-1].message


def test_a_given_schedule(most: list[int]) -> None:
    most += [0]
    text = polytile.compile(SUM, schedule="classic").schedules
    with pytest.raises(UserError, match="finding the loops of the loaded schedule takes too long"):
        polytile.compile(SUM, load_schedule=text)
