"""Which points are few: those with more equations than the ones before."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.frontend.domain_exclusions import is_thin

SQUARE = "{ S[i, j] : 0 <= i <= 1 and 0 < j <= 2 }"


@pytest.mark.parametrize(
    ("points", "thin"),
    [
        ("{ S[i, j] : i = j and 0 <= i <= 1 and 0 < j <= 2 }", True),
        ("{ S[i, j] : i <= j and 0 <= i <= 1 and 0 < j <= 2 }", False),
        ("{ S[i, j] : (i + j) mod 2 = 0 and 0 <= i <= 1 and 0 < j <= 2 }", True),  # j = 2 - i, without a division
        ("{ S[i, j] : (i + j) mod 2 = 0 and 0 <= i <= 9 and 0 < j <= 9 }", False),
    ],
)
def test_lines_are_thin(points: str, thin: bool) -> None:
    assert is_thin(isl.Set(points), isl.Set(SQUARE)) is thin
