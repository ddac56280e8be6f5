"""What tiles in shared memory are filled with."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.scheduling.promotion.shared_tiles import _with_memory

from ..conftest import read


@pytest.mark.parametrize(
    ("elements", "filled"),
    [
        ("0 <= e < 10", "[T] -> { [h, b] -> K[e] : 0 <= e < 10 and 0 <= h and 12h < T and 0 <= b }"),
        ("0 <= e < 10 and T > 0", "[T] -> { [h, b] -> K[e] : 0 <= e < 10 and T > 0 }"),
    ],
)
def test_only_what_has_memory_is_filled(elements: str, filled: str) -> None:
    """An array that no iteration uses has none; which blocks run then does not matter, but a proof asks."""
    loops = "for (int t = 0; t < T; t++) for (int i = 0; i < 10; i++) x[t] += K[i];"
    scop = read("int T, float x[T], float K[10]", loops)
    there = isl.Set("[T] -> { [h, b] : 0 <= h and 12h < T and 0 <= b and exists (e : b = 3e) }")
    found = _with_memory(isl.Map(f"[T] -> {{ [h, b] -> K[e] : {elements} }}"), there, scop)
    assert found.is_equal(isl.Map(filled))
