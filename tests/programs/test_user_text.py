"""What is extracted of each benchmark program computes, to the last bit, what the program's own text does.

`test_validation.py` asks the same of the suite of PolyBench, and so does every other test that validates a program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from polytile.frontend.program import read_program
from polytile.runtime.expectation import expect
from polytile.runtime.parameters import choose_parameters
from polytile.runtime.source_reference import check_extraction

POLYBENCH = Path(__file__).parents[2] / "polybench"
PROGRAMS = sorted(f"{p.parent.name}/{p.stem}" for p in POLYBENCH.glob("*/*.c") if p.parent.name != "polybench")

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.slow(
    but=(  # one of each family
        "an5d/star2d1r",
        "cluster/stencil-7pt",
        "polyast/symm-3.2",
        "reorder/2d25pt",
        "split/jacobi-1d-3pt",
        "stencilgen/j2d5pt",
        "tensor/gemm-nt",
    )
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYTILE_WIDE_SECONDS", "0")  # rounding errors are not asked for
    found = read_program(str(POLYBENCH / f"{program}.c"))
    assert found.scops
    assert not found.refusals
    for scop in found.scops:
        assert scop.source is not None
        assert check_extraction(scop, expect(scop, scop.source, choose_parameters(scop, {}), 1)) == ""
