"""Copies of inputs that break cycles of dependences let loops be distributed."""

from __future__ import annotations

import pytest

import polytile
from tests.bitwise import same_as_c
from tests.every_schedule import source

DATA = "double a[n + 3], double b[n + 3], float c[n + 3], const double x[n + 3], double A[m + 2][n + 3]"
PARALLEL = {
    "an input that is read first": (
        "for (int i = 0; i < n; i++) { a[i] = b[i] * x[i]; b[i] += x[i] + 1; a[i + 1] = b[i] - a[i + 1]; }"
    ),
    "two of them": (
        "for (int i = 0; i < n; i++) { a[i] = b[i] - c[i + 1]; b[i] = 2 * x[i]; c[i + 1] = b[i] + x[i];"
        " a[i + 2] = c[i + 1] * a[i + 2]; }"
    ),
    "downwards": (
        "for (int i = n; i > 0; i--) { a[i] = c[i] + x[i]; c[i] = x[i - 1]; a[i - 1] = c[i] * 3; }"
    ),
    "in the inner loop": (
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++)"
        " { a[i] = A[j][i] + a[i]; A[j][i] = x[i] + 1; a[i + 1] = A[j][i] - a[i + 1]; }"
    ),
}
IN_ORDER = "for (int i = 0; i < n; i++) { a[i] = b[i] * x[i]; b[i + 1] = a[i] - a[i + 1]; a[i + 1] = b[i + 1]; }"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PARALLEL)
def test_loops_are_distributed_behind_copies(name: str) -> None:
    scop = polytile.compile(source(DATA, PARALLEL[name]), name="f.c", strict=True, raise_bugs=True).scops[0]
    assert scop.program is not None
    same_as_c(scop, [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (45, 4), (1000, 2))])


@pytest.mark.quick
def test_cycles_of_values_stay_in_order() -> None:
    assert polytile.compile(source(DATA, IN_ORDER), name="f.c").scops[0].program is None
