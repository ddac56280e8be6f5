"""Reports: floors, speed-ups over the sequential C and the anchors, and the plot."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from polybench.runner import cli
from polybench.runner.anchors import ceiling, load_anchors
from polybench.runner.report import measured
from polybench.runner.rows import Row, append, head
from polybench.runner.tables import load


def gpu(program: str, ms: float, dtype: str = "double", dataset: str = "large") -> Row:
    entry = load()[program]
    about = head(program, dtype, "classic", dataset, "gpu")
    extra = {"gpu": "NVIDIA H200", "cuda": 13000, "spread": 0.01, "runs": 7, "launches": 1, "median_ms": ms}
    return {**about, "parameters": entry.sizes(dataset), **extra}


def test_the_anchors_are_read() -> None:
    anchors = {a.name: a for a in load_anchors()}
    assert anchors["PPCG default"].figures["gemm", "double", "extralarge"] == 7.31488
    assert anchors["PPCG best"].figures["gemm", "double", "extralarge"] < 3
    assert anchors["AN5D"].figures["j2d5pt", "float", ""] > 1500
    top = ceiling("NVIDIA H200")
    assert top is not None and top.bytes_per_s == 4.22e12 and top.flops_per_s["float"] == 67e12
    assert ceiling("abacus") is None


def test_floors_and_speed_ups() -> None:
    cpu = {**head("polybench/gemm", "double", "classic", "large", "cpu"), "median_ms": 500.0, "parameters": {}}
    (line,) = measured([gpu("polybench/gemm", 1.0), cpu], load(), load_anchors())
    flops = 1000 * 1100 * (3 * 1200 + 1)
    assert line.flops == flops and line.sequential == 500.0
    assert line.arithmetic_floor == pytest.approx(1e3 * flops / 33.5e12)
    assert line.memory_floor == pytest.approx(1e3 * 8 * (1100 + 1200 + 1.1 * 1200) * 1000 / 4.22e12)
    assert line.floor == line.arithmetic_floor
    assert dict(line.anchors)["PPCG default"] == pytest.approx(0.598, abs=0.01)


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, text = tmp_path / "results.jsonl", tmp_path / "table.md"
    failed = head("polybench/lu", "double", "classic", "large", "gpu") | {"error": "timeout"}
    stranger = {**gpu("polybench/gemm", 2.0), "program": "gone/away"}
    append(results, [gpu("polybench/gemm", 9.0), gpu("polybench/gemm", 1.0), failed, stranger])
    assert cli.main(["report", str(results), "--markdown", str(text)]) == 0
    out = capsys.readouterr().out
    assert out == text.read_text()
    (line,) = (x for x in out.splitlines() if x.startswith("| gemm"))
    cells = [c.strip() for c in line.strip("|").split("|")]
    assert cells[:6] == ["gemm", "classic", "large", "1", "1%", "1"] and cells[6] == "3961"
    assert "- polybench/lu double classic large: timeout" in out and "| away" in out
    mean = "- polybench double, large, classic: 0.60 times the speed of PPCG default (geometric mean of 1; faster in 0)"
    assert mean in out


def test_a_plot_without_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results.jsonl"
    append(results, [gpu("polybench/gemm", 1.0)])
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert cli.main(["report", str(results), "--plot", str(tmp_path / "p.png")]) == 4
    assert "pip install 'polytile[report]'" in capsys.readouterr().err
    assert cli.main(["report", str(results), "--plot", str(tmp_path / "p.gif")]) == 2


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize("name", ["plot.png", "plot.svg"])
def test_the_plot(tmp_path: Path, name: str) -> None:
    results = tmp_path / "results.jsonl"
    rows = [gpu("polybench/gemm", 1.0), gpu("polybench/lu", 30.0), gpu("polybench/lu", 3.0, "float", "medium")]
    append(results, rows)
    assert cli.main(["report", str(results), "--plot", str(tmp_path / name)]) == 0
    assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_plot_needs_figures_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.jsonl"
    append(results, [gpu("polyast/mri-q", 1.0)])
    assert cli.main(["report", str(results), "--plot", str(tmp_path / "p.png")]) == 2
    assert "no other system has a figure" in capsys.readouterr().err


def test_a_grid_for_each_family_and_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.jsonl"
    chosen = {**gpu("an5d/star3d1r", 100.0, "float"), "schedule": "auto", "strategy": "superposed (2 nests)"}
    append(results, [gpu("polybench/gemm", 1.0), gpu("polybench/gemm", 1.0, "float"), chosen])
    assert cli.main(["report", str(results)]) == 0
    out = capsys.readouterr().out
    headings = ["## an5d, float", "## polybench, double", "## polybench, float"]
    assert [x for x in out.splitlines() if x.startswith("## ")] == headings
    assert "| star3d1r | auto: superposed | large |" in out
    assert "x AN5D" in out.partition("## polybench")[0] and "x AN5D" not in out.partition("## polybench")[2]


def test_the_fastest_other_system() -> None:
    lines = measured([gpu("polybench/gemm", 1.0), gpu("stencilgen/j3d7pt", 1.0)], load(), load_anchors())
    gemm, star = lines
    assert gemm.best_other is not None and star.best_other is not None
    assert gemm.best_other[0] == "PPCG best" and gemm.best_other[1] == pytest.approx(0.541, abs=0.01)
    assert star.best_other[0] == "EBISU"
    assert (gemm.by_rate, star.by_rate) == (False, True)


def test_nothing_was_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.jsonl"
    append(results, [head("polybench/gemm", "double", "classic", "mini", "emulator")])
    assert cli.main(["report", str(results)]) == 2
    assert "no row has a time" in capsys.readouterr().err
