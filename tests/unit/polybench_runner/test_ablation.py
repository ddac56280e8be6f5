"""`ablation`: large bodies without one improvement at a time, as jobs and as tables; a script stands for ptxas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polytile
from polybench.runner import cli
from polybench.runner.ablation import EVERYTHING, PASSES, STEPS, ablated, jobs, markdown, settings_without
from polybench.runner.tables import ROOT, Entry, load, select
from tests.unit.polybench_runner.test_caps import FAKE_NVCC

WHOLE = {"loops": 3, "block": [8, 1, 32], "default_block": [2, 4, 32]}


def test_each_setting_leaves_out_one_thing() -> None:
    found = {step: settings_without(step, WHOLE) for step in STEPS[1:]}
    assert found["register tile"] == {"points": [1, 1, 1], "block": [8, 1, 32]}
    assert found["flat blocks"] == {"block": [2, 4, 32]} and found["order"] == {"order": "source"}
    assert [found[step]["disable_pass"] for step in PASSES] == [[name] for (name,) in PASSES.values()]
    assert len(found[EVERYTHING]["disable_pass"]) == 4 and found[EVERYTHING]["block"] == [2, 4, 32]
    assert "block" not in settings_without("register tile", {**WHOLE, "block": []})


def row(step: str, digest: str, registers: int = 32, spilled: int = 0) -> dict[str, Any]:
    kernel = {"kernel": "k0", "registers": registers, "spill_bytes": spilled}
    about = {"program": "reorder/x", "dtype": "float", "dataset": "mini", "without": step, "settings": {"n": step}}
    return {**about, "digest": digest, "nvcc_release": "13.0", "capped": [kernel, {**kernel, "kernel": "k0_wide"}]}


def test_what_makes_no_difference_is_no_job() -> None:
    rows = [row(STEPS[0], "a"), row("order", "b", 40, 8), row("shared sums", "a"), row("32-bit offsets", "b", 40, 8)]
    assert [job["label"] for job in jobs(rows)] == ["everything on", "without order"]
    *_, line = markdown(rows).splitlines()
    assert line == "| x | 32 |  |  | 40 (8) |  | = |  | 40 (8) |  |  |"


@pytest.mark.slow
def test_command(
    family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "ROOT", family)
    compiler = tmp_path / "nvcc"
    compiler.write_text(FAKE_NVCC)
    compiler.chmod(0o755)
    monkeypatch.setenv("NVCC", str(compiler))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    written, table = tmp_path / "jobs", tmp_path / "table.md"
    chosen = ["scale", "--dtype", "double", "--dataset", "mini", "--write", str(written), "--markdown", str(table)]
    assert cli.main(["ablation", *chosen]) == 0
    (job,) = map(json.loads, written.read_text().splitlines())  # a body that has nothing of all this
    assert job["settings"] == {} and job["label"] == "everything on"
    assert table.read_text().endswith(f"| scale | 10 |{' = |' * (len(STEPS) - 1)}\n")
    said = capsys.readouterr().err
    assert "without nothing: 10" in said
    assert "without register tile: compiled" in said  # to the same kernels: ptxas is not asked again
    assert cli.main(["ablation", "refused", "--dtype", "double"]) == 1


def entry(name: str) -> Entry:
    (found,) = select(load(ROOT), [f"reorder/{name}"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["2d25pt", "3d27pt"])
def test_every_setting_gives_the_results_of_c(
    name: str, emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC", "none")
    one = entry(name)
    monkeypatch.chdir(ROOT)

    def compiled(settings: dict[str, Any]) -> polytile.Program:
        return polytile.compile(Path(one.file), defines=one.defines("mini", "float"), raise_bugs=True, **settings)

    program = compiled({})
    whole = ablated(program, program.cuda, tmp_path)
    texts = set()
    for step in STEPS[1:]:
        program = compiled(settings_without(step, whole))
        if program.cuda not in texts:
            program.scops[0].validate(on="emulator", parameters=one.sizes("mini"))
        texts.add(program.cuda)
    assert len(texts) >= 4
