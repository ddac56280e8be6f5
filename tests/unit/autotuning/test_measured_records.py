"""Records of an H200 (polybench/results/tuning) answer for a GPU: how soon searches are near the best time."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybench.runner.replay import needed, recorded
from polytile.autotuning.outcome import Status

RECORDS = Path(__file__).parents[3] / "polybench" / "results" / "tuning"


FILES = sorted(RECORDS.glob("*.tune.jsonl"))
NAMES = [file.name.removesuffix(".tune.jsonl") for file in FILES]
LARGE = 500  # points of a record, of whose searches seeds choose the first estimates


def quartiles(search: str, name: str) -> tuple[float, float, float]:
    """Evaluations until one is within 5% of the best, as shares of the points."""
    outcomes = recorded(RECORDS / f"{name}.tune.jsonl")
    found = needed(search, outcomes, 5 if len(outcomes) > LARGE else 3)
    first, middle, third = (count / found.points for count in found.quartiles(5))
    return first, middle, third


@pytest.mark.slow(but=("himeno-19pt-double", "himeno-19pt-float"))
@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_near_the_best_after_a_tenth_of_the_space(name: str) -> None:
    assert quartiles("model", name)[1] <= 0.1


@pytest.mark.slow
def test_without_optuna_the_corrected_model_is_nearer_than_random_points() -> None:
    """The default there: in all records but one within a tenth, and in most sooner."""
    corrected, chance = ([quartiles(search, name)[1] for name in NAMES] for search in ("gaussian", "random"))
    assert sum(share <= 0.1 for share in corrected) >= len(NAMES) - 1
    assert sum(own < other for own, other in zip(corrected, chance, strict=True)) >= 0.8 * len(NAMES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_points_of_the_records_were_measured(file: Path) -> None:
    outcomes = recorded(file)
    assert all(one.status is Status.MEASURED and one.registers for one in outcomes)
    assert sum(one.point == () for one in outcomes) == 1
    assert not file.stem.startswith(("stencil-7pt", "stencil-27pt")) or len(outcomes) == 545
