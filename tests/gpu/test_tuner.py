"""The evaluator on a real GPU: times, resources, kernels that ask for too much, finalists. Skipped elsewhere."""

from __future__ import annotations

from math import inf
from statistics import median

import pytest

from polytile.autotuning.gpu_evaluator import GpuEvaluator
from polytile.autotuning.outcome import Status
from polytile.autotuning.space import Point
from polytile.choices import Choices
from polytile.runtime.cupy_engine import cupy_available
from tests.unit.autotuning.test_gpu_evaluator import ADD, run

pytestmark = pytest.mark.skipif(not cupy_available(), reason="needs a GPU and CuPy")
THREADS: dict[Point, tuple[int, ...]] = {(("threads", n),): block for n, block in enumerate(((8, 32), (1, 32)))}


def choices(point: Point) -> Choices:
    return Choices(block=THREADS.get(point, ()), registers=255 if not point else 0)


@pytest.mark.quick
def test_points_are_measured_and_compared() -> None:
    points: list[Point] = [(), *THREADS]
    with GpuEvaluator(ADD, choices, width=2) as evaluator:
        conditions = evaluator.conditions
        assert conditions.gpu and conditions.compiler.startswith("NVRTC") and conditions.flags[-1].startswith("-arch=")
        found = run(evaluator, *points)
        for one in found.values():
            assert (one.status, one.reason) == (Status.MEASURED, "") and 0 < one.median < inf
            assert len(one.registers) == len(one.spilled_bytes) == len(one.shared_bytes) == 1 and one.registers[0] > 0
        again = evaluator.again(points)
        assert again.keys() == found.keys() and not evaluator.left_out
        assert all(median(again[point]) == pytest.approx(found[point].median, rel=1) for point in points)
