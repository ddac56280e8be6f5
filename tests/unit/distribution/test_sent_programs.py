"""What rank 0 compiles for all ranks, and sends: programs without what they were chosen from."""

from __future__ import annotations

import pickle

import polytile
from polytile.distributed_parts import planned

SOURCE = """void f(int steps, int n, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i + 1];
        for (int i = 1; i < n - 1; i++) A[i] = B[i];
    }
#pragma endscop
}
"""


def test_programs_are_sent_without_their_schedules() -> None:
    """Which take ranks four times as long to read as all else."""
    (made,) = polytile.compile(SOURCE, schedule="classic")
    plan, parts = pickle.loads(pickle.dumps(planned(made.compilation, 1)))
    assert [part.scop.name for part in parts[:2]] == [scop.name for scop in plan.local]
    assert len(parts) == 4 and all(part.entry is not None and part.schedule is None for part in parts)
