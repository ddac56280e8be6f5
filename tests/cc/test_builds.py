"""Make and CMake build a program of two files with `polytile cc`: it prints what gcc's prints."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.cc.conftest import COMPILER, EMULATOR, needs_nvcc, plain, run, succeed

pytestmark = pytest.mark.slow
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("make") is None, reason="needs make and cmake (pip install cmake)"
)
FLAGS = f"{EMULATOR} --polytile-fp=strict"
GPU = "--polytile-on=gpu --polytile-fp=strict"
MAKE = ("make", f"CC={COMPILER}")
MARK = {FLAGS: b"polytile cc: kernels run in the emulator", GPU: b"polytile cc: kernels run with CUDA"}


def later(path: Path) -> None:
    """Give a file a time that is later than that of all others."""
    newest = max(p.stat().st_mtime_ns for p in path.parent.rglob("*") if p.is_file())
    os.utime(path, ns=(newest + 10**9, newest + 10**9))


@needs_make
def test_make_with_the_emulator(project: Path, expected: str) -> None:
    succeed(*MAKE, folder=project, POLYTILE_FLAGS=FLAGS)
    assert (project / "plate").read_bytes().count(MARK[FLAGS]) == 2  # both files have kernels
    assert succeed("./plate", folder=project).stdout == expected
    reference, built = (succeed(name, "3", "7", folder=project).stdout for name in ("./reference", "./plate"))
    assert built == reference
    assert "line 102 of main.c" in expected


@needs_make
def test_a_header_that_is_newer_makes_both_files_anew(project: Path, expected: str) -> None:
    succeed(*MAKE, folder=project, POLYTILE_FLAGS=FLAGS)
    assert "up to date" in succeed(*MAKE, folder=project, POLYTILE_FLAGS=FLAGS).stdout
    header = project / "grid.h"
    header.write_text(header.read_text().replace("#define ROWS 48", "#define ROWS 37"))
    later(header)
    said = succeed(*MAKE, folder=project, POLYTILE_FLAGS=FLAGS).stdout
    assert "main.c" in said and "solver.c" in said
    now = succeed("./plate", folder=project).stdout
    assert now == plain(project) != expected
    for name in ("main", "solver"):  # the rules that gcc itself writes
        rules = (project / f"{name}.d").read_text()
        succeed("gcc", "-MMD", "-MP", "-c", f"{name}.c", "-o", f"{name}.o", folder=project)
        assert rules == (project / f"{name}.d").read_text()


@needs_make
@needs_nvcc
def test_make_with_nvcc(project: Path) -> None:
    succeed(*MAKE, folder=project, POLYTILE_FLAGS=GPU)
    assert (project / "plate").read_bytes().count(MARK[GPU]) == 2


@needs_cmake
@pytest.mark.parametrize("flags", [FLAGS, pytest.param(GPU, marks=needs_nvcc)], ids=["emulator", "nvcc"])
def test_cmake(flags: str, project: Path, expected: str) -> None:
    words = ("cmake", "-G", "Unix Makefiles", "-S", ".", "-B", "build", "-DCMAKE_C_FLAGS=-Wno-unknown-pragmas")
    succeed(*words, folder=project, CC=COMPILER, POLYTILE_FLAGS=flags)
    build = ("cmake", "--build", "build", "--verbose")
    succeed(*build, folder=project, POLYTILE_FLAGS=flags)
    assert (project / "build/plate").read_bytes().count(MARK[flags]) == 2
    if flags == FLAGS:
        printed = succeed("build/plate", folder=project).stdout
        assert printed.replace(f"{project}/", "") == expected
    header = project / "grid.h"
    later(header)
    said = succeed(*build, folder=project, POLYTILE_FLAGS=flags).stdout
    assert "Building C object CMakeFiles/plate.dir/main.c.o" in said
    assert "Building C object CMakeFiles/solver.dir/solver.c.o" in said


REFUSED = """
void scatter(int n, double *a)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double *element = i ? a + i : a;
        *element = i;
    }
#pragma endscop
}
"""


@needs_make
def test_a_refused_scop_does_not_turn_into_success(project: Path) -> None:
    solver = project / "solver.c"
    solver.write_text(solver.read_text() + REFUSED)
    strict = f"{FLAGS} -Werror=polytile"
    for _ in range(2):
        failed = run(*MAKE, folder=project, POLYTILE_FLAGS=strict)
        assert failed.returncode != 0
        assert "solver.c:66:" in failed.stderr and "error: " in failed.stderr
        assert "[-Werror=polytile]" in failed.stderr
        assert not (project / "solver.o").exists() and not (project / "solver.d").exists()
        assert not (project / "plate").exists()
    said = succeed(*MAKE, folder=project, POLYTILE_FLAGS=FLAGS).stderr
    assert "warning: " in said and "[-Wpolytile]" in said
    later(solver)
    assert run(*MAKE, folder=project, POLYTILE_FLAGS=strict).returncode != 0
    assert not (project / "solver.o").exists()  # what the call before had made is gone, too


@needs_make
def test_polytile_itself_leaves_nothing_with_which_a_second_make_goes_on(tmp_path: Path) -> None:
    (tmp_path / "scatter.c").write_text(REFUSED)
    rule = f"scatter_host.c: scatter.c\n\t{sys.executable} -m polytile $<\n"
    (tmp_path / "Makefile").write_text(rule)
    for _ in range(2):
        assert run("make", folder=tmp_path).returncode != 0
        assert not (tmp_path / "scatter_host.c").exists()
