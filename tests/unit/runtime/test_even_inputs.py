"""Random inputs on which stencils with coefficients in a cube of cells stay finite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.runtime.inputs import Style

WAVE = Path(__file__).parents[3] / "docs" / "examples" / "wave.c"


def test_coefficients_of_a_cube_do_not_let_a_wave_grow() -> None:
    """With a dominant diagonal among them, floats were infinite after some steps, where schedules differ."""
    scop = polytile.compile(WAVE).scops[0]
    found = scop.expect({"n": 24, "pairs": 30}, 1)
    assert found.style is Style.EVEN
    assert all(np.isfinite(data).all() and np.abs(data).max() < 1 for data in found.after.values() if data.ndim)


@pytest.mark.slow
def test_a_schedule_of_blocks_of_steps_is_compared_on_them() -> None:
    scop = polytile.compile(WAVE, schedule="overlapped", time_tile=2, tile=(8, 12, 64), block=(4, 32)).scops[0]
    assert scop.validate(on="emulator", parameters={"n": 19, "pairs": 9}, seed=1)
