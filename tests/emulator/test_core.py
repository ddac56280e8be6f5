"""The first library of a kind is compiled whole, later ones against one object: both do, find and count the same."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.fuzz.children import run_all, run_one
from polytile.fuzz.outcome import AGREED, Outcome
from polytile.runtime.emulator import EmulatorLibrary, build, compile_shared, core
from polytile.runtime.emulator.counts import learning, read
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, PLAIN, Instrumentation, checked

KERNELS = Path(__file__).parent / "kernels"
TEMPLATES = Path(polytile.__file__).parent / "codegen" / "targets" / "templates"
UNITS = [TEMPLATES / "unit.cu.j2", *sorted((Path(__file__).parents[1] / "golden").rglob("*.cu"))]
CHECKED_FILES = ("grids", "addresses", "undefined", "uninitialised", "races")
NAMED = {name: name for name in ("chrono", "initializer_list", "map", "mutex", "string")} | {
    **{"fprintf": "cstdio", "getenv": "cstdlib", "int": "cstdint", "memcmp": "cstring", "memcpy": "cstring"},
    **{"lock_guard": "mutex", "nothrow": "new", "unique_ptr": "memory"},
}
STRICT = ["-Wall", "-Werror", "-Wno-sign-compare", "-Winvalid-pch"]
Pair = Callable[[str, Instrumentation], list[EmulatorLibrary]]


@pytest.fixture
def pair(emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """`pair(file, kind)`: kernels/FILE.cu compiled whole and against the object."""
    known = tmp_path / "known"
    known.mkdir()
    monkeypatch.setattr(core, "_folder", lambda: known)

    def build(file: str, kind: Instrumentation) -> list[EmulatorLibrary]:
        libraries = []
        for number in (0, 1):
            out = tmp_path / f"{file}{number}.so"
            compile_shared(KERNELS / f"{file}.cu", out, instrumentation=kind, extra_flags=STRICT)
            assert len(list(known.glob("*/emulator.o"))) == number
            libraries.append(EmulatorLibrary.open(out))
        return libraries

    return build


def test_headers_of_generated_files_are_read_once() -> None:
    """All but a small one of the emulator's own are in the header that is precompiled."""
    texts = "".join(file.read_text() for file in UNITS)
    named = set(re.findall(r"^#include <(\w+(?:\.h)?)>", texts, re.MULTILINE))
    assert {"cuda_runtime.h", "map", "mutex", "string"} <= named
    assert named - {"cooperative_groups.h"} <= set(re.findall(r"<(.*)>", core._TEXT + core._LARGE))


@pytest.mark.parametrize("file", UNITS[1:], ids=lambda file: file.stem)
def test_generated_files_include_what_they_name(file: Path) -> None:
    """Builds against what is precompiled would not see that a header is missing."""
    text = file.read_text()
    for name, header in NAMED.items():
        assert f"std::{name}" not in text or f"#include <{header}>" in text


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", text)


def outcomes(library: EmulatorLibrary, file: str, kind: Instrumentation) -> dict[str, tuple[object, ...]]:
    """Of each function of a file without arguments: what it returns, what is said and what is found."""
    text = (KERNELS / f"{file}.cu").read_text()
    reader, found = Reader(library, text), {}
    for name in re.findall(r"^RUN\((\w+)\)", text, re.MULTILINE):
        library.reset_errors()
        if kind.checks:
            reader.clear()
        status = library.function(f"run_{name}")()
        findings = [f.diagnostic.render() for f in reader.read()] if kind.checks else []
        found[name] = (status, without_addresses(library.message()), without_addresses("\n".join(findings)))
        assert library.allocated_bytes() == 0
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("file", "build"), [("grids", "plain"), *((file, "checked") for file in CHECKED_FILES)])
def test_both_builds_do_and_find_the_same(pair: Pair, file: str, build: str) -> None:
    kind = PLAIN if build == "plain" else checked(CHECKS)
    whole, apart = (outcomes(library, file, kind) for library in pair(file, kind))
    assert whole
    assert whole == apart


@pytest.mark.slow
def test_both_builds_count_the_same(pair: Pair) -> None:
    counts = []
    for library in pair("reductions", COUNTING):
        x, sums = np.ones(1000), np.zeros(8)
        pointers = (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(sums.ctypes.data))
        for name in ("reduce_static", "reduce_dynamic", "reduce_shuffle"):
            with learning(library):
                assert library.function(name)(*pointers, 1000) == 0
            assert library.function(name)(*pointers, 1000) == 0
            found = read(library, arrays=["x", "sums"])
            counts.append((name, found.kernels, found.sites))
    assert counts[:3] == counts[3:]


def findings(library: EmulatorLibrary, text: str) -> list[str]:
    return [f.diagnostic.render() for f in Reader(library, text).read()]


SHIFTED = """void shifted(int n, const double y[n], double x[n])
{
#pragma scop
    for (int i = 0; i < n; i++) x[i] = 2 * y[i];
#pragma endscop
}
"""


