"""Node splitting: which inputs are copied so that loops can be distributed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.node_splitting import split_nodes

DATA = "int n, double a[n + 3], double b[n + 3], const double x[n + 3]"
CYCLES = {
    "no input is read": "for (int i = 0; i < n; i++) { a[i] = x[i]; b[i] = a[i] + b[i]; a[i + 1] = b[i]; }",
    "values go round": (
        "for (int i = 0; i < n; i++) { a[i] = b[i] * x[i]; b[i + 1] = a[i] - a[i + 1]; a[i + 1] = b[i]; }"
    ),
    "there is none": "for (int i = 0; i < n; i++) { a[i] = b[i] * x[i]; b[i] = x[i]; }",
}


def test_no_more_is_copied_than_breaks_the_cycle(scop: Callable[..., Scop]) -> None:
    body = "for (int i = 0; i < n; i++) { a[i] = b[i] * x[i]; b[i] = b[i] + x[i]; a[i + 1] = b[i] - a[i + 1]; }"
    made = scop(DATA, body)
    found = split_nodes(made, analyse(made))
    assert found is not None
    assert found.notes == ("b is copied to b_in first: overwriting it kept statements in order",)
    assert found.scop.prologue == ("S3",)


@pytest.mark.parametrize("name", CYCLES)
def test_nothing_is_copied_where_that_frees_no_loop(scop: Callable[..., Scop], name: str) -> None:
    made = scop(DATA, CYCLES[name])
    assert split_nodes(made, analyse(made)) is None
