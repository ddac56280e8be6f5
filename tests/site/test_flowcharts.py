"""Flowcharts in Mermaid's notation become pictures."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

FILE = Path(__file__).resolve().parents[2] / "docs" / "_extensions" / "flowcharts.py"


@pytest.fixture
def flowcharts() -> ModuleType:
    pytest.importorskip("sphinx", reason="diagrams of the site need sphinx: pip install '.[docs]'")
    spec = importlib.util.spec_from_file_location("flowcharts", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sources_stand_as_late_as_they_can(flowcharts: ModuleType) -> None:
    chart = flowcharts.Flowchart.parse(["flowchart LR", "A[C file] -->|parse| B", "B --> C", "D --> C"])
    assert chart.layers() == {"A": 0, "B": 1, "C": 2, "D": 1}


def test_edges_over_several_layers_have_places_between(flowcharts: ModuleType) -> None:
    rows, chains = flowcharts.rows_of(flowcharts.Flowchart.parse(["graph TD", "A --> B", "B --> C", "A --> C"]))
    assert rows == [["A"], ["B", "A>C@1"], ["C"]] and ["A", "A>C@1", "C"] in chains


def test_texts_are_escaped(flowcharts: ModuleType) -> None:
    picture = ElementTree.fromstring(flowcharts.svg(flowcharts.Flowchart.parse(["graph LR", "A[a < b] -->|x & y| B"])))
    assert [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")] == ["x & y", "a < b", "B"]


@pytest.mark.parametrize("lines", [["A --> B"], ["flowchart LR", "A -.-> B"]])
def test_what_is_not_of_the_notation_is_refused(flowcharts: ModuleType, lines: list[str]) -> None:
    with pytest.raises(ValueError, match="flowchart"):
        flowcharts.Flowchart.parse(lines)
