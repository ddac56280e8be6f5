"""Layouts of arrays: what C says of their extents is not asked of isl."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from polytile.ir.scop import Scop
from polytile.runtime import layout

SOURCE = """
void f(int n, int m, double A[n][m], double *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] += b[i + j];
#pragma endscop
}
"""


def test_stated_extents_are_evaluated_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    scop = polytile.compile(SOURCE)["f"].scop
    asked: list[str] = []
    index_range = layout.index_range

    def noted(scop: Scop, name: str, values: Mapping[str, int]) -> tuple[int, int]:
        asked.append(name)
        return index_range(scop, name, values)

    monkeypatch.setattr(layout, "index_range", noted)
    for n, m in ((3, 4), (0, 4), (5, 0), (1000, 1)):
        found = layout.layouts(scop, {"n": n, "m": m})
        assert found["A"].shape == (n, m)
        assert found["b"].shape == ((n + m - 1,) if n and m else (0,))
    assert set(asked) == {"b"}
