"""Small arrays whose elements are set in one iteration, and used in it: each element has a cell of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polytile
from polytile.ir.memory import Space, Storage
from polytile.scheduling.proof.storage import ANOTHER, AT_ONCE, wrong_homes
from tests.bitwise import same_as_c
from tests.kernel_storage import homes_of

TEXT = """void f(int n, double f[n][3], double g[n][3])
{
#pragma scop
for (int y = 0; y < n; y++) {
  double r = f[y][0] + f[y][1];
  double e[2];
  e[0] = r * 3;
  e[1] = r + 1;
  g[y][0] = e[0];
  g[y][1] = e[1];
  for (int k = 0; k < 2; k++) g[y][2] += e[k];
}
#pragma endscop
}
"""


@pytest.mark.usefixtures("emulator")
def test_elements_that_one_statement_sets_do_not_share_a_cell() -> None:
    (scop,) = polytile.compile(TEXT, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None
    same_as_c(scop, tuple({"n": n} for n in (0, 1, 7, 257)))


@pytest.mark.quick
def test_the_proof_refuses_one_cell_for_them() -> None:
    (scop,) = polytile.compile(TEXT, name="f.c", strict=True, raise_bugs=True).scops
    run = scop.compilation.run
    (kernel,) = homes_of(scop.compilation)
    array = run.scop.array("e")
    one = Storage("e", Space.PRIVATE, array.element, (), "e", ())
    assert [failure.why for failure in wrong_homes(run, {kernel: {"e": one}})] == [AT_ONCE]


ROWS = """void f(int n, double a[n], double b[n], double c[n], double d[n])
{
#pragma scop
for (int i = 0; i < n; i++) {
  double t[2][4];
  double r = a[i];
  t[0][0] = r + 1;
  t[0][1] = r * 2;
  double s = b[i];
  t[1][0] = s + t[0][1];
  t[1][2] = s * 2;
  c[i] = t[0][0] + t[0][1] + t[1][2];
  d[i] = t[1][0];
}
#pragma endscop
}
"""


@pytest.mark.usefixtures("emulator")
def test_rows_that_different_statements_set_do_not_share_cells() -> None:
    """c reads of both statements what they set; one row for both would have t[1][0] in place of t[0][0]."""
    (scop,) = polytile.compile(ROWS, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None
    same_as_c(scop, tuple({"n": n} for n in (0, 1, 7, 257)))


def test_the_proof_refuses_one_row_for_both() -> None:
    (scop,) = polytile.compile(ROWS, name="f.c", strict=True, raise_bugs=True).scops
    run = scop.compilation.run
    ((kernel, homes),) = homes_of(scop.compilation).items()
    assert wrong_homes(run, {kernel: homes}) == []
    row = replace(homes["t"], extents=homes["t"].extents[-1:], keeps=(2,))
    assert [failure.why for failure in wrong_homes(run, {kernel: {"t": row}})] == [ANOTHER]
