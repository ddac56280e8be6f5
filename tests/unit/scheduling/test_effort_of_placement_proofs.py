"""The proof of placements stays cheap for tiles of triangular loops, where fills and reads meet in many pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.ir.isl_util import budget
from polytile.scheduling.proof import placements

POLYBENCH = Path(__file__).resolve().parents[3] / "polybench" / "polybench"
OPERATIONS = 3_000_000  # less than a second


@pytest.mark.slow(but="syrk")
@pytest.mark.parametrize("name", ["syrk", "syr2k", "symm", "trmm", "covariance"])
def test_proving_tiles_takes_few_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proven, proof = [], placements.wrong_placements

    def measured(*claim: Any) -> Any:
        with budget(OPERATIONS):
            found = proof(*claim)
        proven.extend(placement.name for plan in claim[2] for placement in plan.placements)
        return found

    monkeypatch.setattr(placements, "wrong_placements", measured)
    polytile.compile(POLYBENCH / f"{name}.c", schedule="tiled")
    assert any("tile" in placement for placement in proven)
