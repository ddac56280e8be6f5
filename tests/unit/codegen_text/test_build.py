"""Whole programs: compiled, linked and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.diagnostics import DeviceError, UsageError, UserError
from polytile.ir.host import HostProgram
from polytile.runtime.build import build_program

Programs = Mapping[str, Callable[[], HostProgram]]
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on PATH")


def output(executable: Path) -> str:
    return subprocess.run([executable], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture
def sources(
    programs: Programs, host_text: Callable[[str], str], user_source: str, tmp_path: Path
) -> tuple[Path, Path, Path]:
    """The user's file, its host file and its .cu."""
    built = [programs[name]() for name in ("axpy", "sum", "structs")]
    texts = {
        "user.c": user_source,
        "user_host.c": host_text(user_source),
        "user_kernel.cu": print_unit(built, header="user_kernel.h", title=[]),
        "user_kernel.h": print_header(built, guard_name="USER_KERNEL_H"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "user.c", tmp_path / "user_host.c", tmp_path / "user_kernel.cu"


def test_the_program_prints_what_it_printed(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    user, host, kernels = sources
    subprocess.run(["gcc", str(user), "-o", str(tmp_path / "before")], check=True, timeout=60)
    build_program(host, kernels, tmp_path / "after", on="emulator")
    assert output(tmp_path / "after") == output(tmp_path / "before")
    left = {p.name for p in tmp_path.iterdir()} - {"before", "after"}
    assert left == {"user.c", "user_host.c", "user_kernel.cu", "user_kernel.h"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_a_program_for_the_gpu_is_linked(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, host, kernels = sources
    build_program(host, kernels, tmp_path / "after", on="gpu", strict=True)
    assert os.access(tmp_path / "after", os.X_OK)


MAIN = """\
#include "half.h"
#include <math.h>
#include <stdio.h>
double third(void);
double quarter(void);
int main(void) { printf("%g %g %g %g\\n", HALF, third(), quarter(), sqrt(SIZE)); return 0; }
"""


def link_parts(folder: Path) -> list[Path | str]:
    """A C file, an object in an archive, and a shared library."""
    (folder / "include").mkdir()
    (folder / "include" / "half.h").write_text("#define HALF 0.5\n")
    (folder / "third.c").write_text("double fifth(void);\ndouble third(void) { return 1.0 / 3 + 0 * fifth(); }\n")
    (folder / "quarter.c").write_text("double quarter(void) { return 0.25; }\n")
    (folder / "fifth.c").write_text("double fifth(void) { return 0.2; }\n")
    compile_one = ["gcc", "-fPIC", "-c", "quarter.c", "-o", "quarter.o"]
    archive = ["ar", "rc", "libquarter.a", "quarter.o"]
    shared = ["gcc", "-fPIC", "-shared", "fifth.c", "-o", "libfifth.so"]
    for command in (compile_one, archive, shared):
        subprocess.run(command, cwd=folder, check=True, timeout=60)
    return [folder / "third.c", folder / "libquarter.a", str(folder / "libfifth.so"), "-lm"]


def test_the_users_other_files_are_linked(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    host = tmp_path / "main_host.c"
    host.write_text(MAIN)
    link, include = link_parts(tmp_path), [tmp_path / "include"]
    build_program(
        host, sources[2], tmp_path / "a.out", on="emulator", link=link, include_dirs=include, defines=["SIZE=16"]
    )
    assert output(tmp_path / "a.out") == "0.5 0.333333 0.25 4\n"


def test_the_compilers_own_message_is_shown(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    host = tmp_path / "broken_host.c"
    host.write_text('#line 7 "broken.c"\nint main(void) { return missing; }\n')
    with pytest.raises(DeviceError, match=r"compiling broken_host.c failed:\n(.*\n)?.*broken.c:7:.*missing"):
        build_program(host, sources[2], tmp_path / "a.out", on="emulator")
    assert not (tmp_path / "a.out").exists()


def test_an_undefined_symbol_is_shown(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    host = tmp_path / "main_host.c"
    host.write_text("int absent(void);\nint main(void) { return absent(); }\n")
    with pytest.raises(DeviceError, match="absent"):
        build_program(host, sources[2], tmp_path / "a.out", on="emulator")
    assert not [p for p in tmp_path.iterdir() if "a.out" in p.name]


def test_missing_compilers(sources: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, host, kernels = sources
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(DeviceError, match="no-such-compiler"):
        build_program(host, kernels, tmp_path / "a.out", on="emulator")
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    with pytest.raises(DeviceError, match="nvcc was not found") as caught:
        build_program(host, kernels, tmp_path / "a.out", on="gpu")
    assert "--on emulator" in str(caught.value.hint)


def test_wrong_arguments(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, host, kernels = sources
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(UsageError, match="there is no file absent"):
        build_program(host, kernels, tmp_path / "a.out", on="emulator", link=["absent.c"])
    with pytest.raises(UsageError, match=r"cannot link .*notes.txt"):
        build_program(host, kernels, tmp_path / "a.out", on="emulator", link=[tmp_path / "notes.txt"])
    with pytest.raises(UsageError, match="unknown place"):
        build_program(host, kernels, tmp_path / "a.out", on="moon")
    with pytest.raises(UserError, match="is not a folder"):
        build_program(host, kernels, tmp_path / "notes.txt" / "a.out", on="emulator")
