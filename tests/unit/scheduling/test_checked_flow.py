"""Dependences where conditions have several remainders, for some of which isl's access analysis loses writers."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.ir.isl_util import OverBudgetError
from polytile.runtime.emulator.instrument import CHECKS
from polytile.scheduling.analysis.checked_flow import flow, require_all_sources

PROGRAM = """void f(int m, {real} A[m + 1], const {real} B[m + 1], {real} C[m + 1])
{{
#pragma scop
    {first}
    for (int i = 0; i < m; i++)
        for (int j = {start}; j < m; j++)
            if ({condition})
                A[j] = B[i] + j;
    for (int i = 0; i < m; i++)
        C[i] = A[i];
#pragma endscop
}}
"""
FROM_BEFORE = ("i", "", "j % 3 < 2 && i % 4 == 2 && i % 4 != 0 && m == 7 && i % 3 < 2")
FIRST = "for (int i = 0; i < m; i++) A[i] = B[i];"
FROM_AN_EARLIER_ONE = ("i", FIRST, "(i * 2) % 3 < 2 && m == 7 && j % 4 == 0 && i % 2 != 0 && j % 2 < 1")
SIZES = (0, 1, 7, 8, 40)


@pytest.mark.slow(but=2)
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize(("start", "first", "condition"), [FROM_BEFORE, FROM_AN_EARLIER_ONE])
@pytest.mark.parametrize("schedule", ["classic", "superposed"])
def test_no_writer_is_lost(real: str, start: str, first: str, condition: str, schedule: str) -> None:
    """The last loop read what was there before the second one, or what the first one wrote."""
    text = PROGRAM.format(real=real, start=start, first=first, condition=condition)
    (scop,) = polytile.compile(text, name="f.c", schedule=schedule, strict=True).scops
    for m in SIZES:
        assert scop.validate(on="emulator", parameters={"m": m}, sanitize=CHECKS)


READS = isl.UnionMap("[m, k] -> { T[x] -> A[x] : 0 <= x < m }")
TIMES = isl.UnionMap("{ S[i, j] -> [0, i, j]; T[x] -> [1, x, 0] }")
NOTHING = isl.UnionMap("{}")
BOTH = "0 <= i < m and 0 <= j < m and i mod 2 = 0 and 2 * floor((-i) / 2) <= -i and 3 * floor((-2 * i) / 3) < -2 * i"


@pytest.mark.parametrize(
    "where",
    [
        BOTH,
        f"{BOTH} and k <= m and k = 0",
        "i <= j < m and 0 <= i and k <= 1 and i mod 2 = 0 and j mod 4 = 0 and 3 * floor((-i) / 3) < -i",
        "i <= j < m and 0 <= i and j mod 2 = 0",
    ],
)
def test_a_flow_has_all_sources_or_is_refused(where: str) -> None:
    writes = isl.UnionMap(f"[m, k] -> {{ S[i, j] -> A[j] : {where} }}")
    try:
        found = flow(READS, writes, NOTHING, TIMES)
    except OverBudgetError:
        return
    assert found.get_may_dependence().range().is_equal(writes.apply_range(READS.reverse()).range())


TWO_REMAINDERS = "[m, k] -> { S[i, j] -> A[j] : 0 <= i < m and i <= j < m and i mod 2 = 0 and j mod 3 = 0 }"


@pytest.mark.parametrize("kill", [None, isl.UnionMap("[m, k] -> { K[] -> A[x] : x = 3 }")])
@pytest.mark.parametrize("may", [NOTHING, isl.UnionMap("[m, k] -> { P[] -> A[x] : x mod 2 = 0 and x mod 5 < 4 }")])
def test_what_a_kill_ends_is_not_lost(kill: isl.UnionMap | None, may: isl.UnionMap) -> None:
    times = isl.UnionMap("{ S[i, j] -> [0, i, j]; P[] -> [1, 0, 0]; K[] -> [2, 0, 0]; T[x] -> [3, x, 0] }")
    found = flow(READS, isl.UnionMap(TWO_REMAINDERS), may, times, kill)
    assert not found.get_must_dependence().is_empty()


@pytest.mark.parametrize("lost", ["S[i, j] : j = 6", "S[i, j] : i = j", "S[i, j]"])
@pytest.mark.parametrize("paired", [False, True])
def test_a_lost_source_is_found(lost: str, paired: bool) -> None:
    """What isl makes of some of the writes is compared with all of them; also for accesses as parts of instances."""
    writes, reads, times = isl.UnionMap(TWO_REMAINDERS), READS, TIMES
    some = writes.subtract(writes.intersect_domain(isl.UnionSet(f"{{ {lost} }}")))
    if paired:
        instance = writes.union(reads).domain_map()
        writes, some, reads = writes.range_map(), some.range_map(), reads.range_map()
        times = instance.apply_range(TIMES)
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(some).set_schedule_map(times)
    found = info.compute_flow()
    require_all_sources(found, reads, some, NOTHING, NOTHING, times)
    with pytest.raises(OverBudgetError, match="loses sources"):
        require_all_sources(found, reads, writes, NOTHING, NOTHING, times)


def test_a_source_that_is_hidden_is_found() -> None:
    """isl is told nothing of the second half of the writes, which hide the first ones."""
    writes = isl.UnionMap(TWO_REMAINDERS)
    late = isl.UnionMap("{ T[x] -> A[x]; S[i, j] -> A[j] }").intersect_domain(writes.domain())
    twice = isl.UnionMap("[m, k] -> { L[x] -> A[x] : 0 <= x < m }")
    times = isl.UnionMap("{ S[i, j] -> [0, i, j]; L[x] -> [1, x, 0]; T[x] -> [2, x, 0] }")
    info = isl.UnionAccessInfo.from_sink(READS).set_may_source(late.union(twice)).set_schedule_map(times)
    with pytest.raises(OverBudgetError, match="loses sources"):
        require_all_sources(info.compute_flow(), READS, twice, late, NOTHING, times)
