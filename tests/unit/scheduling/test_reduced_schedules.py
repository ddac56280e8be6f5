"""Times with fewer dimensions have the flow of the whole times, location by location."""

from __future__ import annotations

import random

import islpy as isl
import pytest

from polytile.ir.isl_util import maps, union_of
from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.reduced_schedules import by_location

OUT = isl.dim_type.out
NONE = isl.UnionMap("{ }")
DOMAIN = isl.UnionSet("[n] -> { S0[i, j] : 0 <= i, j < n; S1[i, j, k] : 0 <= i, j, k < n }")
TILED = (
    isl.UnionMap(
        """{ S0[i, j] -> [floor(i/8), floor(j/8), 0, i mod 8, 0];
             S1[i, j, k] -> [floor(i/8), floor(j/8), 1, floor(k/4), k mod 4] }"""
    )
    .intersect_domain(DOMAIN)
    .detect_equalities()
)


def shorter(reads: isl.UnionMap, writes: isl.UnionMap, times: isl.UnionMap) -> list[tuple[int, isl.UnionMap]]:
    """The dimensions of the times and the flow of each space of locations."""
    found = []
    for (r, w, m, _), order in by_location([reads, writes, NONE, NONE], times):
        found.append((maps(order)[0].dim(OUT), flow(r, w, m, order).get_may_dependence()))
    return found


def same_flow(reads: isl.UnionMap, writes: isl.UnionMap, times: isl.UnionMap) -> list[int]:
    """The dimensions, of which the flow is held against that of the whole times."""
    found = shorter(reads, writes, times)
    whole = flow(reads, writes, NONE, times).get_may_dependence()
    assert union_of((pairs for _, pairs in found), whole.get_space()).is_equal(whole)
    return [rank for rank, _ in found]


def test_an_element_in_one_tile_needs_the_loop_over_its_updates_alone() -> None:
    users = isl.UnionMap("{ S0[i, j] -> C[i, j]; S1[i, j, k] -> C[i, j] }").intersect_domain(DOMAIN)
    assert same_flow(users, users, TILED) == [4]  # floor(i/8) follows from no affine condition
    tile = "8a <= i < 8a + 8 and 8b <= j < 8b + 8"
    cells = f"{{ S0[i, j] -> R[a, b, i - 8a, j - 8b] : {tile}; S1[i, j, k] -> R[a, b, i - 8a, j - 8b] : {tile} }}"
    users = isl.UnionMap(cells).intersect_domain(DOMAIN)
    assert same_flow(users, users, TILED) == [2]


def test_a_tile_that_several_elements_use_in_turns_keeps_the_loop_over_these() -> None:
    shared = isl.UnionMap("{ S0[i, j] -> C[i]; S1[i, j, k] -> C[i] }").intersect_domain(DOMAIN)
    (rank,) = same_flow(shared, shared, TILED)
    assert rank > 2


def test_numbers_that_repeat_are_not_joined() -> None:
    """[floor(k/4), k mod 8] is no order of k: the second runs through 8 values in groups of 4."""
    times = isl.UnionMap("{ S[k] -> [floor(k/4), 7 - (k mod 8)] : 0 <= k < 16 }")
    users = isl.UnionMap("{ S[k] -> x[] }")
    assert same_flow(users, users, times) == [2]


def test_spaces_of_locations_have_times_of_their_own() -> None:
    times = isl.UnionMap("{ S[i, j] -> [i, j]; T[i, j] -> [i, j] : }").intersect_domain(
        isl.UnionSet("{ S[i, j] : 0 <= i, j < 5; T[i, j] : 5 <= i, j < 9 }")
    )
    users = isl.UnionMap("{ S[i, j] -> A[i]; T[i, j] -> A[i]; S[i, j] -> B[j]; T[i, j] -> B[j] }")
    users = users.intersect_domain(times.domain())
    assert same_flow(users, users, times) == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_times_and_locations_have_the_flow_of_the_whole_times(seed: int) -> None:
    chosen, saved = random.Random(seed), 0
    terms = ("i", "j", "k", "floor(i/2)", "i mod 2", "floor(k/2)", "k mod 2", "i + j", "j - k", "floor(j/3)")
    places, bounds = ("i", "j", "k", "floor(i/2)", "i + k"), "0 <= i, j, k < 4"
    for _ in range(8):
        loops = chosen.sample(terms, 3)
        parts = {s: [*loops[:2], str(chosen.randint(0, 1)), loops[2], str(n), "i, j, k"] for n, s in enumerate("STU")}
        times = isl.UnionMap(
            "{ " + "; ".join(f"{s}[i, j, k] -> [{', '.join(time)}] : {bounds}" for s, time in parts.items()) + " }"
        ).detect_equalities()
        at = ", ".join(chosen.sample(places, 2))
        users = isl.UnionMap("{ " + "; ".join(f"{s}[i, j, k] -> {a}[{at}]" for s in "STU" for a in "AB") + " }")
        users = users.intersect_domain(times.domain())
        saved += sum(8 - own for own in same_flow(users.subtract_range(isl.UnionSet("{ B[2, a] }")), users, times))
    assert saved > 0
