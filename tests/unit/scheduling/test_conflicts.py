"""Dependences where every conflict counts: the same pairs as by comparing all accesses in the source's order."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.frontend.program import read_program
from polytile.ir.isl_util import union_of
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.dependences import array_dependences

TEXT = """void f(int n, double a[n][n], double b[n][n])
{
#pragma scop
for (int t = 0; t < n; t++) {
  for (int i = 1; i < n; i++) {
    if (i % 3 == 1) a[t][i] = a[t][i - 1] + b[i][t];
    b[i][t] += a[i][t];
  }
  a[t][0] = b[0][t];
}
#pragma endscop
}
"""


SINGLE = """void f(int n, double a[n][n], double b[n][n])
{
#pragma scop
for (int t = 2; t < 3; t++)
  for (int i = 1; i < n; i++) {
    for (int j = 0; j < 1; j++) a[t][i] = a[j][i - 1] + b[i][j];
    b[i][t] = a[i][t];
  }
for (int t = 0; t < n; t++) {
  a[t][t] = b[0][t];
  for (int i = n - 1; i >= t; i--) b[t][i] = a[i][t] + a[2][i];
}
#pragma endscop
}
"""


def scop(text: str = TEXT) -> Scop:
    return read_program("f.c", text).scops[0]


def in_order(one: Scop, first: isl.UnionMap, then: isl.UnionMap) -> isl.UnionMap:
    order = one.schedule.get_map()
    return first.apply_range(then.reverse()).intersect(order.lex_lt_union_map(order))


@pytest.mark.parametrize("text", [TEXT, SINGLE], ids=["loops", "loops of one iteration, and backwards"])
@pytest.mark.parametrize("array", ["a", "b"])
def test_all_conflicts_in_the_order_of_the_source(array: str, text: str) -> None:
    one, named = scop(text), frozenset((array,))
    reads = one.accesses(AccessKind.READ, arrays=named)
    writes = one.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=named)
    found = array_dependences(one, array, 1)
    assert not found.exact
    assert found.flow.is_equal(in_order(one, writes, reads))
    assert found.anti.is_equal(in_order(one, reads, writes))
    assert found.output.is_equal(in_order(one, writes, writes))


def test_accesses_of_chosen_arrays_are_those_of_all_that_are_to_them() -> None:
    one = scop()
    kinds = AccessKind.READ, AccessKind.WRITE
    both = [one.accesses(*kinds, arrays=frozenset((name,))) for name in ("a", "b")]
    assert union_of(both, one.context.get_space()).is_equal(one.accesses(*kinds))
    assert [s.name for s in one.accessing("b")] == [s.name for s in one.statements]


def test_the_union_of_nothing_is_empty() -> None:
    assert union_of((), scop().context.get_space()).is_empty()
