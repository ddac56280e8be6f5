"""Kernels that store wrong values, one after the other and in parts: validation notices all of them."""

from __future__ import annotations

import pytest

import polytile
from polybench.runner.damage.experiment import MISSED, UNRUN, outcomes
from polybench.runner.damage.plant import ALL
from polybench.runner.tables import load

# Time tiles in overlapped and in split tiles, several kernels with a reduction, tiles of a product.
PROGRAMS = ("split/two-neighbours", "an5d/star2d1r", "polybench/atax", "polybench/gemm")


@pytest.mark.slow(but="polybench/gemm")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("program", PROGRAMS)
def test_validation_notices(program: str) -> None:
    for scop in polytile.compile(load()[program].path).scops:
        found = outcomes(program, scop, jobs=2)
        assert [str(o) for o in found if o.said in (MISSED, UNRUN) and o.damage.what == ALL] == []
        assert {o.damage.kernel for o in found} == {k.name for k in (scop.program.kernels if scop.program else ())}
        assert [str(o) for o in found if o.said == MISSED] == []
