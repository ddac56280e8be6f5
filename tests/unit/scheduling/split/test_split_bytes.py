"""The bytes of device memory that the model expects of split tiles, beside those that ncu counts."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.machine import machine_of

SUITE = Path(__file__).resolve().parents[4] / "polybench" / "polybench"
# MB a step at EXTRALARGE in double precision, read and written, by the steps of a band (H100, caches not flushed).
MEASURED = {
    "jacobi-2d": {2: 80.2, 4: 50.9, 6: 43.5, 8: 41.3, 10: 40.6},
    "fdtd-2d": {2: 158.2, 4: 73.3, 6: 52.3, 8: 42.2, 10: 36.3, 12: 32.3},
}
SIZES = {"jacobi-2d": {"n": 2800}, "fdtd-2d": {"nx": 2000, "ny": 2600}}


@pytest.mark.slow(but="jacobi-2d-4")
@pytest.mark.parametrize(("name", "steps"), [(name, steps) for name, rows in MEASURED.items() for steps in rows])
def test_bytes_fall_with_the_height_of_a_band_as_measured(name: str, steps: int) -> None:
    """Within a fifth."""
    (scop,) = polytile.compile(
        SUITE / f"{name}.c", include_dirs=(SUITE.parent,), parameters=SIZES[name], schedule="split", time_tile=steps
    ).scops
    assert scop.compilation.split is not None and scop.compilation.split.iterations == steps
    (kernel,) = scop.compilation.estimate.kernels
    launches = len(scop.compilation.split.phases) / steps
    moved = launches * kernel.memory * 1e-6 * machine_of("sm_90").speed.memory
    assert moved == pytest.approx(MEASURED[name][steps] * 1e6, rel=0.2)
