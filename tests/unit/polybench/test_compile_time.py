"""The measurement of compile times: it runs, and it knows what is beyond a limit."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import polytile

SCRIPT = Path(__file__).resolve().parents[3] / "polybench" / "compile_time.py"


@pytest.fixture(scope="module")
def compile_time() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compile_time", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_figures_as_json() -> None:
    command = [sys.executable, str(SCRIPT), "gemm", "--repeat", "1", "--no-validate", "--json", "-"]
    environment = {**os.environ, "PYTHONPATH": str(Path(polytile.__file__).parents[1])}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(finished.stdout)
    assert found["cpus"] >= 1
    assert [(f["program"], f["action"], f["failure"]) for f in found["figures"]] == [
        ("", "version", ""),
        ("gemm", "compile", ""),
    ]
    assert all(f["seconds"] > 0 and f["megabytes"] > 1 for f in found["figures"])


def test_limits_are_by_action(compile_time: ModuleType) -> None:
    figure = compile_time.Figure
    assert figure("", "version", 0.31, 10).exceeded == ("0.3 s",)
    assert figure("lu", "compile", 2.5, 401).exceeded == ("2 s", "400 MB")
    assert figure("lu", "validate", 9, 900).exceeded == ()


def test_exit_status(compile_time: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    fast, slow = (compile_time.Figure("lu", "compile", seconds, 50) for seconds in (0.5, 3.0))
    failed = compile_time.Figure("lu", "compile", 0.5, 50, "exit status 70: polytile: error")
    assert compile_time.finish([fast], 1, None) == 0
    assert compile_time.finish([fast, slow], 1, None) == 1
    assert compile_time.finish([failed], 1, None) == 1
    assert "1 of 1 beyond a limit or failed" in capsys.readouterr().out


@pytest.mark.parametrize("cached", [False, True])
def test_commands_compile_unless_the_cache_is_measured(compile_time: ModuleType, tmp_path: Path, cached: bool) -> None:
    code = "import os, sys; print(os.environ['POLYTILE_CACHE'], file=open(sys.argv[1], 'a'))"
    command = [sys.executable, "-c", code, str(tmp_path / "seen")]
    assert compile_time.measure("lu", "compile", command, tmp_path, 2, cached=cached).failure == ""
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen == ([str(tmp_path / "cache")] * 3 if cached else ["0", "0"])


def test_commands_keep_their_bytecode(
    compile_time: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    command = [sys.executable, "-c", "import sys; sys.exit(sys.dont_write_bytecode)"]
    assert compile_time.measure("lu", "compile", command, tmp_path, 1).failure == ""


def test_a_failing_command_is_a_failure(compile_time: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('no such thing'); sys.exit(4)"]
    figure = compile_time.measure("lu", "compile", command, tmp_path, 1)
    assert figure.failure == "exit status 4: no such thing"
    assert not figure.good


def test_an_unknown_program(compile_time: ModuleType) -> None:
    with pytest.raises(SystemExit) as caught:
        compile_time.main(["gem"])
    assert caught.value.code == 2


@pytest.mark.slow
def test_programs_of_all_families(compile_time: ModuleType) -> None:
    assert compile_time.selected([], every=False)[0] == "gemm"
    everything = compile_time.selected([], every=True)
    assert {"gemm", "an5d/star2d1r", "polyast/symm-3.2"} <= set(everything)
    assert all(compile_time.suite()[name].exists() for name in everything)
    assert compile_time.selected(["lu"], every=True) == ["lu"]


def test_factors_since_a_report(compile_time: ModuleType) -> None:
    figure = compile_time.Figure
    old = [figure("lu", "compile", 2.0, 50, "", 1.0), figure("adi", "compile", 1.0, 50), figure("", "version", 1, 9)]
    new = [figure("lu", "compile", 1.0, 50, "", 0.9), figure("adi", "compile", 4.0, 50, "", 9.0)]
    failed = [figure("gemm", "compile", 1.0, 50, "exit status 70"), figure("mvt", "compile", 1.0, 50)]
    before = json.loads(compile_time.report([*old, *failed], 1))["figures"]
    found = compile_time.changes(before, [*new, figure("gemm", "compile", 1.0, 50)])
    assert [(c.program, c.factor, c.processor) for c in found] == [("lu", 0.5, 0.9), ("adi", 4.0, None)]
    (mean,) = compile_time.means(found)
    assert mean == "compile: geometric mean of 2: time x 1.414, processor time x 0.900"


def test_a_report_that_is_none(compile_time: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.json").write_text("[]")
    for old in ("old.json", "none.json"):
        with pytest.raises(SystemExit) as caught:
            compile_time.main(["gemm", "--compare", str(tmp_path / old)])
        assert caught.value.code == 2 and "is no report" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        compile_time.main(["gemm", "--against", str(tmp_path)])
    assert "no polytile in" in capsys.readouterr().err


@pytest.mark.slow
def test_in_turns_with_another_checkout(
    compile_time: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other one's polytile is what runs: it says so and takes its time."""
    other, report = tmp_path / "other", tmp_path / "report.json"
    (other / "polytile").mkdir(parents=True)
    ran = tmp_path / "ran"
    (other / "polytile" / "__init__.py").write_text("")
    (other / "polytile" / "__main__.py").write_text(f"open({str(ran)!r}, 'a').write('.')\n")
    compile_time.main(["jacobi-1d", "--no-validate", "--repeat", "2", "--against", str(other), "--json", str(report)])
    assert ran.read_text() == "." * 5  # once before the first figure, then twice each of the two commands
    out = capsys.readouterr().out
    assert "jacobi-1d              compile" in out and "compile: geometric mean of 1: time x " in out
    assert [f["failure"] for f in json.loads(report.read_text())["figures"]] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "schedule", "most"),
    [("an5d/box2d4r", "auto", 4), ("an5d/box3d4r", "overlapped", 6), ("an5d/box3d4r", "auto", 6)],
    ids=lambda value: str(value),
)
def test_large_boxes_do_not_take_long(
    compile_time: ModuleType, tmp_path: Path, program: str, schedule: str, most: int
) -> None:
    """How many times as much processor time as a star of radius 1 on the same machine: accesses of a box that differ by
    constants alone are looked at once."""

    def seconds(name: str) -> float:
        (_, (_, _, command)) = compile_time.commands([name], tmp_path, validate=False)
        ran = compile_time.run([*command, "--schedule", schedule], tmp_path / "log", Path(polytile.__file__).parents[1])
        assert ran.status == 0, ran.output
        return float(ran.processor_seconds)

    assert seconds(program) < most * seconds("an5d/star2d1r")
