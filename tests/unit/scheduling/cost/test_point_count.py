"""Counting points by quadrature, against counting them one by one."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.scheduling.cost.point_count import counts, filled, fix_parameters, range_of_box

# A set, the size n, and how far off the count may be.
SETS = [
    ("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }", 40, 0.0),
    ("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }", 3, 0.0),
    ("[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }", 40, 0.001),
    ("[n] -> { [i, j, k] : 0 <= i < n and 0 <= j <= i and j <= k < n }", 40, 0.001),
    ("[n] -> { [i, j, k, l] : 0 <= i < j < k < l < n }", 30, 0.05),
    ("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n and i <= j + 2 }", 40, 0.02),
    ("[n] -> { [b, j] : exists i : 8b <= i <= 8b + 7 and 0 <= i < n and 0 <= j < n }", 45, 0.0),
    ("[n] -> { [t, i, j] : 0 <= i < n and 0 <= j < n and t = i + j }", 40, 0.15),
    ("[n] -> { [i] : 0 <= i < n or 2n <= i < 3n }", 25, 0.0),
    ("[n] -> { [i, j] : 0 <= i < n and j = 2i }", 25, 0.0),
    ("[n] -> { [i, j] : 0 <= i < n and n <= j < i }", 25, 0.0),
]


@pytest.mark.parametrize(("text", "n", "error"), SETS)
def test_counts(text: str, n: int, error: float) -> None:
    points = isl.Set(text)
    rank = points.dim(isl.dim_type.set)
    fixed = points.fix_val(isl.dim_type.param, 0, isl.Val(n))
    exact = [
        fixed.project_out(isl.dim_type.set, level, rank - level).count_val().to_python() for level in range(rank + 1)
    ]
    found = counts(points, {"n": n})
    if exact[-1] == 0:
        assert found[-1] == 0
    else:
        assert found == pytest.approx(exact, rel=error + 1e-9)


@pytest.mark.parametrize(
    ("context", "known", "expected"),
    [
        ("[n] -> { : n >= 1 }", {}, {"n": 2000}),
        ("[n] -> { : n >= 1 }", {"n": 7}, {"n": 7}),
        ("[n] -> { : n >= 3000 }", {}, {"n": 3000}),
        ("[n, m] -> { : 5 <= n <= 100 and m = 2n }", {}, {"n": 100, "m": 200}),
        ("[n, m] -> { : n >= 1 and m > n }", {"n": 5000}, {"n": 5000, "m": 5001}),
    ],
)
def test_parameters_without_a_value(context: str, known: dict[str, int], expected: dict[str, int]) -> None:
    """They are large, within what the context allows."""
    assert fix_parameters(isl.Set(context), known) == expected


def test_divisions_that_cut_something_out() -> None:
    shrinking = isl.Set(
        "[N, T] -> { [t, x] : 0 <= t < T and 0 <= x < N and exists (b, k: 8b <= t < 8b + 8 and "
        "20k + t - 8b <= x <= 20k + 9 - t + 8b) }"
    )
    per_tile = 10 + 8 + 6 + 4 + 2  # of 8 steps and 20 places
    assert filled(shrinking, {"N": 2000, "T": 800}) == pytest.approx(per_tile / (8 * 20), rel=0.02)
    assert filled(isl.Set("[N] -> { [x] : 0 <= x < N and x mod 2 = 0 }"), {"N": 1000}) == pytest.approx(0.5)
    assert filled(isl.Set("{ [x] : 0 <= x < 10 }"), {}) == 1.0


def test_many_independent_loops_are_counted_level_by_level() -> None:
    """Also where one level depends on another: 40 levels of two values each are 2**40 points."""
    names = [f"i{k}" for k in range(40)]
    box = " and ".join(f"0 <= {name} < 2" for name in names)
    assert counts(isl.Set(f"{{ [{', '.join(names)}] : {box} }}"), {}) == tuple(2.0**level for level in range(41))
    skewed = isl.Set("{ [a, b, c, d] : 0 <= a < 3 and 0 <= b < 4 and a <= c < 5 and 0 <= d < 2 }")
    assert counts(skewed, {}) == (1.0, 3.0, 12.0, 48.0, 96.0)


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        ("[n] -> { [t, i, j] : 0 <= t < n and 1 <= i < n - 1 and j = n }", 7, (1, 7, 35, 35)),
        ("[n] -> { [t, i] : 0 <= t < n and n <= i < 5 }", 9, (0, 0, 0)),
        ("[n] -> { [t] : 0 <= t < 5 and n >= 10 }", 9, (0, 0)),
        ("[n] -> { [t] : 0 <= t < 5 and n >= 10 }", 10, (1, 5)),
    ],
)
def test_boxes_are_counted_for_all_sizes_alike(text: str, n: int, expected: tuple[int, ...]) -> None:
    points = isl.Set(text)
    halves = [points.upper_bound_val(isl.dim_type.set, 0, 1), points.lower_bound_val(isl.dim_type.set, 0, 2)]
    assert counts(points, {"n": n}) == pytest.approx(expected)
    assert counts(halves[0].union(halves[1]), {"n": n})[-1] == pytest.approx(expected[-1])


@pytest.mark.parametrize(
    ("text", "level", "expected"),
    [
        ("[n] -> { [t, i] : 0 <= t < n and 1 <= i < n - 1 }", 0, (0, 6)),
        ("[n] -> { [t, i] : 0 <= t < n and 1 <= i < n - 1 }", 1, (1, 5)),
        ("[n] -> { [t, i] : 0 <= t < n and 1 <= i < t }", 0, None),
        ("[n] -> { [t, i] : 0 <= t and 1 <= i < n }", 0, None),
        ("[n] -> { [t, i] : 0 <= t < n and n <= i < 5 }", 0, None),
    ],
)
def test_ranges_of_boxes(text: str, level: int, expected: tuple[int, int] | None) -> None:
    assert range_of_box(isl.Set(text), {"n": 7}, level) == expected
