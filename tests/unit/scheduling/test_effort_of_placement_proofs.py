"""The proof of placements stays cheap for tiles of triangular loops, where fills and reads meet in many pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.ir.isl_util import budget
from polytile.scheduling.proof import prove
from polytile.scheduling.proof.placements import wrong_placements

POLYBENCH = Path(__file__).resolve().parents[3] / "polybench" / "polybench"
OPERATIONS = 3_000_000  # less than a second


@pytest.mark.parametrize("name", ["syrk", "syr2k", "symm", "trmm", "covariance"])
def test_proving_tiles_takes_few_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proven = []

    def measured(*claim: Any) -> Any:
        with budget(OPERATIONS):
            found = wrong_placements(*claim)
        proven.extend(placement.name for plan in claim[2] for placement in plan.placements)
        return found

    monkeypatch.setattr(prove, "wrong_placements", measured)
    polytile.compile(POLYBENCH / f"{name}.c", schedule="tiled")
    assert any("tile" in placement for placement in proven)
