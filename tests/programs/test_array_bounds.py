"""Values of parameters that do not fit the arrays of a SCoP which stands inside of loops: validation says so."""

from __future__ import annotations

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UserError
from polytile.runtime.emulator.instrument import CHECKS

ROWS = """void f(int n, double *restrict y, const double *restrict x, const int row[n + 1], int i)
{
#pragma scop
    y[i] = 0;
    for (int j = row[i]; j < row[i + 1]; j++)
        y[i] += x[j];
    for (int j = 0; j < n; j++)
        y[j] *= 2;
#pragma endscop
}
"""
GUARDED = """void f(int n, int i, double y[n], const double x[n])
{
#pragma scop
    for (int j = 0; j < n; j++)
        if (x[j] > 5)
            y[j] = x[i];
#pragma endscop
}
"""
STEPS = """void f(long m, long k, float B[m + 1], float total)
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j += 2)
            if (k <= 1 && (i + i) % 3 != 0) {
                if ((i + i) % 2 == 1)
                    B[j + 1] = -0.125 * j;
                else if (j % 4 == 0)
                    B[i] = total;
            }
#pragma endscop
}
"""


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
def test_an_index_beyond_its_array_is_an_error_of_the_user() -> None:
    (scop,) = polytile.compile(ROWS, name="f.c").scops
    with pytest.raises(UserError, match=r"n=3 the program accesses row at index 9, but its extent is 4"):
        scop.validate(on="emulator", parameters={"n": 3, "i": 9})
    assert scop.validate(on="emulator", parameters={"n": 9, "i": 3}, sanitize=CHECKS)


@pytest.mark.usefixtures("emulator")
def test_calls_are_told_too() -> None:
    (scop,) = polytile.compile(ROWS, name="f.c").scops
    row = np.zeros(4, dtype=np.int32)
    with pytest.raises(UserError, match=r"the program accesses row at index 9, but its extent is 4"):
        scop(n=3, y=np.zeros(10), x=np.zeros(10), row=row, i=9, on="emulator")
    y = np.ones(10)
    scop(n=3, y=y, x=np.zeros(10), row=row, i=2, on="emulator")
    assert y.tolist() == [2, 2, 0] + [1] * 7


@pytest.mark.usefixtures("emulator")
def test_what_data_guard_is_up_to_the_data() -> None:
    """Inputs are below 5."""
    (scop,) = polytile.compile(GUARDED, name="f.c").scops
    assert scop.validate(on="emulator", parameters={"n": 3, "i": 9}, sanitize=CHECKS)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(("m", "k"), [(0, 1), (1, -1), (7, -1), (7, 2), (33, 1)])
def test_first_instances_that_isl_does_not_find(m: int, k: int) -> None:
    """With m=7 and k=-1 isl's lexmin of the instances (2, 4) and (4, 4) of the last statement is empty."""
    (scop,) = polytile.compile(STEPS, name="f.c").scops
    assert scop.validate(on="emulator", parameters={"m": m, "k": k}, sanitize=CHECKS)
