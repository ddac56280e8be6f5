"""Every program of the suite computes in the emulator what its sequential C computes, at sizes that fit no tile."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError

SUITE = Path(__file__).parents[2] / "polybench" / "polybench"
PROGRAMS = sorted(p.stem for p in SUITE.glob("*.c"))
SIZES = (0, 1, 2, 5, 33)
LARGEST = {4: 44}  # by the depth of nests, where 70 takes the emulator ten seconds
# (element type, tile sizes, strict)
USUAL = [("double", (), True), ("float", (7,), True)]
FULL = [(e, t, s) for e in ("double", "float") for t in ((), (3,), (7,), (16,)) for s in (True, False)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cases of `--full-matrix`, or the usual ones."""
    cases = FULL if metafunc.config.getoption("--full-matrix") else USUAL
    values = [(p, *case) for p in PROGRAMS for case in cases]
    names = [f"{p}-{e}-{'x'.join(map(str, t)) or 'default'}{'-strict' * s}" for p, e, t, s in values]
    metafunc.parametrize(("program", "element", "tile", "strict"), values, ids=names)


pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.slow(but="trisolv-double-default-strict")
def test_program(program: str, element: str, tile: tuple[int, ...], strict: bool) -> None:
    compiled = polytile.compile(SUITE / f"{program}.c", defines={"DATA_TYPE": element}, tile=tile, strict=strict)
    assert not compiled.refusals
    assert compiled.scops
    for scop in compiled.scops:
        assert scop.program is not None
        depth = max(len(statement.iterators) for statement in scop.scop.statements)
        for size in (*SIZES, LARGEST.get(depth, 70)):
            values = {p.name: size for p in scop.scop.parameters}
            try:
                results = scop.validate(on="emulator", parameters=values, seed=size + 1)
            except UserError as error:  # correlation and the like write m - 1 whatever m is
                assert size == 0, error
                assert "at index -1, but its extent is 0" in error.message
                continue
            assert [(r.bitwise, r.note) for r in results] == [(strict, "")]
