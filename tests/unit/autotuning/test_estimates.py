"""Estimates of points, which are neither proven nor lowered, are those of the compiled points."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import polytile
from polytile.autotuning.spaces import space_of
from polytile.autotuning.workload import Workload
from polytile.facts.kernel_facts import estimate_of

SUITE = Path(__file__).resolve().parents[3] / "polybench"
SIZES = {
    "polybench/gemm.c": {"ni": 200, "nj": 220, "nk": 240},
    "polybench/atax.c": {"m": 390, "n": 410},
    "polybench/jacobi-2d.c": {"tsteps": 100, "n": 250},
    "cluster/stencil-7pt.c": {"tsteps": 24, "nx": 130, "ny": 138, "nz": 146},
}


@pytest.mark.parametrize(("file", "points"), [(next(iter(SIZES)), 2), *((file, 8) for file in SIZES)])
@pytest.mark.slow(but=1)
def test_estimates_are_those_of_compiled_points(file: str, points: int) -> None:
    sizes = SIZES[file]
    (compiled,) = polytile.compile(SUITE / file, parameters=sizes).scops
    source = Workload(str(SUITE / file), compiled.scop.name, sizes).read()
    space = space_of(compiled, sizes)
    for point in random.Random(3).sample(list(space.points), points):
        choices = space.choices(point)
        estimate, wanted = source.estimate(choices), estimate_of(source.compile(choices).compilation)
        assert estimate is not None and wanted is not None
        assert estimate.microseconds == wanted.microseconds, point
