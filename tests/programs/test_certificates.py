"""The certificates of all PolyBench programs pass the independent checker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polytile
from polytile.check.checker import problems
from polytile.check.source import differences

PROGRAMS = sorted((Path(__file__).resolve().parents[2] / "polybench" / "polybench").glob("*.c"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_certificate_holds_and_is_about_the_source(path: Path) -> None:
    content = json.loads(polytile.compile(path).certificate)
    assert content["scops"]
    assert list(differences(content, str(path), ())) == []
    assert [line for scop in content["scops"] for line in problems(scop)] == []
