"""Dependences where conditions have several remainders, for some of which isl's access analysis loses writers."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.ir.isl_util import OverBudgetError
from polytile.runtime.emulator.instrument import CHECKS
from polytile.scheduling.analysis.checked_flow import checked

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
    info = isl.UnionAccessInfo.from_sink(READS).set_must_source(writes).set_schedule_map(TIMES)
    try:
        flow = checked(info.compute_flow(), READS, writes, NOTHING, None, TIMES)
    except OverBudgetError:
        return
    assert flow.get_may_dependence().range().is_equal(writes.apply_range(READS.reverse()).range())


@pytest.mark.parametrize("kill", [None, isl.UnionMap("[m, k] -> { K[] -> A[x] : x = 3 }")])
def test_what_a_kill_ends_is_not_lost(kill: isl.UnionMap | None) -> None:
    writes = isl.UnionMap("[m, k] -> { S[i, j] -> A[j] : 0 <= i < m and i <= j < m and i mod 2 = 0 and j mod 3 = 0 }")
    times = isl.UnionMap("{ S[i, j] -> [0, i, j]; K[] -> [1, 0, 0]; T[x] -> [2, x, 0] }")
    info = isl.UnionAccessInfo.from_sink(READS).set_must_source(writes).set_schedule_map(times)
    flow = (info if kill is None else info.set_kill(kill)).compute_flow()
    assert checked(flow, READS, writes, NOTHING, kill, times) is flow


def test_a_lost_source_is_found() -> None:
    writes = isl.UnionMap("[m, k] -> { S[i, j] -> A[j] : 0 <= i < m and i <= j < m and i mod 2 = 0 and j mod 3 = 0 }")
    some = writes.intersect_domain(isl.UnionSet("{ S[i, j] : j != 6 }"))
    for sources, whole in ((some, writes), (NOTHING, writes)):
        info = isl.UnionAccessInfo.from_sink(READS).set_must_source(sources).set_schedule_map(TIMES)
        with pytest.raises(OverBudgetError, match="loses sources"):
            checked(info.compute_flow(), READS, whole, NOTHING, None, TIMES)
