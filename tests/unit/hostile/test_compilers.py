"""Compilers and preprocessors that hang, print without end, crash or leave children behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polytile.diagnostics import DeviceError, UserError
from polytile.frontend.preprocess import preprocess
from polytile.process import RunawayError, run_bounded
from polytile.runtime.emulator.process import run_to_end

pytestmark = pytest.mark.skipif(not Path("/bin/sh").exists(), reason="there is no /bin/sh")
HANGS = "trap '' TERM INT; sleep 1000 & sleep 1000"
PRINTS = "exec cat /dev/zero"


def script(folder: Path, text: str) -> str:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def alive(marker: str) -> bool:
    """Whether a process that was started with `marker` on its command line still runs."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(marker in line for line in listed.splitlines())


def test_the_whole_group_is_killed(tmp_path: Path) -> None:
    marker = f"{1000 + os.getpid()}.5"
    tool = script(tmp_path, f"trap '' TERM INT\n(sleep {marker}) &\nsleep {marker}")
    start = time.monotonic()
    with pytest.raises(RunawayError, match=r"did not end within 0\.5 s"):
        run_bounded([tool], timeout=0.5)
    assert time.monotonic() - start < 10
    assert not alive(f"sleep {marker}")


def test_children_that_outlive_their_parent_are_killed(tmp_path: Path) -> None:
    marker = f"{2000 + os.getpid()}.5"
    tool = script(tmp_path, f"sleep {marker} >/dev/null 2>&1 &\necho done")
    assert run_bounded([tool], timeout=20).output == b"done\n"
    assert not alive(f"sleep {marker}")


def test_endless_output_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(RunawayError, match="printed more than 1 MB"):
        run_bounded([script(tmp_path, PRINTS)], timeout=20, most_output=1_000_000)
    with pytest.raises(DeviceError, match="printed more than 10 MB"):
        run_to_end([script(tmp_path, PRINTS)], timeout=20)


def test_large_input_and_output_do_not_block(tmp_path: Path) -> None:
    text = b"x" * 3_000_000
    assert run_bounded(["cat"], stdin=text, timeout=20).output == text
    assert run_bounded([script(tmp_path, "exit 3")], stdin=text, timeout=20).status == 3


def test_a_crash_is_named(tmp_path: Path) -> None:
    done = run_to_end([script(tmp_path, "kill -SEGV $$")], timeout=20)
    assert done.status == -11
    assert "was ended by signal 11" in done.output


@pytest.mark.parametrize("text", [HANGS, PRINTS, "kill -KILL $$", "echo nonsense; exit 1", "printf '\\377\\376('"])
def test_a_preprocessor_that_misbehaves_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytile.frontend.preprocess._SECONDS", 0.5)
    monkeypatch.setattr("polytile.process.MOST_OUTPUT", 1_000_000)
    tool = script(tmp_path, text)
    if text.startswith("printf"):
        assert "(" in preprocess("a.c", "int x;\n", preprocessor=tool).text
        return
    with pytest.raises(UserError) as refused:
        preprocess("a.c", "int x;\n", preprocessor=tool)
    assert refused.value.location is not None


SOURCE = "void f(int n, double *A)\n{\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = i;\n#pragma endscop\n}\n"


@pytest.mark.slow(but="exec cat /dev/zero-CXX")
@pytest.mark.parametrize("variable", ["CC", "CXX"])
@pytest.mark.parametrize("text", ["exec cat /dev/zero", "kill -SEGV $$; echo", "echo '; touch pwned' >&2; exit 1"])
def test_a_compiler_that_misbehaves_is_a_failure_of_the_machine(variable: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    words = ["a.c", "--validate", "--on", "emulator"]
    environment = {**os.environ, variable: script(tmp_path, text)}
    done = subprocess.run(
        [sys.executable, "-m", "polytile", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        errors="replace",
        timeout=100,
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "pwned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("value", ["gcc; touch pwned", "$(touch pwned)`touch pwned`", "gcc 'unclosed"])
@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_variables_reach_no_shell(variable: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    done = subprocess.run(
        [sys.executable, "-m", "polytile", "a.c", "--build", "x.out", "--on", "emulator"],
        cwd=tmp_path,
        env={**os.environ, variable: value},
        capture_output=True,
        errors="replace",
        timeout=100,
    )
    assert done.returncode == 4, done.stderr
    assert "internal error" not in done.stderr
    assert not (tmp_path / "pwned").exists()
