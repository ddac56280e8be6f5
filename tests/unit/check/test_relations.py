"""Relations are compared as sets, however isl has cut them into pieces."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.check.relations import equal

FLOW = "[n] -> { S[i] -> T[i] : 0 <= i < 4 or 9 <= i < n; S[i] -> U[i] : 0 <= i < n }"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (FLOW, True),
        ("[n] -> { S[i] -> U[i] : 0 <= i < n; S[i] -> T[i] : 9 <= i < n or 0 <= i < 4 }", True),
        ("[n] -> { S[i] -> T[i] : 0 <= i < n and not 4 <= i < 9; S[i] -> U[i] : 0 <= i < 2 or 2 <= i < n }", True),
        ("[n] -> { S[i] -> T[i] : 0 <= i < 4 or 9 <= i < n }", False),
        ("[n] -> { S[i] -> T[i] : 0 <= i < 4 or 8 <= i < n; S[i] -> U[i] : 0 <= i < n }", False),
        (f"{FLOW[:-1]}; U[i] -> U[i] : 0 <= i < n }}", False),
        ("[n] -> { S[i] -> V[i] : 0 <= i < 4 or 9 <= i < n; S[i] -> U[i] : 0 <= i < n }", False),
    ],
)
def test_equal(other: str, same: bool) -> None:
    context = isl.Set("[n] -> { : n >= 20 }")
    for one, two in ((FLOW, other), (other, FLOW)):
        assert equal(isl.UnionMap(one), isl.UnionMap(two), context) is same


def test_what_the_context_leaves_out_is_not_compared() -> None:
    one, other = (isl.UnionMap(f"[n] -> {{ S[i] -> T[i] : 0 <= i < {end} }}") for end in ("n", "20"))
    assert equal(one, other, isl.Set("[n] -> { : n = 20 }"))
    assert not equal(one, other, isl.Set("[n] -> { : n >= 20 }"))
