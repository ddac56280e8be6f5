"""Children of a set run in any order: arrays do not shrink to cells in which they would meet, and the proof sees it."""

from __future__ import annotations

import polytile
from polytile.ir.memory import Space, Storage
from polytile.scheduling.proof.storage import wrong_homes

WEIGHTS = """
void f(int n, double a[n + 2], double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double w[3], s = 0;
        w[0] = 0.25;
        w[1] = 0.5;
        w[2] = 0.125;
        for (int j = 0; j < 3; j++)
            s += w[j] * a[i + j];
        b[i] = s;
    }
#pragma endscop
}
"""


def test_elements_that_are_set_side_by_side_keep_cells_of_their_own() -> None:
    (scop,) = polytile.compile(WEIGHTS, name="f.c", schedule="classic", strict=True).scops
    run = scop.compilation.run
    assert "set:" in str(run.schedule.tree)
    array = run.scop.array("w")
    assert f"double {array.name}[3];" in scop.cuda

    def home(keeps: tuple[int, ...]) -> Storage:
        extents = tuple(array.extents[k] for k in keeps)
        return Storage(array.name, Space.PRIVATE, array.element, extents, array.name, keeps)

    assert not wrong_homes(run, {0: {array.name: home((1,))}})
    failures = wrong_homes(run, {0: {array.name: home(())}})
    assert failures and all(failure.array == array.name for failure in failures)
