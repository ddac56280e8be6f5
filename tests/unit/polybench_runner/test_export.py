"""Exported folders: complete, buildable by make, and read back with their version checked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from polybench.runner import cli
from polybench.runner.rows import append, read

from .conftest import write_family

FOLDER = "tiny-scale-double-auto"
FAKE_NVCC = """#!/bin/sh
# Stands for nvcc: the last argument is the executable to write.
for last; do :; done
printf '#!/bin/sh\\n%s\\n' "$FAKE_DRIVER" >"$last"
chmod +x "$last"
"""
TIMES = '"median_ms": 2.0, "spread": 0.1, "runs": 7, "launches": 1, "first_s": 0.5'
COMPARED = [{"array": "y", "max_error": 0, "tolerance": 0, "scale": 1}]
MEASURED = f'{TIMES}, "validated": {json.dumps(COMPARED)}'


@pytest.fixture(scope="module")
def exported_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of families and an export of it beside it, for all tests: two compilers take part."""
    root = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "ROOT", write_family(root))
        assert cli.main(["export", str(root / "out"), "tiny", "--dtype", "double"]) == 1  # one program is refused
    return root


@pytest.fixture
def exported(exported_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the export."""
    monkeypatch.setattr(cli, "ROOT", exported_once / "families")
    target = tmp_path / "out"
    shutil.copytree(exported_once / "out", target)
    return target


def run_script(folder: Path, driver: str) -> subprocess.CompletedProcess[str]:
    """run.sh with something else in place of the compiled driver."""
    nvcc = folder.parent / "nvcc"
    nvcc.write_text(FAKE_NVCC)
    nvcc.chmod(0o755)
    environment = {**os.environ, "NVCC": str(nvcc), "FAKE_DRIVER": driver, "TIMEOUT": "1"}
    return subprocess.run([folder / "run.sh"], env=environment, capture_output=True, text=True, timeout=60, check=False)


def exported_row(folder: Path) -> dict[str, Any]:
    """The head of the one program that was exported."""
    (row,) = (r for r in json.loads((folder / "manifest.json").read_text())["rows"] if "error" not in r)
    return dict(row)


needs_make = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="make and cc are needed"
)


@pytest.mark.slow
def test_the_folder_is_complete(exported: Path, exported_once: Path) -> None:
    files = {str(p.relative_to(exported)) for p in exported.rglob("*") if p.is_file()}
    names = ("driver.cu", "reference.c", "wide.c", "head", "scale_kernel.cu", "scale_kernel.h", "scale_host.c")
    assert {"Makefile", "run.sh", "driver.h", "manifest.json", "source/tiny/scale.c"} <= files
    assert {f"{FOLDER}/{name}" for name in names} <= files
    assert not any("refused" in f for f in files if not f.startswith("source/"))
    driver = (exported / FOLDER / "driver.cu").read_text()
    assert 'bench::Array<double> v0("x", {10}, 0, 1, {true, true, true, false});' in driver
    assert str(exported_once) not in "".join(p.read_text() for p in exported.rglob("*") if p.is_file())


@pytest.mark.slow
@needs_make
def test_results_come_back(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished = run_script(exported, f"echo '{MEASURED}'")
    assert finished.returncode == 0, finished.stderr + (exported / "make.log").read_text()
    capsys.readouterr()
    rows = tmp_path / "rows.jsonl"
    assert cli.main(["import", str(exported), "--json", str(rows)]) == 1
    found = {r["program"]: r for r in read(rows)}
    scale = found["tiny/scale"]
    assert (scale["on"], scale["dataset"], scale["median_ms"]) == ("gpu", "mini", 2.0)
    assert scale["cold_s"] >= scale["first_s"] + scale["compile_s"] and scale["nvcc_s"] > 0
    assert "not affine" in found["tiny/refused"]["error"]
    shown = capsys.readouterr().out
    assert "1 of 2 passed" in shown and "validated" in shown


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"validated": []}, {}], ids=["nothing compared", "not compared"])
def test_a_result_without_a_validation_has_not_passed(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    timed = {**exported_row(exported), "runs": 7, "spread": 0.1, "median_ms": 2.0, **more}
    append(exported / "results.jsonl", [timed])
    capsys.readouterr()
    assert cli.main(["import", str(exported), "--json", str(tmp_path / "rows.jsonl")]) == 1
    shown = capsys.readouterr().out
    assert "0 of 2 passed" in shown and "not validated: no array was compared" in shown
    (scale,) = (r for r in read(tmp_path / "rows.jsonl") if r["program"] == "tiny/scale")
    assert scale["error"].startswith("not validated") and scale["median_ms"] == 2.0


@pytest.mark.slow
def test_a_result_without_a_validation_replaces_none(exported: Path, tmp_path: Path) -> None:
    timed = {**exported_row(exported), "runs": 7, "spread": 0.1}
    append(exported / "results.jsonl", [timed | {"median_ms": 3.0, "validated": COMPARED}, timed | {"median_ms": 2.0}])
    cli.main(["import", str(exported), "--json", str(tmp_path / "rows.jsonl")])
    assert [r["median_ms"] for r in read(tmp_path / "rows.jsonl") if r["program"] == "tiny/scale"] == [3.0]


@pytest.mark.slow
def test_results_of_another_machine_and_of_several_runs(exported: Path, tmp_path: Path) -> None:
    row = exported_row(exported)
    first, second, rows = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "rows.jsonl"
    timed = {**row, "runs": 7, "spread": 0.1, "validated": COMPARED}
    append(first, [timed | {"median_ms": 3.0}, timed | {"median_ms": 2.0}])
    append(second, [row | {"error": "timeout"}])
    assert cli.main(["import", str(exported), "--from", str(first), str(second), "--json", str(rows)]) == 1
    assert [r["median_ms"] for r in read(rows) if r["program"] == "tiny/scale"] == [2.0]


@pytest.mark.slow
@needs_make
@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ("kill -9 $$", "it ended with status|timeout"),
        ("sleep 20", "timeout: did not end within 1 s"),
        ("exit 5", "it ended with status 5"),
        ("exit 0", "it printed nothing"),
        ('echo \'"error": "3 of 10 elements of x differ"\'; exit 3', "3 of 10 elements"),
    ],
)
def test_a_driver_that_fails_is_a_failed_row(exported: Path, driver: str, reason: str) -> None:
    finished = run_script(exported, driver)
    assert finished.returncode == 1 and "1 failed" in finished.stderr
    (row,) = read(exported / "results.jsonl")
    assert any(part in row["error"] for part in reason.split("|"))


@pytest.mark.slow
@needs_make
@pytest.mark.parametrize(
    ("status", "expected"), [(0, "clean"), (86, "memcheck found something"), (1, "memcheck did not end well")]
)
def test_programs_run_under_the_tools_of_compute_sanitizer(
    exported: Path, monkeypatch: pytest.MonkeyPatch, status: int, expected: str
) -> None:
    tool = exported.parent / "sanitizer"
    tool.write_text(f'#!/bin/sh\necho "$@"\nexit {status}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("CHECK", "memcheck")
    monkeypatch.setenv("SANITIZER", str(tool))
    finished = run_script(exported, f"echo '{MEASURED}'")
    (row,) = read(exported / "results.jsonl")
    assert expected in row["memcheck" if status == 0 else "error"]
    assert finished.returncode == (0 if status == 0 else 1)
    assert "--tool memcheck" in (exported / FOLDER / "memcheck.log").read_text()


@pytest.mark.slow
def test_a_missing_nvcc(exported: Path) -> None:
    environment = {**os.environ, "NVCC": "no-such-nvcc"}
    finished = subprocess.run(
        [exported / "run.sh"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 4
    assert finished.stderr == "run.sh: no-such-nvcc was not found: put it on PATH or set NVCC\n"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    capsys.readouterr()
    assert cli.main([str(a) for a in arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.slow
def test_folders_that_are_no_results(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no results yet" in refused(capsys, "import", exported)
    assert "is no exported folder" in refused(capsys, "import", tmp_path)
    assert "is not empty" in refused(capsys, "export", exported, "tiny")
    manifest = exported / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "format": 0}))
    assert "exported by another version (format 0" in refused(capsys, "import", exported)
    manifest.write_text(json.dumps({"kind": "else"}))
    assert "is no manifest" in refused(capsys, "import", exported)
    manifest.write_text("{")
    assert "broken JSON" in refused(capsys, "import", exported)
