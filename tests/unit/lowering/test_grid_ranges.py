"""The ends of grid dimensions, where convex supersets of their blocks take long to find."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.codegen.lowering import grid_ranges
from polytile.ir.isl_util import OverBudgetError

PARTS = " or ".join(f"(n mod {k} = 0 and {k} <= b < n + {k} and m >= {k}b)" for k in (2, 3, 5))
RANGES = isl.Map(f"[n, m] -> {{ [t] -> [b] : 0 <= t < 4 and n > 20 and ({PARTS}) }}")


def test_exact_ends_stay_where_the_hull_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = RANGES.dim_min(0), RANGES.dim_max(0)
    assert sum(end.n_piece() for end in exact) > grid_ranges.MOST_PIECES
    with monkeypatch.context() as patch:
        patch.setattr(grid_ranges, "HULL_OPERATIONS", 1)
        with pytest.raises(OverBudgetError):
            grid_ranges.hull_of(RANGES)
        found = grid_ranges.ends(RANGES)
        assert all(one.is_equal(other) for one, other in zip(found, exact, strict=True))
    assert RANGES.is_subset(grid_ranges.hull_of(RANGES))
