"""`caps`: registers and spills by ptxas, which a script stands for, at several caps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polybench.runner import cli
from polybench.runner.caps import markdown

# Takes the registers of the cap, or 10 without one, and spills below 32.
FAKE_NVCC = """#!/bin/sh
echo "$@" >>"$LOG"
case "$1" in --version) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0;; esac
for last; do :; done
for word; do case "$word" in *.cu) unit=$word;; esac; done
: >"$last"
cap=$(sed -n 's/.*__maxnreg__(\\([0-9]*\\)).*/\\1/p' "$unit" | head -n 1)
spilled=0
if [ "${cap:-99}" -lt 32 ]; then spilled=24; fi
for name in $(sed -n 's/.*__global__.* \\([a-z0-9_]*_k[0-9]*[a-z_]*\\)(.*/\\1/p' "$unit"); do
    echo "ptxas info    : Compiling entry function '$name' for 'sm_90'"
    echo "    0 bytes stack frame, $spilled bytes spill stores, $spilled bytes spill loads"
    echo "ptxas info    : Used ${cap:-10} registers, used 0 barriers"
done
"""


@pytest.fixture(autouse=True)
def tiny(family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "ROOT", family)
    compiler = tmp_path / "nvcc"
    compiler.write_text(FAKE_NVCC)
    compiler.chmod(0o755)
    monkeypatch.setenv("NVCC", str(compiler))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))


@pytest.mark.slow
def test_each_cap_type_and_order_has_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, results = tmp_path / "caps.md", tmp_path / "caps.jsonl"
    files = ["--markdown", str(table), "--json", str(results)]
    assert cli.main(["caps", "scale", "--caps", "64,24,0", "--dtype", "double", "--order", "auto", *files]) == 0
    found = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted((row["fp"], row["cap"]) for row in found) == [
        (fp, cap) for fp in ("reassociate", "strict") for cap in (0, 24, 64)
    ]
    by_cap = {row["cap"]: row["capped"][0] for row in found if row["fp"] == "strict"}
    assert [(by_cap[n]["registers"], by_cap[n]["spill_bytes"]) for n in (64, 24, 0)] == [(64, 0), (24, 48), (10, 0)]
    compilations = [line for line in (tmp_path / "log").read_text().splitlines() if "-cubin" in line]
    assert sum("--fmad=false" in line for line in compilations) == 3 and len(compilations) == 6
    text = table.read_text()
    assert text in capsys.readouterr().out
    assert "## double, strict" in text and "| kernel | order | 64 | 24 | own |" in text
    assert "sm_90, nvcc 13.0." in text and "**(48)** | 10 / " in text


def test_programs_that_are_refused_fail(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--caps", "64", "--dtype", "float", "--fp", "strict", "--order", "source"]
    assert cli.main(["caps", "refused", *chosen]) == 1
    said = capsys.readouterr()
    assert "tiny/refused float strict source 64: FAILED" in said.err and said.out == ""


def test_estimates_are_compared() -> None:
    kernel = {"kernel": "k0", "spill_bytes": 0, "instructions": 8, "max_live": 30}
    head = {"program": "tiny/scale", "dtype": "float", "fp": "strict", "order": "auto", "points": [4, 1]}
    about = {"arch": "sm_90", "nvcc_release": "13.0"}
    rows = [
        {**head, **about, "cap": cap, "capped": [{**kernel, "registers": 40, "estimate": own}]}
        for cap, own in ((64, 42), (48, 50), (0, 40))
    ]
    text = markdown(rows)
    assert "| float, strict, auto | 3 | 5.0% | 25% | 67% |" in text
    assert "| scale (4 x 1 points) k0 | auto | 40 / 42, 30 | 40 / 50, 30 | 40 / 40, 30 |" in text
    assert markdown([]) == ""


def test_without_nvcc(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    assert cli.main(["caps", "scale"]) == 4
    assert "nvcc was not found" in capsys.readouterr().err


def test_caps_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["caps", "scale", "--caps", "few"])
    assert "'few' is no list of numbers" in capsys.readouterr().err
