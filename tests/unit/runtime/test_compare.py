"""Distances of elements and magnitudes of arrays, with infinite values, NaNs and zeros of either sign."""

from __future__ import annotations

import numpy as np
import pytest

from polytile.runtime.compare import compare, differences, magnitude

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("kind", ["f4", "f8", "g"])
def test_distances_are_zero_where_elements_are_equal_and_infinite_where_one_is_not_finite(kind: str) -> None:
    expected = np.array([1, -2, 0.0, INF, NAN, INF, 1, NAN, -INF, 0.5], kind)
    actual = np.array([1, 2, -0.0, INF, NAN, 1, INF, 1, INF, 0.25], kind)
    assert list(differences(expected, actual)) == [0, 4, 0, 0, 0, INF, INF, INF, INF, 0.25]


def test_distances_are_found_in_the_wider_type() -> None:
    expected = np.array([1.0, 2.0])
    actual = np.array([1.0, 2.0], "g") + np.array([np.finfo("g").eps, 0], "g")
    assert list(differences(expected, actual)) == [np.finfo("g").eps, 0]
    whole = np.array([2**53 + 1, 7], "i8")
    assert list(differences(whole, np.array([2**53, 3], "i8"))) == [0, 4]  # the integers themselves must be equal


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], 0), ([-0.0], 0), ([1, -3], 3), ([-5, 2], 5), ([1, NAN, -2, INF], 2), ([NAN, -INF], 0)],
)
def test_the_magnitude_is_the_largest_finite_one(values: list[float], expected: float) -> None:
    found = magnitude(np.array(values))
    assert (found, str(found)) == (expected, str(float(expected)))


def test_zeros_of_other_signs_differ_in_bits_alone() -> None:
    zero, other = np.zeros((2, 2)), np.array([[0.0, 0.0], [-0.0, 0.0]])
    exact = compare("A", zero, other, tolerance=0.0)
    assert exact.mismatch is not None
    assert (exact.mismatch.element, exact.mismatch.count, exact.error) == ("A[1][0]", 1, 0.0)
    assert compare("A", zero, other, tolerance=1e-9).mismatch is None
