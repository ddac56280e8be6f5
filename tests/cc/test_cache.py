"""`polytile cc` with the cache: a second call makes the same object and says the same, without compiling SCoPs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cc.conftest import Compile, Result, succeed

SCALE = """#include "factor.h"
void scale(int n, double *a, const double *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = FACTOR * b[i] + 1;
#pragma endscop
}
"""
REFUSED = """void clear(int n, double *a)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double *element = i ? a + i : a;
        *element = 0;
    }
#pragma endscop
}
"""


@pytest.fixture
def cached(cc: Compile, tmp_path: Path) -> Compile:
    """The compiler, with a cache of its own, for two files and a header."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/factor.h").write_text("#ifndef FACTOR\n#define FACTOR 3\n#endif\n")
    (tmp_path / "scale.c").write_text(SCALE)
    (tmp_path / "clear.c").write_text(SCALE.replace("void scale", "void again") + REFUSED)

    def compile_(*words: str, **values: str) -> Result:
        return cc("-Iinclude", "-O2", "-c", *words, **{"POLYTILE_CACHE": str(tmp_path / "cache"), **values})

    return compile_


@contextmanager
def compiling(folder: Path, count: int) -> Iterator[None]:
    """So many entries are made, and the others are not written again."""
    before = entries(folder)
    yield
    after = entries(folder)
    assert len(after) == len(before) + count
    assert all(after[name] == inode for name, inode in before.items())


def entries(folder: Path) -> dict[str, int]:
    cache = folder / "cache"
    return {path.name: path.stat().st_ino for path in cache.iterdir()} if cache.is_dir() else {}


def test_a_second_call_makes_the_same_object(cached: Compile, tmp_path: Path) -> None:
    made = []
    for count in (1, 0):
        with compiling(tmp_path, count):
            done = cached("scale.c", "-o", "scale.o")
        assert (done.returncode, done.stderr) == (0, "")
        made.append(succeed("nm", "scale.o", folder=tmp_path).stdout)
    assert made[0] == made[1] and " T scale" in made[0]


@pytest.mark.slow
def test_a_second_call_says_the_same(cached: Compile, tmp_path: Path) -> None:
    with compiling(tmp_path, 1):
        first = cached("clear.c")
    assert first.returncode == 0 and "clear.c:13:16: warning: " in first.stderr and "[-Wpolytile]" in first.stderr
    with compiling(tmp_path, 0):
        assert cached("clear.c").stderr == first.stderr
        fatal = cached("clear.c", "-Werror=polytile")
        assert fatal.returncode == 1 and "[-Werror=polytile]" in fatal.stderr
        assert cached("clear.c", "-Wno-polytile").stderr == ""


@pytest.mark.slow
def test_other_flags_macros_headers_and_compilers_are_misses(cached: Compile, tmp_path: Path) -> None:
    cached("scale.c")
    for words in (("-DFACTOR=2",), ("-fwrapv",), ("-UFACTOR",), ("--polytile-tile=64",), ("-include", "stdio.h")):
        with compiling(tmp_path, 1):
            assert cached("scale.c", *words).returncode == 0
        with compiling(tmp_path, 0):
            assert cached("scale.c", *words).returncode == 0
    (tmp_path / "include/factor.h").write_text("#define FACTOR 4\n")
    with compiling(tmp_path, 1):
        cached("scale.c")
    wrapper = tmp_path / "other-cc"
    wrapper.write_text('#!/bin/sh\nexec gcc "$@"\n')
    wrapper.chmod(0o755)
    with compiling(tmp_path, 1):
        assert cached("scale.c", POLYTILE_CC=str(wrapper)).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("off", [{"POLYTILE_FLAGS": "--on=emulator --no-cache"}, {"POLYTILE_CACHE": "0"}])
def test_without_the_cache(cached: Compile, tmp_path: Path, off: dict[str, str]) -> None:
    for _ in range(2):
        with compiling(tmp_path, 0):
            assert cached("scale.c", **off).returncode == 0
    cached("scale.c")
    (entry,) = (tmp_path / "cache").iterdir()
    os.utime(entry, (1, 1))
    assert cached("scale.c", **off).returncode == 0
    assert entry.stat().st_mtime == 1  # is not used
    assert cached("scale.c").returncode == 0
    assert entry.stat().st_mtime > 1
