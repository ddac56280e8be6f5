"""Flow that stays in one iteration is that which access analysis finds in the SCoP as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polytile.ir.isl_util import OverBudgetError
from polytile.ir.scop import Scop
from polytile.scheduling.analysis import dependences
from polytile.scheduling.analysis.dependences import array_dependences, values_through
from polytile.scheduling.analysis.private_values import private_flow

ARGUMENTS = "int n, int m, double A[n][m], double B[n][m]"
PRIVATE = {
    "a sum": "for (int i = 0; i < n; i++)"
    " { t = 0; for (int j = 0; j < m; j++) if (2 * j > i) t += A[i][j]; B[i][0] = t; }",
    "downwards": "for (int i = n; i-- > 0; ) for (int j = 0; j < m; j++) { t = A[i][j]; t *= t; B[i][j] = t; }",
    "set under a condition, too": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
    " { t = 1; if (A[i][j] > 0) t = A[i][j]; B[i][j] = t; }",
    "a row": "for (int i = 0; i < n; i++) { double t[m]; for (int j = 0; j < m; j++) t[j] = A[i][j];"
    " for (int j = 0; j < m; j++) B[i][j] = t[m - 1 - j]; }",
}
SHARED = {
    "the value of the iteration before": "t = 0; for (int i = 0; i < n; i++) { B[i][0] = t; t = A[i][0]; }",
    "a value that may be of the one before": "for (int i = 0; i < n; i++) { if (i % 2) t = 1; B[i][0] = t; }",
    "set under a condition on data": "for (int i = 0; i < n; i++) { if (A[i][0] > 0) t = 1; B[i][0] = t; }",
    "in no loop": "t = A[0][0]; B[0][0] = t;",
}


@pytest.mark.parametrize("body", PRIVATE.values(), ids=PRIVATE)
def test_it_is_the_flow_of_the_whole(scop: Callable[..., Scop], body: str) -> None:
    made = scop(ARGUMENTS, body, "double t;" if "double t" not in body else "")
    flow, unset = values_through(made, "t")
    found = private_flow(made, "t")
    assert found is not None
    assert found.is_equal(flow)
    assert unset.is_empty()


@pytest.mark.parametrize("body", SHARED.values(), ids=SHARED)
def test_there_is_none_where_other_iterations_may_be_read(scop: Callable[..., Scop], body: str) -> None:
    assert private_flow(scop(ARGUMENTS, body, "double t;"), "t") is None


def test_it_stands_in_where_the_whole_takes_too_long(
    scop: Callable[..., Scop], monkeypatch: pytest.MonkeyPatch
) -> None:
    def over_budget(*_: object) -> None:
        raise OverBudgetError("too long")

    made = scop(ARGUMENTS, PRIVATE["a sum"], "double t;")
    exact = array_dependences(made, "t")
    monkeypatch.setattr(dependences, "_exact", over_budget)
    found = array_dependences(made, "t")
    assert found.exact
    assert found.flow.is_equal(exact.flow)
    assert found.uninitialised.is_empty()
    assert not exact.output.is_equal(found.output)  # each pair that conflicts is one
    assert exact.false.is_subset(found.false)
