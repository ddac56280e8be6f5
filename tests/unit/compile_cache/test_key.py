"""The key of a compilation: all that it depends on makes another one, and nothing else does."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polytile.cli.arguments import parse
from polytile.cli.cached_compilation import _Asked
from polytile.cli.prepare import prepare
from polytile.compile_cache import key as key_module
from polytile.compile_cache.key import LIBRARIES, installed, own_files
from tests.reading import hash_own_files

SOURCE = """#include "size.h"
#include <twice.h>
void f(double A[N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        A[i] = TWICE(A[i]);
#pragma endscop
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with a header beside it and one in a folder; polytile's own files are a few, which can be changed."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (tmp_path / "f.c").write_text(SOURCE)
    (tmp_path / "size.h").write_text("#define N 100\n")
    (tmp_path / "include").mkdir()
    (tmp_path / "include/twice.h").write_text("#define TWICE(x) (2 * (x))\n")
    (tmp_path / "own/frontend").mkdir(parents=True)
    (tmp_path / "own/api.py").write_text("a = 1\n")
    (tmp_path / "own/frontend/parse.py").write_text("b = 2\n")
    monkeypatch.setattr(key_module, "PACKAGE", tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def key(*words: str) -> str:
    request = parse(words or ("f.c", "-I", "include"))
    found = _Asked.of(request, prepare(request)).key()
    assert found is not None
    return found


def test_what_changes_nothing_has_the_same_key(folder: Path) -> None:
    found = key()
    (folder / "own/__pycache__").mkdir()
    (folder / "own/__pycache__/api.pyc").write_bytes(b"code")
    os.utime(folder / "own/api.py", (1, 1))
    os.utime(folder / "f.c", (1, 1))
    shutil.copytree(folder / "own/frontend", folder / "elsewhere")
    shutil.rmtree(folder / "own/frontend")
    (folder / "own/frontend").symlink_to(folder / "elsewhere")  # as in a checkout
    assert key() == found
    same = ("-o", "out"), ("-q",), ("--certificate", "c.json"), ("--save-schedule", "s"), ("--seed", "3")
    for more in same:
        assert key("f.c", "-I", "include", *more) == found


@pytest.mark.parametrize(
    "words",
    [
        "-D M", "-D N=50", "--tile 8", "--schedule classic", "--arch sm_80", "--param N=4", "--param N=5",
        "--fp strict", "--keep-going", "--autodetect", "--graphs", "--cflags=-O2", "--cflags=-fwrapv", "--registers 64",
        "--max-operations 1000", "--max-seconds 5", "--min-compute 9", "--disable-pass share-sums", "--verify-passes",
        "-I elsewhere",
    ],
)  # fmt: skip
def test_options_have_keys_of_their_own(folder: Path, words: str) -> None:
    assert key("f.c", "-I", "include", *words.split()) != key()


def rewritten(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(path.read_text().replace(old, new, 1))

    return change


def shadowing(folder: Path) -> None:
    """A header that is found before the one of the folder."""
    (folder / "first").mkdir()
    (folder / "first/twice.h").write_text("#define TWICE(x) (2 * (x))\n")


@pytest.mark.parametrize(
    "change",
    [
        rewritten("f.c", "A[i]", "A[i] + 1"),
        rewritten("f.c", "void f", "void  f"),
        rewritten("f.c", "\n#", "\n// a comment\n#"),
        rewritten("size.h", "100", "101"),
        rewritten("size.h", "#define", "/* more */ #define"),  # which messages with lines of the header show
        rewritten("include/twice.h", "2 *", "3 *"),
        rewritten("include/twice.h", "\n", "\n#define UNUSED 1\n"),
        rewritten("own/api.py", "1", "2"),
        rewritten("own/frontend/parse.py", "2", "3"),
        lambda folder: (folder / "own/new.j2").write_text(""),
        lambda folder: (folder / "own/api.py").rename(folder / "own/apis.py"),
        lambda folder: (folder / "own/api.py").unlink(),
    ],
)
def test_files_that_change_have_another_key(folder: Path, change: Callable[[Path], None]) -> None:
    before = key()
    change(folder)
    assert key() != before


def test_a_header_that_is_found_earlier_has_another_key(folder: Path) -> None:
    words = ("f.c", "-I", "first", "-I", "include")
    before = key(*words)
    shadowing(folder)
    assert key(*words) != before


def test_a_header_that_is_asked_for_has_another_key(folder: Path) -> None:
    rewritten("f.c", "#include", '#if __has_include("more.h")\n#define MORE\n#endif\n#include')(folder)
    before = key()
    (folder / "more.h").write_text("")
    assert key() != before


def test_files_that_options_name_are_in_the_key(folder: Path) -> None:
    for option in ("--load-schedule", "--device-source"):
        words = ("f.c", "-I", "include", option, "more")
        (folder / "more").write_text("one")
        before = key(*words)
        (folder / "more").write_text("two")
        assert key(*words) != before


def test_the_name_of_the_file_is_in_the_key(folder: Path) -> None:
    """Messages and comments have it."""
    shutil.copy(folder / "f.c", folder / "g.c")
    keys = {key(name, "-I", "include") for name in ("f.c", "g.c", "./f.c", str(folder / "f.c"))}
    assert len(keys) == 4


def test_another_folder_whose_name_is_shown_has_another_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    other = folder / "other"
    other.mkdir()
    for name in ("f.c", "size.h", "include"):
        (shutil.copytree if (folder / name).is_dir() else shutil.copy)(folder / name, other / name)
    monkeypatch.chdir(other)
    assert key() != before  # the preprocessor's output names include/twice.h by its whole path


def compiler(path: Path, body: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\n{body}\nunset COMPILER_PATH GCC_EXEC_PREFIX\nexec {shutil.which("gcc")} "$@"\n')
    path.chmod(0o755)
    return path


def test_another_compiler_has_another_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, found = os.environ["PATH"], []
    monkeypatch.setattr("polytile.frontend.preprocess._system_preprocessor", lambda: "cc")
    for number, body in enumerate(("", "# another", 'set -- -D__VERSION__=\\"99\\" "$@"')):
        compiler(folder / f"bin{number}/cc", body)
        monkeypatch.setenv("PATH", f"{folder}/bin{number}{os.pathsep}{path}")
        found.append(key())
    os.utime(folder / "bin2/cc", (1, 1))
    found.append(key())
    for name in ("COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"):
        monkeypatch.setenv(name, "")
        found.append(key())
    monkeypatch.setenv("CPATH", str(folder / "elsewhere"))
    assert key() == found[-1]  # nothing is there
    assert len(set(found)) == len(found)


def test_no_compiler_is_another_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr("polytile.frontend.preprocess._system_preprocessor", lambda: None)
    with_pcpp = key()
    monkeypatch.setenv("PATH", "")
    assert len({before, with_pcpp, key()}) == 3


def test_another_python_or_machine_has_another_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(sys, "version", "3.99")
    python = key()
    monkeypatch.setattr("polytile.compile_cache.key.processor", lambda: "riscv64")
    assert len({before, python, key()}) == 3


@pytest.fixture
def libraries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with libraries that are found before those that are installed."""
    place = folder / "libraries"
    for library in LIBRARIES:
        (place / library).mkdir(parents=True)
        (place / library / "__init__.py").write_text("")
        (place / f"{library.title()}-1.0.dist-info").mkdir()
        (place / f"{library.title()}-1.0.dist-info/RECORD").write_text(f"{library}/__init__.py,sha256=1,0\n")
        monkeypatch.delitem(sys.modules, library, raising=False)
    monkeypatch.syspath_prepend(place)
    return place


def test_other_libraries_have_another_key(libraries: Path) -> None:
    found = [key()]
    for library in LIBRARIES:
        (libraries / f"{library.title()}-1.0.dist-info").rename(libraries / f"{library.title()}-1.1.dist-info")
        found.append(key())
        (libraries / f"{library.title()}-1.1.dist-info/RECORD").write_text(f"{library}/__init__.py,sha256=2,0\n")
        found.append(key())
    assert len(set(found)) == len(found)


def test_without_a_record_there_is_no_key(libraries: Path) -> None:
    shutil.rmtree(libraries / "Islpy-1.0.dist-info")
    request = parse(["f.c", "-I", "include"])
    assert installed("islpy") is None and installed("pcpp") is not None
    assert _Asked.of(request, prepare(request)).key() is None


def test_the_libraries_that_make_kernels_are_known() -> None:
    """All that polytile depends on, but for what runs kernels, prints messages or finds this folder."""
    pyproject = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    listed = pyproject.partition("dependencies = [")[2].partition("]")[0]
    names = {line.strip().strip('",').partition(">")[0] for line in listed.splitlines() if line.strip()}
    assert set(LIBRARIES) | {"numpy", "platformdirs", "pygments", "rich"} == names
    assert all(installed(library) for library in LIBRARIES)


def test_all_own_files_are_hashed() -> None:
    package = key_module.PACKAGE
    names = {path[len(str(package)) + 1 :] for path in key_module._files(str(package))}
    assert names >= {"api.py", "frontend/include/math.h", "codegen/passes/driver.py", "scheduling/candidate.py"}
    assert any(name.endswith(".j2") for name in names) and not any("__pycache__" in name for name in names)
    assert hash_own_files() == own_files()
