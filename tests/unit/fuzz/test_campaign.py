"""`polytile fuzz`: its words, its lines, its files and its exit status; processes that crash and hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import polytile.fuzz.campaign
from polytile.cli.main import EXIT_INTERRUPTED, main
from polytile.diagnostics import EXIT_DEVICE, EXIT_DONE, EXIT_USAGE, EXIT_VALIDATION, DeviceError, UserError
from polytile.fuzz.campaign import Plan, failure_text
from polytile.fuzz.case import Case, case_of
from polytile.fuzz.children import run_all, run_one
from polytile.fuzz.outcome import AGREED, REFUSED, Outcome, outcome_of
from polytile.fuzz.trial import same_bits_on_gpus
from polytile.runtime.driver import driver_arch
from polytile.runtime.emulator import host_compiler


def crash() -> Outcome:
    os.kill(os.getpid(), signal.SIGSEGV)
    return Outcome(AGREED)


def hang() -> Outcome:
    time.sleep(1000)
    return Outcome(AGREED)


def waits() -> Outcome:
    time.sleep(0.7)
    return Outcome(AGREED)


def works() -> Outcome:
    while True:
        pass


def raises() -> Outcome:
    raise ZeroDivisionError("planted")


def agrees() -> Outcome:
    os.write(1, b"this is not shown")
    return Outcome(AGREED)


def test_children_may_crash_hang_and_raise(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_one(agrees, 60).kind == AGREED
    assert run_one(crash, 60) == Outcome("process ended", "SIGSEGV", run_one(crash, 60).message)
    assert run_one(hang, 0.2).kind == "too slow"
    assert run_one(raises, 60).key.startswith("ZeroDivisionError")
    assert capfd.readouterr().out == ""


def test_time_is_that_of_the_processor() -> None:
    """Others may have it for a while."""
    assert run_one(waits, 0.5).kind == AGREED
    assert run_one(works, 0.2).kind == "too slow"


def test_children_run_side_by_side() -> None:
    trials = [(0, works), *((k, agrees) for k in range(1, 6)), (6, crash)]
    found = dict(run_all(iter(trials), 3, 1.0))
    assert {k: o.kind for k, o in found.items()} == {
        0: "too slow",
        **dict.fromkeys(range(1, 6), AGREED),
        6: "process ended",
    }


def planted(case: Case) -> Outcome:
    """Refuses or fails by what a program contains."""
    return Outcome("crash", "planted", "what was seen") if case.choices.tile else Outcome(REFUSED, "planted refusal")


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polytile.fuzz.campaign, "attempt", planted)


@pytest.mark.slow
@pytest.mark.usefixtures("plant")
def test_failures_are_lines_files_and_a_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = [index for index in range(40) if case_of(7, index).choices.tile]
    words = ["fuzz", "--programs", "40", "--seed", "7", "--out", str(tmp_path / "new"), "--shrink-time", "1"]
    assert main([*words, "--stop-after", "3"]) == EXIT_VALIDATION
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in lines[:3]] == [f"{i}: crash: planted" for i in failing[:3]]
    assert "3 crash" in lines[3]
    refused = failing[2] + 1 - 3
    assert lines[4:] == ([f"  {refused} refused: planted refusal"] if refused else [])
    files = sorted((tmp_path / "new").glob("*.c"))
    assert len(files) == 3
    index = files[0].stem.split("-")[1]
    text = files[0].read_text()
    assert f"found by: polytile fuzz --seed 7 --only {index}" in text
    assert "what was seen" in text and "--tile" in text and "#pragma scop" in text
    assert main(["fuzz", "--seed", "7", "--only", index]) == EXIT_VALIDATION


@pytest.mark.usefixtures("plant")
def test_nothing_found_is_status_0(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polytile.fuzz.campaign, "attempt", lambda case: Outcome(AGREED))
    assert main(["fuzz", "--programs", "3", "--jobs", "2"]) == EXIT_DONE
    (summary,) = capsys.readouterr().out.splitlines()
    assert summary.startswith("3 programs in ") and summary.endswith("3 agreed")


def test_ctrl_c_prints_the_summary(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What came of the programs that had ended; the exit status is that of an interruption."""

    def run_two(works: Iterator[object], jobs: int, limit: float) -> Iterator[tuple[int, Outcome]]:
        yield 0, Outcome(AGREED)
        yield 1, Outcome(AGREED)
        raise KeyboardInterrupt

    monkeypatch.setattr(polytile.fuzz.campaign, "run_all", run_two)
    assert main(["fuzz", "--programs", "50", "--seed", "1"]) == EXIT_INTERRUPTED
    (summary,) = capsys.readouterr().out.splitlines()
    assert summary.startswith("2 programs in ") and summary.endswith(" a minute, interrupted): 2 agreed")


def test_programs_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--seed", "1", "--only", "3", "--print"]) == EXIT_DONE
    first = capsys.readouterr().out
    assert main(["fuzz", "--seed", "1", "--only", "3", "--print"]) == EXIT_DONE
    assert capsys.readouterr().out == first
    assert first.startswith("/* polytile seed1-3.c --validate") and "double f(" in first


@pytest.mark.parametrize(
    "words", [["--programs", "many"], ["--jobs", "0"], ["--print"], ["--sanitize", "taste"], ["--nothing"], ["x.c"]]
)
def test_wrong_words_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", *words]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("polytile: error: ")


def test_a_file_called_fuzz_is_reached_by_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fuzz").write_text("void f(int n, double A[n])\n{\n#pragma scop\n  A[0] = 1;\n#pragma endscop\n}\n")
    assert main(["./fuzz"]) == EXIT_DONE
    assert "stays on the host" in capsys.readouterr().out


def test_the_command_loads_nothing_heavy_before_it_must() -> None:
    script = (
        "import sys, polytile.cli.main as c; c.main(['fuzz', '--nothing']); c.main(['--version'])\n"
        "print([m for m in ('islpy', 'numpy', 'pycparser') if m in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert finished.stdout.splitlines()[-1] == "[]"


def test_a_refusal_without_a_place_is_a_failure() -> None:
    assert outcome_of(UserError("no place")).failed


@pytest.mark.slow
@pytest.mark.usefixtures("checking_compiler")
def test_a_few_programs_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        host_compiler()
    except DeviceError as error:
        pytest.skip(error.message)
    assert main(["fuzz", "--programs", "8", "--seed", "2", "--time-limit", "300"]) == EXIT_DONE
    assert "8 programs" in capsys.readouterr().out


@pytest.mark.skipif(driver_arch() is not None, reason="there is a GPU")
def test_the_gpu_is_looked_for_before_programs_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--programs", "3", "--on", "gpu"]) == EXIT_DEVICE
    printed = capsys.readouterr()
    assert "there is no GPU" in printed.err
    assert not printed.out


def test_a_failure_on_the_gpu_says_how_it_is_found_again(tmp_path: Path) -> None:
    plan = Plan(seed=1, indices=(4,), on="gpu")
    text = failure_text(plan, 4, plan.case(4), Outcome("different result"), "a.c")
    assert "--only 4 --on gpu" in text
    assert "--validate --on gpu" in text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x = sqrt(fabs(y)) + fminf(a, b);", True),
        ("x = cos(y);", False),
        ("x = f(y) + exp (z);", False),
        ("int cos;", True),
    ],
)
def test_functions_that_gpus_round_otherwise(text: str, same: bool) -> None:
    assert same_bits_on_gpus(text) is same
