"""Bad command lines and bad files: the exit status, the place, the message and the hint of each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polytile.cli.main import main

GOOD = """void f(int n, double A[n], double B[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i] = 2.0 * B[i];
#pragma endscop
}
"""
REFUSED = """void g(int n, double *A, int *p)
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i * i] = 1.0;
#pragma endscop
}
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.c"
    path.write_text(GOOD)
    return path


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


USAGE = [
    ("unknown option", ["--frobnicate"], "unrecognized arguments: --frobnicate", "note: polytile --help lists"),
    ("misspelt option", ["--shedule", "classic"], "unrecognized arguments: --shedule", "did you mean --schedule?"),
    ("with a value", ["--time-tyle=8"], "unrecognized arguments: --time-tyle=8", "did you mean --time-tile?"),
    ("one dash", ["-explain"], "unrecognized arguments: -explain", "did you mean --explain?"),
    ("two of them", ["--valdate", "--sanitise=all"], "--valdate --sanitise=all", "--validate and --sanitize?"),
    ("target", ["--target", "opencl"], "argument --target: invalid choice: 'opencl'", "--help"),
    ("place", ["--on", "moon"], "argument --on: invalid choice: 'moon'", "--help"),
    ("fp", ["--fp", "fast"], "argument --fp: invalid choice: 'fast'", "--help"),
    ("schedule", ["--schedule", "best"], "unknown schedule 'best'", "classic"),
    ("arch", ["--arch", "sm_1"], "unknown architecture 'sm_1'", "sm_90"),
    ("param twice", ["--param", "n=4", "--param", "n=5"], "--param: n is given twice, 4 and 5", "give it once"),
    ("param without value", ["--param", "n"], "--param n: not a parameter and its value", "--param N=4096"),
    ("param not a number", ["--param", "n=four"], "--param n: 'four' is not an integer", "32"),
    ("param unknown", ["--param", "m=4"], "there is no parameter 'm'", "the parameters are n"),
    ("param too large", ["--param", "n=2147483648"], "n=2147483648 does not fit its type, int", "2147483647"),
    ("tile not a number", ["--tile", "32,x"], "--tile: 'x' is not an integer", "--tile 32"),
    ("tile zero", ["--tile", "0"], "--tile: 0 is out of range", "1 to"),
    ("tile negative", ["--tile=-4"], "--tile: -4 is out of range", "1 to"),
    ("tile empty", ["--tile", ""], "--tile: '' is not an integer", "--tile 32"),
    ("block dimensions", ["--block", "2,2,2,2"], "--block takes at most three sizes", "z, y and x"),
    ("block too large", ["--block", "2048"], "2048", "1024"),
    ("block product too large", ["--block", "64,32"], "2048 threads", "1024"),
    ("planes", ["--planes", "l2"], "unknown planes 'l2'", "auto, shared, registers"),
    ("planes elsewhere", ["--planes", "shared", "--schedule", "split"], "--planes: the split strategy", "overlapped"),
    ("planes over time", ["--planes", "shared", "--time-tile", "2"], "run one step, not 2", "--time-tile 1"),
    ("barriers alone", ["--barriers", "2"], "--barriers is for streaming kernels of one step", "--planes shared"),
    ("read-only alone", ["--read-only"], "--read-only is for streaming kernels of one step", "--planes registers"),
    ("barriers", ["--planes", "shared", "--barriers", "3"], "--barriers: 3 is out of range", "from 1 to 2"),
    ("dump", ["--dump", "tokens"], "--dump: there is no stage 'tokens'", "dependences"),
    ("seed", ["--seed", "x"], "--seed: 'x' is not an integer", "--seed 32"),
    ("macro", ["-D", "1=2"], "-D 1=2: a macro needs a name", "-D NAME"),
    ("link", ["--link", "a.o"], "--link needs --build", "--build EXE"),
    ("loudness", ["-v", "-q"], "not allowed with argument", "--help"),
    ("schedule file", ["--load-schedule", "nowhere.yaml"], "cannot read nowhere.yaml: No such file", "exists"),
]