@pytest.mark.parametrize("kind", [PLAIN, checked(CHECKS)], ids=["plain", "checked"])
@pytest.mark.slow(but="plain")
def test_host_functions_of_units_are_compiled_once(
    emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Instrumentation
) -> None:
    """Units that are compiled whole, without the emulator and without its host functions find the same."""
    known = tmp_path / "known"
    known.mkdir()
    monkeypatch.setattr(core, "_folder", lambda: known)
    _, unit, _ = polytile.compile(SHIFTED, name="shifted.c").write(tmp_path)
    text = unit.read_text()
    assert "x[i] =" in text
    unit.write_text(text.replace("x[i] =", "x[i + 1] ="))
    found = []
    for number in range(3):
        library = EmulatorLibrary.open(compile_shared(unit, tmp_path / f"{number}.so", instrumentation=kind))
        assert len(list(known.glob("*/emulator.o"))) == min(number, 1)
        assert len(list(known.glob("*/*/support.o"))) == number // 2
        y, x = np.arange(70.0), np.zeros(70)
        status = library.function("polytile_shifted_scop0")(70, *(ctypes.c_void_p(a.ctypes.data) for a in (y, x)))
        found.append((status, x.tobytes(), findings(library, text) if kind.checks else []))
    assert found[0] == found[1] == found[2]
    assert len(found[0][2]) == bool(kind.checks)


def test_what_does_not_compile_apart_is_compiled_whole(
    emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Host functions that need what stands before them in their unit."""
    monkeypatch.setattr(build, "shared_support", lambda *_: pytest.fail("they are compiled apart"))
    _, unit, _ = polytile.compile(SHIFTED, name="shifted.c").write(tmp_path)
    text = unit.read_text()
    unit.write_text("#define YES true\n" + text.replace("bool ok() const { return", "bool ok() const { return YES &&"))
    for number in range(4):
        library = EmulatorLibrary.open(compile_shared(unit, tmp_path / f"{number}.so"))
        y, x = np.arange(70.0), np.zeros(70)
        assert library.function("polytile_shifted_scop0")(70, *(ctypes.c_void_p(a.ctypes.data) for a in (y, x))) == 0
        assert list(x) == list(2 * y)


def test_without_an_object_libraries_are_compiled_whole(
    emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "_folder", lambda: tmp_path)
    monkeypatch.setattr(core, "_TEXT", "#error none\n")
    for _ in range(2):
        EmulatorLibrary.open(compile_shared(KERNELS / "vector_add.cu", tmp_path / "add.so"))
    assert not list(tmp_path.glob("*/emulator.o"))


SUMS = """#include <stdio.h>
#define N 300
double halved(int n, const double x[N]);
int main(void)
{
    double x[N], s = 0;
#pragma scop
    for (int i = 0; i < N; i++) x[i] = 3 * i;
    for (int i = 0; i < N; i++) s += x[i];
#pragma endscop
    printf("%.17g %.17g\\n", s, halved(N, x));
    return 0;
}
"""
HALVED = """double halved(int n, const double x[300])
{
    double s = 0;
#pragma scop
    for (int i = 0; i < n; i++) s += x[i] / 2;
#pragma endscop
    return s;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("managed", [False, True], ids=["", "managed"])
def test_the_kernels_of_whole_programs_share_the_object(
    emulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, managed: bool
) -> None:
    """All kernels of a program: those of its other files, and what takes the place of its allocations."""
    known = tmp_path / "known"
    known.mkdir()
    monkeypatch.setattr(core, "_folder", lambda: known)
    program, other = polytile.compile(SUMS, name="sums.c"), polytile.compile(HALVED, name="halved.c")
    assert program.programs
    assert other.programs
    host, kernels, _ = other.write(tmp_path)
    for number in (0, 1):
        made = program.build(tmp_path / f"made{number}", on="emulator", link=[host, kernels], managed=managed)
        assert len(list(known.glob("*/emulator.o"))) == number
        done = subprocess.run([made], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout == "134550 67275\n"


def test_macros_of_a_unit_hold_for_its_host_functions(emulator: None, tmp_path: Path) -> None:
    """Whatever other units have made of the same text."""
    _, unit, _ = polytile.compile(SHIFTED, name="shifted.c").write(tmp_path)
    arrays = np.arange(70.0), np.zeros(70)
    passed = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    for number in range(3):
        library = EmulatorLibrary.open(compile_shared(unit, tmp_path / f"{number}.so"))
        assert library.function("polytile_shifted_scop0")(70, *passed) == 0
    assert list(core._folder().glob("*/*/support.o"))
    macro = "#define cudaStreamSynchronize(stream) cudaErrorUnknown\n"
    unit.write_text(unit.read_text().replace("// Shared", f"{macro}// Shared", 1))
    library = EmulatorLibrary.open(compile_shared(unit, tmp_path / "macro.so"))
    assert library.function("polytile_shifted_scop0")(70, *passed) == 1


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without the folder of the tests, as if nothing was compiled yet."""
    monkeypatch.delenv(core.VARIABLE)
    core._folder.cache_clear()
    yield
    core._folder.cache_clear()


def made(out: Path) -> Outcome:
    EmulatorLibrary.open(compile_shared(KERNELS / "vector_add.cu", out))
    return Outcome(AGREED)


@pytest.mark.slow
def test_forked_processes_share_one_object(emulator: None, alone: None, tmp_path: Path) -> None:
    """Also those that make it at the same time."""
    assert run_one(partial(made, tmp_path / "first.so"), 100).kind == AGREED
    assert not list(core._folder().glob("*/emulator.o"))
    works = ((k, partial(made, tmp_path / f"{k}.so")) for k in range(3))
    assert [outcome.kind for _, outcome in run_all(works, 3, 100)] == [AGREED] * 3
    assert len(list(core._folder().glob("*/emulator.o"))) == 1


@pytest.mark.slow
def test_a_folder_that_is_named(
    emulator: None, alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(core.VARIABLE, str(tmp_path / "cores"))
    for number in range(2):
        made(tmp_path / f"{number}.so")
        assert len(list(tmp_path.glob("cores/*/emulator.o"))) == number
    monkeypatch.setenv(core.VARIABLE, str(tmp_path / "0.so"))  # where no folder can be made
    core._folder.cache_clear()
    made(tmp_path / "whole.so")
