"""The proof of partial results stays cheap for searches of triangles, whose lanes take pairs of neighbours: each value
has one of twenty successors, by where its row and its pair begin and end."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.ir.isl_util import budget, covers, with_tuple_names
from polytile.scheduling.proof import reductions

OPERATIONS = 600_000  # a seventh of a second; all values at once take isl twice as many
SEARCH = """
void search(int n, double a[n][n], int at[2])
{
#pragma scop
    double best = 0;
    int row = 0, column = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (a[i][j] > best) {
                best = a[i][j];
                row = i;
                column = j;
            }
    at[0] = row;
    at[1] = column;
#pragma endscop
}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[isl.UnionSet]:
    """The values that were looked for, each time, in few operations."""
    found: list[isl.UnionSet] = []

    def measured(whole: isl.UnionSet, part: isl.UnionSet) -> bool:
        found.append(part)
        with budget(OPERATIONS):
            return covers(whole, part)

    monkeypatch.setattr(reductions, "covers", measured)
    return found


@pytest.mark.slow
def test_equal_reductions_are_asked_about_once(asked: list[isl.UnionSet]) -> None:
    scop = polytile.compile(SEARCH, name="search.c").scops[0]
    assert scop.program is not None
    triangles = [part for part in asked if part.is_equal(isl.UnionSet("[n] -> { update[i, j] : 0 <= i < j < n }"))]
    assert 0 < len(triangles) < 3  # of an extreme, a row and a column, by the strategy and by the proof


def test_all_pieces_together_cover() -> None:
    whole = isl.UnionSet("[n] -> { S[i] : 0 <= i < 5; S[i] : 5 <= i < n and i mod 2 = 0; S[i] : i mod 2 = 1; T[] }")
    assert covers(whole, isl.UnionSet("[n] -> { S[i] : 0 <= i < n; T[] : n > 3 }"))
    assert covers(whole, isl.UnionSet("[n] -> { }"))
    assert not covers(whole, isl.UnionSet("[n] -> { S[i] : 0 <= i <= n }"))
    assert not covers(whole, isl.UnionSet("[n] -> { U[i] : 0 <= i < n; T[] }"))


def test_renamed_statements() -> None:
    relation = isl.UnionMap("{ S[i] -> T[i + 1]; S[i] -> S[i + 2]; U[i] -> A[i] }")
    expected = isl.UnionMap("{ update[i] -> T[i + 1]; update[i] -> update[i + 2]; U[i] -> A[i] }")
    assert with_tuple_names(relation, {"S": "update"}).is_equal(expected)
