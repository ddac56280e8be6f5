"""The commands from outside: rows that are kept, exit statuses, and one line for what a user did wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from polybench.runner import cli
from polybench.runner.pool import Pool
from polybench.runner.rows import append, head, read
from polytile.runtime.compilers import nvcc

needs_cc = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler")


@pytest.fixture(autouse=True)
def tiny(family: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "ROOT", family)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """The exit status and the only line on standard error."""
    status = cli.main([str(a) for a in arguments])
    said = capsys.readouterr().err
    assert said.startswith("polybench: error: ") and said.count("\n") == 1
    return status, said


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    assert capsys.readouterr().out.split("\n")[0].split() == ["tiny/scale", "double", "large:", "n=40"]


@pytest.mark.slow
@needs_cc
def test_a_failed_row_does_not_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.jsonl"
    assert cli.main(["run", "tiny/*", "--json", str(results), "--jobs", "2"]) == 1
    found = {(r["program"], r["dtype"]): r for r in read(results)}
    assert len(found) == 4
    for dtype in ("double", "float"):
        assert "validated on the emulator" in found["tiny/scale", dtype]["validated"][0]
        assert "not affine" in found["tiny/refused", dtype]["error"]
    out = capsys.readouterr().out
    assert out.count("FAILED") == 2 and "2 of 4 passed" in out
    assert str(tmp_path) not in results.read_text()


@needs_cc
def test_the_sequential_c_is_timed(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    arguments = ["run", "scale", "--on", "cpu", "--dtype", "float", "--runs", "3", "--json", str(results)]
    assert cli.main(arguments) == 0
    (row,) = read(results)
    assert (row["median_ms"], row["spread"], row["runs"]) == (0.125, 0.0, 3)


@pytest.mark.slow
def test_metrics_and_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    metrics = ["run", "scale", "--on", "cpu", "--metrics", "--dtype", "double"]
    assert cli.main([*metrics, "--json", str(old)]) == 0
    (row,) = read(old)
    assert (row["kernels"], row["launches"], row["barriers"], row["device_bytes"]) == (1, 1, 0, 80)
    assert cli.main([*metrics, "--compare", str(old)]) == 0
    old.write_text(json.dumps({**row, "device_bytes": 40, "lines": 1}) + "\n")
    capsys.readouterr()
    assert cli.main([*metrics, "--compare", str(old), "--json", str(new)]) == 1
    out = capsys.readouterr().out
    assert "device_bytes" in out and "40 -> 80" in out and "2 got worse" in out
    assert len(read(new)) == 1


def test_rows_are_appended_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results.jsonl"
    row = head("tiny/scale", "double", "auto", "mini", "emulator")

    def interrupted(_self: Pool, _work: Any) -> Any:
        yield row
        assert read(results) == [row]
        raise KeyboardInterrupt

    monkeypatch.setattr(Pool, "run", interrupted)
    assert cli.main(["run", "--json", str(results), "--on", "cpu", "--metrics"]) == 130
    assert read(results) == [row]


def test_an_unknown_program(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = refused(capsys, "run", "scal")
    assert status == 2 and "no program matches 'scal'; did you mean 'scale'?" in said


def test_an_empty_selection(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "run", "nothing/*")[0] == 2
    assert refused(capsys, "list", "")[0] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "prog', "old.jsonl:1: broken JSON"),
        ("[1, 2]", "no result of this runner"),
        ('{"program": "gemm", "type": "double"}', "format none, this version reads 1"),
        ('{"program": "gemm", "format": 99}', "format 99, this version reads 1"),
        ('{"program": "gemm", "format": 1}', "has no 'dtype'"),
    ],
)
def test_broken_or_old_results(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text(text + "\n")
    for arguments in (["run", "--compare", old], ["run", "--json", old], ["report", old]):
        status, said = refused(capsys, *arguments)
        assert status == 2 and message in said
    assert old.read_text() == text + "\n"


def test_missing_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "No such file" in refused(capsys, "run", "--compare", tmp_path / "none.jsonl")[1]
    assert "No such file" in refused(capsys, "report", tmp_path / "none.jsonl")[1]
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "is no text" in refused(capsys, "report", tmp_path / "binary")[1]


WRONG: dict[str, bytes | None] = {
    "none": None,
    "empty": b"",
    "bytes": b"\xff\xfe\x00",
    "text": b"no JSON\n",
    "list": b"[1, 2]\n",
    "object": b"{}\n",
    "a line of no point": b'{"version": 1, "source": 5}\n',
    "of another version": b'{"version": 9}\n',
}
MEASURED = {"program": "tiny/scale", "dtype": "double", "dataset": "mini", "settings": {}, "strategy": "classic"}
ODD: dict[str, dict[str, Any]] = {
    "no time": {},
    "a word for a time": {"median_ms": "1"},
    "no time at all": {"median_ms": 0},
    "a list of settings": {"median_ms": 1.0, "settings": []},
    "another type": {"median_ms": 1.0, "dtype": "half"},
    "another data set": {"median_ms": 1.0, "dataset": "huge"},
}
WRONG |= {name: json.dumps({**MEASURED, **odd}).encode() for name, odd in ODD.items()}


@pytest.mark.slow(but=20)
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("command", ["estimates", "replay", "kernels", "report", "sweep", "limits"])
def test_wrong_files_are_told_with_a_hint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, kind: str
) -> None:
    path, content = tmp_path / "f.jsonl", WRONG[kind]
    if content is not None:
        path.write_bytes(content)
    status, said = refused(capsys, command, path)
    assert status == 2 and ("; " in said or ": one of " in said)
    for raw in ("Errno", "codec", "object has", "indices", "Traceback"):
        assert raw not in said


def test_a_missing_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    status, said = refused(capsys, "run", "scale", "--on", "cpu")
    assert status == 4 and "'no-such-compiler'" in said


@pytest.mark.parametrize("arguments", [["--dtype", "half"], ["--jobs", "0"], ["--timeout", "-1"], ["--on", "moon"]])
def test_wrong_options(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["run", *arguments])
    assert caught.value.code == 2


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    append(rows, [head("tiny/scale", "double", "classic", "mini", "gpu") | {"error": "no"}])
    status, said = refused(capsys, "report", rows, "--markdown", tmp_path / "none" / "table.md")
    assert status == 2 and "No such file" in said


@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
def test_resources_beside_those_of_ptxas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.md"
    assert cli.main(["resources", "scale", "--markdown", str(table)]) == 0
    assert "| kernel | threads | registers | ptxas |" in table.read_text()
    assert "\n| tiny/scale k0 | " in table.read_text() and table.read_text() in capsys.readouterr().out


def test_resources_need_nvcc(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC", "no such compiler")
    status, said = refused(capsys, "resources", "scale")
    assert status == 2 and "nvcc was not found" in said
