"""`polytile cc` as a build runs it: a process of its own, with an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMPILER = f"{sys.executable} -m polytile cc"
EMULATOR = "--polytile-on=emulator"
Result = subprocess.CompletedProcess[str]
Compile = Callable[..., Result]
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc; no GPU is needed")
PROJECT = Path(__file__).parent / "project"


def environment(**values: str) -> dict[str, str]:
    """The environment without variables that choose compilers."""
    chosen = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "POLYTILE_FLAGS", "POLYTILE_CC", "MAKEFLAGS", "MFLAGS")
    return {name: value for name, value in os.environ.items() if name not in chosen} | values


def run(*command: str | Path, folder: Path, **values: str) -> Result:
    return subprocess.run(
        command, cwd=folder, env=environment(**values), capture_output=True, text=True, timeout=300, check=False
    )


def succeed(*command: str | Path, folder: Path, **values: str) -> Result:
    done = run(*command, folder=folder, **values)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def cc(tmp_path: Path) -> Compile:
    """Run the compiler in `tmp_path`, for the emulator unless an environment says otherwise."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")

    def compile_(*words: str | Path, **values: str) -> Result:
        return run(*COMPILER.split(), *words, folder=tmp_path, **{"POLYTILE_FLAGS": EMULATOR, **values})

    return compile_


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A program of two files and 200 lines, with a SCoP in a static function of the same name in each."""
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    return folder


@pytest.fixture
def expected(project: Path) -> str:
    """What the program prints that gcc alone has made."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    return plain(project)


def plain(project: Path, *defines: str) -> str:
    sources = [project / "main.c", project / "solver.c"]
    flags = ["-std=c99", "-O2", "-ffp-contract=off", *defines]
    names = [source.name for source in sources]
    succeed("gcc", *flags, *names, "-lm", "-o", "reference", folder=project)
    return succeed("./reference", folder=project).stdout
