"""What all ranks run although there is nothing at any position: arrays of no element."""

from __future__ import annotations

import numpy as np
import pytest

import polytile

SOURCE = """
void f(int steps, int n, double A[n], int e[steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        e[t] = t + 7;
        for (int i = 0; i < n; i++)
            A[i] = 2 * A[i] + e[t];
    }
#pragma endscop
}
"""


@pytest.mark.usefixtures("emulator")
@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
def test_elements_of_each_step_are_set(steps: int) -> None:
    (program,) = polytile.compile(SOURCE, name="program.c")
    distributed = program.distribute(on="emulator", steps_per_exchange=steps)
    for n in (0, 3):
        a, e = np.ones(n), np.zeros(2, np.int32)
        distributed(A=a, e=e)
        assert e.tolist() == [7, 8] and a.tolist() == [26] * n
