"""The certificates of all PolyBench programs pass the independent checker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polytile.check.checker import problems
from polytile.check.source import differences
from tests.benchmarks import POLYBENCH, compiled

PROGRAMS = sorted(POLYBENCH.glob("*.c"))


@pytest.mark.quick
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_certificate_holds_and_is_about_the_source(path: Path) -> None:
    content = json.loads(compiled(path.stem).certificate)
    assert content["scops"]
    assert list(differences(content, str(path), ())) == []
    assert [line for scop in content["scops"] for line in problems(scop)] == []


@pytest.mark.parametrize("name", ["gemm", "2mm", "3mm", "syrk", "syr2k", "symm", "trmm", "doitgen", "covariance"])
def test_a_certificate_of_tiles_holds(name: str) -> None:
    (scop,) = json.loads(compiled(name, "tiled").certificate)["scops"]
    assert any(p.get("fill") for plan in scop["plans"] for p in plan.get("placements", ()))
    assert list(problems(scop)) == []
