"""`--polytile-managed`: programs whose objects are compiled apart share one managed heap."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from .conftest import EMULATOR, Compile, needs_nvcc, run, succeed

MAIN = """
#include <stdio.h>
#include <stdlib.h>
double *filled(int n);
void dispose(void *memory);
static void scale(int n, double *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 2 * a[i];
#pragma endscop
}
int main(void)
{
    int n = 20000;
    double *a = filled(n), *b = malloc(n * sizeof *b), s = 0;
    for (int i = 0; i < n; i++)
        b[i] = i % 3;
    scale(n, a);
    scale(n, b);
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    printf("%g\\n", s);
    free(a);
    dispose(b);
    return 0;
}
"""
OTHER = """
#include <stdlib.h>
double *filled(int n)
{
    double *found = calloc(n, sizeof *found);
    for (int i = 0; i < n; i++)
        found[i] = i;
    return found;
}
void dispose(void *memory) { free(memory); }
"""
CPP = """
#include <cstdlib>
#include <vector>
extern "C" double of_vector(int n)
{
    std::vector<double> v(n, 1.5);
    std::free(std::malloc(n));
    return v[n - 1];
}
"""
FLAGS = {"POLYTILE_FLAGS": f"{EMULATOR} --polytile-managed"}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "other.c").write_text(OTHER)
    (tmp_path / "vector.cpp").write_text(CPP)
    return tmp_path


def check(folder: Path, program: str = "./program") -> None:
    """The program computes what gcc's does, and copies nothing."""
    succeed("gcc", "main.c", "other.c", "-o", "reference", folder=folder)
    done = run(program, folder=folder, POLYTILE_TIMING="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == succeed("./reference", folder=folder).stdout
    transfers = re.findall(r"transfers ([\d.]+) ms", done.stderr)
    assert len(transfers) == 2 and not any(map(float, transfers))


def built(cc: Compile, *words: str, **values: str) -> None:
    done = cc(*words, **(values or FLAGS))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_one_call(cc: Compile, sources: Path) -> None:
    built(cc, "-O1", "main.c", "other.c", "-o", "program")
    check(sources)


@pytest.mark.slow
def test_objects_with_and_without_scops(cc: Compile, sources: Path) -> None:
    for name in ("main", "other"):
        built(cc, "-MD", "-c", f"{name}.c", "-o", f"{name}.o")
    built(cc, "main.o", "other.o", "-o", "program")
    check(sources)
    assert (sources / "main.d").read_text().startswith("main.o: main.c")


@pytest.mark.slow
def test_a_language_that_is_named(cc: Compile, sources: Path) -> None:
    built(cc, "-x", "c", "main.c", "other.c", "-o", "program")
    check(sources)


def test_programs_without_scops_can_be_linked(cc: Compile, sources: Path) -> None:
    """As CMake tries the compiler."""
    (sources / "try.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(100000)); return 0; }\n")
    built(cc, "try.c", "-o", "try")
    succeed("./try", folder=sources)
    assert "malloc" in cc("-E", "try.c", **FLAGS).stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_cpp_allocates_as_ever(cc: Compile, sources: Path) -> None:
    built(cc, "-c", "vector.cpp")
    built(cc, "main.c", "other.c", "vector.o", "-lstdc++", "-o", "program")
    check(sources)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_c_beside_cpp_in_one_call_is_told_apart(cc: Compile, sources: Path) -> None:
    words = ("main.c", "other.c", "vector.cpp", "-lstdc++", "-o", "program")
    done = cc(*words, **FLAGS)
    assert done.returncode == 0 and "do not use the managed heap" in done.stderr
    succeed("./program", folder=sources)
    assert not cc(*words, "-Wno-polytile", **FLAGS).stderr
    shutil.copy(sources / "other.c", sources / "other.cpp")
    assert not cc("-x", "c", "-c", "other.cpp", **FLAGS).stderr
    assert "polytile_managed_" in succeed("nm", "other.o", folder=sources).stdout


def test_an_option_that_keeps_scops_in_c(cc: Compile, sources: Path) -> None:
    built(cc, "-save-temps", "main.c", "other.c", "-o", "program")
    succeed("./program", folder=sources)


@pytest.mark.slow
@needs_nvcc
def test_nvcc_links_it(cc: Compile, sources: Path) -> None:
    built(cc, "main.c", "other.c", "-o", "program", POLYTILE_FLAGS="--polytile-on=gpu --polytile-managed")
    assert (sources / "program").stat().st_size > 0
