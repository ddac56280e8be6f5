"""Functions of ten domains, as people write them (domains/*.c): every loop over data runs in many threads, and computes
what C does."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS

DOMAINS = sorted((Path(__file__).parent / "domains").glob("*.c"))
SIZES = (1, 7, 70)

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.quick
def test_returns_of_prices_have_kernels() -> None:
    (file,) = (file for file in DOMAINS if file.stem == "finance")
    (returns,) = (part for part in file.read_text().split("\nvoid ") if part.startswith("returns("))
    (scop,) = polytile.compile(f"#include <math.h>\nvoid {returns}", name="returns.c", raise_bugs=True).scops
    assert scop.program is not None


@pytest.mark.parametrize("file", DOMAINS, ids=lambda file: file.stem)
def test_functions_run_in_many_threads(file: Path) -> None:
    program = polytile.compile(file, raise_bugs=True)
    assert not program.refusals and len(program.scops) == 12
    for scop in program.scops:
        said = [remark.message for remark in scop.remarks]
        assert scop.program is not None, (scop.name, said)
        assert not [message for message in said if "one GPU thread" in message], said
        for size in SIZES:
            values = {p.name: size + k for k, p in enumerate(scop.compilation.source.parameters)}
            scop.validate(on="emulator", parameters=values, sanitize=CHECKS, unit=program.unit)


@pytest.mark.parametrize("file", DOMAINS, ids=lambda file: file.stem)
def test_strict_order_is_that_of_c(file: Path, request: pytest.FixtureRequest) -> None:
    """Of every third function: other tests have their kinds in strict order under every schedule."""
    head, *functions = file.read_text().split("\nvoid ")
    some = functions if request.config.getoption("--full-matrix") else functions[1::3]
    for scop in polytile.compile("\nvoid ".join([head, *some]), name=file.name, raise_bugs=True, strict=True).scops:
        if scop.program is not None:
            values = {p.name: 40 + k for k, p in enumerate(scop.compilation.source.parameters)}
            scop.validate(on="emulator", parameters=values)
