"""Whole programs that print the same when the host compiler alone makes them, and when polytile does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import polytile


def prints_the_same(
    text: str, compiler_checks: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, autodetect: bool = False
) -> polytile.Program:
    """Compile `text` both ways in `folder`, the second one for the emulator and with a sanitizer of the compiler, and
    compare what they print; returns what polytile made of it."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    path = folder / "program.c"
    path.write_text(text)
    _printed(gcc, "-std=gnu99", "-ffp-contract=off", path, "-o", folder / "before")
    compiled = polytile.compile(path, strict=True, raise_bugs=True, autodetect=autodetect)
    assert not compiled.refusals
    if compiler_checks:
        monkeypatch.setenv("CC", f"{gcc} -fsanitize={compiler_checks}")
        monkeypatch.setenv("CXX", f"g++ -fsanitize={compiler_checks}")
        monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    compiled.build(folder / "after", on="emulator")
    assert _printed(folder / "after") == _printed(folder / "before")
    return compiled


def kernel_runs(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, autodetect: bool = False) -> int:
    """How often a program calls kernels on the emulator."""
    path = folder / "program.c"
    path.write_text(text)
    compiled = polytile.compile(path, strict=True, raise_bugs=True, autodetect=autodetect)
    compiled.build(folder / "counted", on="emulator")
    monkeypatch.setenv("POLYTILE_TIMING", "1")
    finished = subprocess.run([folder / "counted"], capture_output=True, text=True, timeout=120, check=True)
    return sum(": kernels " in line for line in finished.stderr.splitlines())


def _printed(*command: str | Path) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