@pytest.mark.parametrize(("options", "message", "hint"), [u[1:] for u in USAGE], ids=[u[0] for u in USAGE])
def test_wrong_usage(
    options: list[str],
    message: str,
    hint: str,
    good: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(good, *options) == 2
    captured = capsys.readouterr()
    first, *rest = captured.err.splitlines()
    assert ": error: " in first and message in first
    assert hint in rest[-1] and rest[-1].startswith("  note: ")
    assert captured.out == "" and "Traceback" not in captured.err
    assert [p.name for p in tmp_path.iterdir()] == ["good.c"], "nothing is left behind"


def test_no_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert "the following arguments are required: INPUT.c" in capsys.readouterr().err


FILES = [
    ("missing include", '#include "nowhere.h"\n' + GOOD, 1, 1, "nowhere.h"),
    ("syntax", GOOD.replace("2.0 *", "2.0 * *;"), 5, 1, "error"),
    ("unbalanced", GOOD.replace("#pragma endscop\n", ""), 3, 1, "endscop"),
    ("undeclared", GOOD.replace("B[i]", "C[i]"), 5, 1, "C"),
    ("non-affine subscript", REFUSED, 5, 1, "i * i"),
    ("no SCoP", "int main(void) { return 0; }\n", 1, 1, "no SCoP"),
]


@pytest.mark.parametrize(("text", "line", "status", "message"), [f[1:] for f in FILES], ids=[f[0] for f in FILES])
def test_bad_files(
    text: str, line: int, status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.c"
    path.write_text(text)
    assert run(path, "-o", tmp_path, "-q") == status
    error = capsys.readouterr().err
    assert error.startswith(f"{path}:{line}:") or error.startswith(f"{path}:{line}")
    assert "error: " in error.splitlines()[0] and message in error.splitlines()[0]


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "nowhere.c", "-o", tmp_path) == 1
    assert "nowhere.c" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_size_that_overflows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.c"
    path.write_text(GOOD.replace("A[n]", "A[4611686018427387904]"))
    assert run(path, "-o", tmp_path) == 1
    assert "overflow" in capsys.readouterr().err.splitlines()[0]


def test_an_output_folder_below_a_file(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "-o", good / "nowhere") == 1
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_folder_that_cannot_be_written(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert run(good, "-o", locked) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_an_output_folder_that_is_a_file(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "-o", good) == 1
    assert "is not a folder" in capsys.readouterr().err


def test_on_gpu_without_a_gpu(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polytile.runtime.engine.driver_arch", lambda: None)
    assert run(good, "-o", tmp_path, "--validate", "--on", "gpu") == 4
    assert run(good, "-o", tmp_path, "--on", "gpu") == 4
    error = capsys.readouterr().err
    assert "cannot run on the GPU: there is no GPU" in error and "--on emulator" in error
    assert [p.name for p in tmp_path.iterdir()] == ["good.c"]


def test_no_host_compiler(good: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX")} | {"PATH": str(tmp_path)}
    command = [sys.executable, "-m", "polytile", str(good), "-o", str(tmp_path), "--validate", "--on", "emulator"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 4
    assert "compiler" in found.stderr and "note: " in found.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["good.c"]


def test_a_refused_scop_stays_c_and_the_others_are_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.c"
    path.write_text(GOOD + REFUSED)
    assert run(path, "-o", tmp_path) == 1
    captured = capsys.readouterr()
    assert f"{path}:12:" in captured.err and "error: " in captured.err
    assert "nothing was written; with --keep-going" in captured.out
    assert [p.name for p in tmp_path.iterdir()] == ["two.c"]  # nothing with which `make` would go on
    assert run(path, "-o", tmp_path, "--keep-going") == 0
    assert "warning: " in capsys.readouterr().err
    host = (tmp_path / "two_host.c").read_text()
    assert "polytile_" in host and "A[i * i] = 1.0;" in host
    assert (tmp_path / "two_kernel.cu").exists() and (tmp_path / "two_kernel.h").exists()


def test_a_build_that_fails_leaves_no_file(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`good` has no main, so it cannot be linked."""
    out = tmp_path / "out"
    assert run(good, "-o", out, "--build", tmp_path / "program", "--on", "emulator") == 4
    assert "linking program failed" in capsys.readouterr().err
    assert not (tmp_path / "program").exists()
    assert not out.exists()


def test_a_parameter_that_contradicts_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "assume.c"
    path.write_text(GOOD.replace("#pragma scop", "#pragma polytile assume(n >= 4)\n#pragma scop"))
    assert run(path, "-o", tmp_path, "--param", "n=2") == 2
    assert "n=2 contradicts" in capsys.readouterr().err


def test_a_schedule_file_that_isl_cannot_read(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("nonsense")
    assert run(good, "-o", tmp_path, "--load-schedule", broken) == 1
    assert "error: " in capsys.readouterr().err


def test_a_schedule_file_of_another_program(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("# schedule of main_scop7\n{}\n")
    assert run(good, "-o", tmp_path, "--load-schedule", other) == 2
    assert "main_scop7" in capsys.readouterr().err


def test_a_program_that_disagrees_is_not_written(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polytile.runtime.engine.EmulatorEngine.run", lambda *_: None)
    assert run(good, "-o", tmp_path, "--validate", "--on", "emulator", "--seed", "1") == 3
    error = capsys.readouterr().err
    assert error.startswith(f"{good}:") and "computes something else on the emulator: A[0] is" in error
    assert [p.name for p in tmp_path.iterdir()] == ["good.c"]


def test_a_bug_is_reported_without_a_traceback(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("polytile.cli.command.compile_file", fail)
    assert run(good, "-o", tmp_path) == 70
    error = capsys.readouterr().err
    assert "internal error: RuntimeError: oops" in error and "please report" in error and "Traceback" not in error
    assert run(good, "-o", tmp_path, "-v") == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("polytile.cli.command.compile_file", stop)
    assert run(good, "-o", tmp_path) == 130


def test_a_closed_output_is_no_traceback(good: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "polytile", str(good), "-o", str(tmp_path), "--explain"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)


def test_shared_memory_beyond_the_device(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "-o", tmp_path, "--max-shared-memory", "300000") == 2
    error = capsys.readouterr().err
    assert "a block of sm_90 cannot have 300000 bytes" in error and "232448" in error
