"""`report` of two files: ratios of times, rows without a counterpart, and the plot."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

from polybench.runner import cli
from polybench.runner.compare_runs import pair_up
from polybench.runner.rows import Row, append, head
from polybench.runner.tables import load


def row(program: str, ms: float, dtype: str = "double", on: str = "gpu", **more: object) -> Row:
    name = f"polybench/{program}"
    about = head(name, dtype, str(more.pop("schedule", "auto")), "large", on)
    machine = {"gpu": "NVIDIA H100", "cuda": 13000, "spread": 0.01} if on == "gpu" else {}
    return {**about, "parameters": load()[name].sizes("large"), **machine, "median_ms": ms, **more}


def files(folder: Path, old: Sequence[Row], new: Sequence[Row]) -> list[str]:
    paths = folder / "before.jsonl", folder / "after.jsonl"
    for path, rows in zip(paths, (old, new), strict=True):
        append(path, rows)
    return [str(p) for p in paths]


def cells(text: str, program: str) -> list[list[str]]:
    lines = [x for x in text.splitlines() if x.startswith(f"| polybench/{program} ")]
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines]


def test_times_ratio_and_spread_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = [row("lu", 3.0), row("gemm", 4.0, strategy="classic"), row("gemm", 1.0, "float")]
    new = [row("gemm", 9.0), row("gemm", 2.0, strategy="tiled (1 nest)", spread=0.2), row("gemm", 1.04, "float")]
    new.append(row("lu", 6.0))
    assert cli.main(["report", *files(tmp_path, old, new), "--markdown", str(tmp_path / "t.md")]) == 0
    out = capsys.readouterr().out
    assert out == (tmp_path / "t.md").read_text()
    heading = next(x for x in out.splitlines() if x.startswith("| program"))
    assert [c.strip() for c in heading.strip("|").split("|")][4:] == [
        "ms, before.jsonl",
        "ms, after.jsonl",
        "ratio",
        "spread, before.jsonl",
        "spread, after.jsonl",
    ]
    double, single = sorted(cells(out, "gemm"), key=lambda c: c[1])
    chosen = "auto: classic -> auto: tiled"
    assert double == ["polybench/gemm", "double", chosen, "large", "4", "2", "2.000", "1%", "20%"]
    assert single[1:3] == ["float", "auto"] and single[6] == "0.962"
    assert "- double: ratio 1.000 (geometric mean of 2); beyond 5% and the spread, 1 faster and 1 slower" in out
    assert "- float: ratio 0.962 (geometric mean of 1); beyond 5% and the spread, 0 faster and 0 slower" in out
    assert out.startswith("NVIDIA H100, CUDA 13.0. Median times; the ratio is how many times faster after.jsonl")
    assert "Without a ratio" not in out


def test_rows_without_a_ratio_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = head("polybench/lu", "double", "auto", "large", "gpu") | {"error": "timeout"}
    old = [row("gemm", 4.0), row("lu", 3.0), row("atax", 1.0), row("mvt", 1.0)]
    new = [row("gemm", 2.0, gpu="NVIDIA H200"), broken, row("bicg", 1.0), row("mvt", 1.0, parameters={"n": 7})]
    assert cli.main(["report", *files(tmp_path, old, new)]) == 0
    out = capsys.readouterr().out
    assert "before.jsonl: NVIDIA H100, CUDA 13.0; after.jsonl: NVIDIA H200, CUDA 13.0." in out
    named = {x for x in out.partition("Without a ratio:\n\n")[2].splitlines() if x}
    assert named == {
        "- polybench/lu double auto large: failed in after.jsonl: timeout",
        "- polybench/atax double auto large: only in before.jsonl",
        "- polybench/bicg double auto large: only in after.jsonl",
        "- polybench/mvt double auto large: the sizes differ",
    }


def test_the_sequential_c_is_compared_where_no_gpu_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [row("gemm", 4.0), row("gemm", 400.0, on="cpu")], [row("gemm", 2.0), row("gemm", 100.0, on="cpu")]
    (pair,) = pair_up(("a", "b"), *both, load()).pairs
    assert pair.ratio == 2.0
    (pair,) = pair_up(("a", "b"), both[0][1:], both[1][1:], load()).pairs
    assert pair.ratio == 4.0


def test_files_without_a_common_row_are_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", *files(tmp_path, [row("gemm", 4.0)], [row("gemm", 400.0, on="cpu")])]) == 0
    out = capsys.readouterr().out
    assert "x C" in out and "ratio" not in out


def test_files_of_equal_names_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / side / "results.jsonl" for side in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        append(path, [row("gemm", 4.0)])
    assert cli.main(["report", *map(str, paths)]) == 0
    assert f"ms, {paths[0]}" in capsys.readouterr().out


def test_nothing_was_timed_in_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = head("polybench/gemm", "double", "auto", "large", "gpu") | {"error": "timeout"}
    assert cli.main(["report", *files(tmp_path, [row("gemm", 4.0)], [failed])]) == 2
    assert "no program has a time in both before.jsonl and after.jsonl" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_the_plot_of_ratios(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").rcParams["svg.fonttype"] = "none"
    old = [row(p, 2.0, t, schedule=s) for p in ("gemm", "lu") for t in ("double", "float") for s in ("auto", "tiled")]
    new = [{**r, "median_ms": 1.0 + k} for k, r in enumerate(old)]
    plot = tmp_path / "ratios.svg"
    assert cli.main(["report", *files(tmp_path, old, new), "--plot", str(plot)]) == 0
    text = plot.read_text()
    for said in ("times faster than before.jsonl", "right of 1 after.jsonl is faster", "float, tiled", "gemm", "lu"):
        assert said in text
