"""Sizes to count with where nobody knows any."""

from __future__ import annotations

import pytest

from polytile.frontend.program import read_program
from polytile.scheduling.cost.assumed_sizes import assumed_sizes

ELEMENTS = 1 << 27
FORMS = {
    "double A[n][m]": {},
    "double A[2][n][m]": {},  # two planes are no dimension of their own
    "double A[n][m][l]": {"n": 511, "m": 511, "l": 511},
    "double A[2][n][m][l]": {"n": 406, "m": 406, "l": 406},
    "double A[n][m][l], double B[n][m][l][l]": {"n": 107, "m": 107, "l": 107},  # the one of most dimensions
    "double A[n + 1][2 * m][l]": {"n": 511, "m": 511, "l": 511},
    "double A[n][n][n]": {"n": 511},
}


@pytest.mark.parametrize("declared", FORMS)
def test_arrays_fit_into_memory(declared: str) -> None:
    assert _assumed(declared) == FORMS[declared]


def test_planes_are_asked_for_as_well() -> None:
    assert _assumed("double A[n][m]", least_rank=2) == {"n": 11585, "m": 11585}
    assert _assumed("double A[2][n][m]", least_rank=2) == {"n": 8192, "m": 8192}
    assert _assumed("double A[n]", least_rank=2) == {}


def _assumed(declared: str, **ranks: int) -> dict[str, int]:
    subscripts = {one.split()[1].split("[")[0]: one.count("[") for one in declared.split(", ")}
    stores = " ".join(f"{name}{'[0]' * rank} = i;" for name, rank in subscripts.items())
    text = f"void f(int n, int m, int l, {declared}) {{ for (int i = 0; i < n + m + l; i++) {{ {stores} }} }}"
    (found,) = read_program("a.c", text, autodetect=True).scops
    return dict(assumed_sizes(found, ELEMENTS, **ranks))
