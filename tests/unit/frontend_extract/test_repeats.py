"""Accesses that a statement repeats count once, however they are written."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.frontend.program import read_program
from polytile.ir.scop import AccessKind, Scop

ROWS = ("i", "j", "i + 1", "1 + i", "2 * i", "i + i", "i - 1", "i % 2", "3", "2 + 1")
PLACES = st.lists(st.tuples(st.sampled_from(ROWS), st.sampled_from(ROWS)), min_size=1, max_size=8)


def read(body: str) -> Scop:
    text = f"void f(int n, double A[n][n], double B[n][n])\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    found = read_program("test.c", text)
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


def reads(scop: Scop) -> list[Any]:
    return [a.relation for a in scop.statements[0].relations(AccessKind.READ)]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(PLACES, st.sampled_from(["j = 1; j < n - 1", "j = i; j < i + 1"]))
def test_each_element_is_read_once(places: list[tuple[str, str]], inner: str) -> None:
    loops = f"for (int i = 1; i < n / 2; i++) for (int {inner}; j++)"
    alone = [reads(read(f"{loops} B[i][j] = A[{row}][{column}];"))[0] for row, column in places]
    different = [m for k, m in enumerate(alone) if not any(m.is_equal(n) for n in alone[:k])]
    found = reads(read(f"{loops} B[i][j] = {' + '.join(f'A[{row}][{column}]' for row, column in places)};"))
    assert len(found) == len(different)
    assert all(m.is_equal(n) for m, n in zip(found, different, strict=True))


def test_reads_and_writes_count_apart() -> None:
    scop = read("for (int i = 0; i < n; i++) A[i][i] = A[i][i] + A[i][i];")
    assert [a.kind for a in scop.statements[0].accesses] == [AccessKind.READ, AccessKind.WRITE]


def test_neighbours_are_different() -> None:
    terms = " + ".join(f"A[i + {a}][j + {b}]" for a in range(5) for b in range(5))
    found = reads(read(f"for (int i = 0; i < n - 5; i++) for (int j = 0; j < n - 5; j++) B[i][j] = {terms};"))
    assert len(found) == 25
    assert not any(m.is_equal(n) for m, n in combinations(found, 2))
