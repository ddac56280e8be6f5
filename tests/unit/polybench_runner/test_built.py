"""The table of built kernels: the fastest variant of each beside the anchors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polybench.runner import cli

PRODUCT = {"element": "float", "layout": "nt", "triangle": "lower", "beta": 1.2, "size": [9, 9, 4], "bad": 0}


def product(name: str, ms: float, **more: Any) -> dict[str, Any]:
    measured = {"ms_median": ms, "tflops": 1 / ms, "cublas_ms": 3.0, "ratio": 3 / ms, "compared": 81}
    return {"name": name, **PRODUCT, **measured, **more}


def table(folder: Path, *rows: dict[str, Any]) -> int:
    results = folder / "results.jsonl"
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return cli.main(["kernels", str(results), "--markdown", str(folder / "table.md")])


def cells(folder: Path, name: str) -> list[str]:
    (line,) = (x for x in (folder / "table.md").read_text().splitlines() if f"| {name} |" in x)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_products_beside_cublas(tmp_path: Path) -> None:
    assert (
        table(tmp_path, product("syrk_fma", 2.0), product("syrk_fma_64", 1.5), product("gemm_nn", 1.0, triangle=""))
        == 0
    )
    about = ["syrk nt", "float", "9 x 9 x 4"]
    assert cells(tmp_path, "syrk_fma_64") == [*about, "2", "1.500", "0.7", "3.000", "2.00", "syrk_fma_64"]
    assert cells(tmp_path, "gemm_nn")[0] == "gemm nt"


def test_a_repeated_measurement_replaces_the_one_before(tmp_path: Path) -> None:
    assert table(tmp_path, product("gemm", 2.0, triangle=""), product("gemm", 4.0, triangle="")) == 0
    assert cells(tmp_path, "gemm")[3:5] == ["1", "4.000"]


@pytest.mark.parametrize(("row", "reason"), [({"bad": 3}, "3 of 81 elements differ"), ({"compared": 0}, "0 of 0")])
def test_a_wrong_result_is_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, int], reason: str
) -> None:
    assert table(tmp_path, product("gemm", 2.0, **row)) == 2
    assert reason in capsys.readouterr().err


def test_files_that_are_no_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert table(tmp_path) == 2
    assert "there is no result of a kernel" in capsys.readouterr().err
    (tmp_path / "results.jsonl").write_text("{")
    assert cli.main(["kernels", str(tmp_path / "results.jsonl")]) == 2
    assert "results.jsonl:1: broken JSON" in capsys.readouterr().err
