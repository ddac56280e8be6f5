"""Random C programs: what polytile makes of them computes what C computes, in the emulator with all its checks."""

from __future__ import annotations

import random
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from polytile.choices import SCHEDULES
from polytile.fuzz.case import Choices, draw_case
from polytile.fuzz.children import run_one
from polytile.fuzz.draw import Draw
from polytile.fuzz.outcome import AGREED, ON_HOST
from polytile.fuzz.printing import c_text
from polytile.fuzz.trial import Trial, attempt
from polytile.runtime.emulator.instrument import CHECKS
from tests.random_examples import drawn, examples

SIZES = tuple({"n": n, "m": m, "k": k} for n, m, k in ((0, 1, 0), (3, 2, -1), (7, 9, 2)))
EXAMPLES = examples(30)
SECONDS = 300.0
REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.c"))


pytestmark = pytest.mark.usefixtures("emulator")


@drawn(EXAMPLES)
@given(st.randoms(use_true_random=False))
def test_random_programs(source: random.Random) -> None:
    case = draw_case(Draw(source), CHECKS)
    note(f"{case.command('fuzz.c')}\n{c_text(case.program)}")
    found = run_one(partial(attempt, case), SECONDS)
    assert not found.failed, found.message


@pytest.mark.slow(but="two_tile_sizes-(4, 2)")
@pytest.mark.parametrize(
    ("file", "tile"),
    list(zip(REGRESSIONS, cycle([(3,), (4, 2)]), strict=False)),
    ids=lambda f: getattr(f, "stem", str(f)),
)
def test_regressions(file: Path, tile: tuple[int, ...]) -> None:
    """All schedules with tiles of their own choice, and the classic one with other tiles."""
    for strategies, sizes in ((SCHEDULES, ()), (("classic",), tile)):
        trial = Trial(file.read_text(), Choices(tile=sizes), SIZES, strategies, sanitize=CHECKS)
        found = run_one(trial.run, SECONDS)
        assert found.kind in (AGREED, ON_HOST), found.message
