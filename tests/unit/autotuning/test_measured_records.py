"""Records of an H200 (polybench/results/tuning) answer for a GPU: how soon searches are near the best time.

Spaces of small records are searched by their first points in the order of estimates, so that a tenth is asked for only
of the spaces of Zhang and Mueller (CGO 2012) and of gemm.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from polybench.runner.replay import needed, recorded
from polytile.autotuning.outcome import Status

RECORDS = Path(__file__).parents[3] / "polybench" / "results" / "tuning"


@pytest.mark.slow(but="gemm-double")
@pytest.mark.parametrize("name", ["gemm-double", "stencil-7pt-double", "stencil-27pt-float"])
def test_the_model_is_near_the_best_after_a_tenth_of_the_space(name: str) -> None:
    found = needed("model", recorded(RECORDS / f"{name}.tune.jsonl"), 20 if name == "gemm-double" else 5)
    assert found.quartiles(5)[1] <= found.points / 10


@pytest.mark.parametrize("file", sorted(RECORDS.glob("*.tune.jsonl")), ids=lambda file: file.stem)
def test_all_points_of_the_records_were_measured(file: Path) -> None:
    outcomes = recorded(file)
    assert all(one.status is Status.MEASURED and one.registers for one in outcomes)
    assert sum(one.point == () for one in outcomes) == 1
    assert not file.stem.startswith(("stencil-7pt", "stencil-27pt")) or len(outcomes) == 545
