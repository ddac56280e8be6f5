"""Reads of elements that nothing writes any more: isl's access analysis finds the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from polytile.ir.isl_util import maps
from polytile.ir.reads_apart import with_reads_apart
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.dependences import values_through
from polytile.scheduling.analysis.finished_elements import IN, finished_reads
from polytile.scheduling.analysis.source_order import name_of
from polytile.scheduling.transform.reductions.early_terms import accumulating, with_early_terms

Read = Callable[..., Scop]
FOLD = """for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            t[i][j] = t[i][j] >= t[i + 1][j] ? t[i][j] : t[i + 1][j];
            for (int k = i + 1; k < j; k++)
                t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];
        }"""
ALL = "[n] -> { S1[i, j, k] : 0 <= i < k < j < n }"
FAR = "[n] -> { S1[i, j, k] : 0 <= i < k < j < n and 32*floor(i/32) <= k - 31 and 32*floor(j/32) > k }"


@pytest.mark.parametrize("first", [FAR, ALL])
def test_isl_finds_the_same(scop: Read, first: str) -> None:
    whole = scop("int n, int t[n][n]", FOLD)
    (made,) = accumulating(whole)
    apart = with_reads_apart(with_early_terms(whole, replace(made, first=first)), ("S0", "S1"))
    reads, must, may = (apart.accesses(k) for k in (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE))
    found = finished_reads(reads, must, apart.schedule.get_map())
    names = {"S0_reads", "S1_reads"} if first == FAR else set[str]()  # else the times of statements are one piece
    assert {name_of(m, IN) for m in maps(found)} == names
    expected = flow(reads, must, may, apart.schedule)
    values, unset = values_through(apart, "t")
    assert values.is_equal(expected.get_may_dependence())
    assert unset.is_equal(expected.get_may_no_source())
