"""The certificates of all PolyBench programs pass the independent checker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polytile.check.checker import problems
from polytile.check.source import differences
from tests.benchmarks import POLYBENCH, compiled

PROGRAMS = sorted(POLYBENCH.glob("*.c"))


TILED = ("gemm", "2mm", "3mm", "syrk", "syr2k", "symm", "trmm", "doitgen", "covariance")


@pytest.mark.slow(but="trisolv")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_certificate_holds_and_is_about_the_source(path: Path) -> None:
    content = json.loads(compiled(path.stem).certificate)
    assert content["scops"]
    assert list(differences(content, str(path), ())) == []
    assert [line for scop in content["scops"] for line in problems(scop)] == []
    if path.stem in TILED:
        assert has_tiles(content)


@pytest.mark.parametrize("name", ["doitgen", "covariance"])  # those of the others are what `auto` takes
def test_a_certificate_of_tiles_holds(name: str) -> None:
    content = json.loads(compiled(name, "tiled").certificate)
    assert has_tiles(content) and content["scops"] != json.loads(compiled(name).certificate)["scops"]
    assert [line for scop in content["scops"] for line in problems(scop)] == []


def has_tiles(content: dict[str, Any]) -> bool:
    plans = [plan for scop in content["scops"] for plan in scop["plans"]]
    return any(placement.get("fill") for plan in plans for placement in plan.get("placements", ()))
