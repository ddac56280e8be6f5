"""Programs of several files: what is generated for one of them has no name that another one's has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polytile.cli.main import main
from polytile.frontend.linkage import Linkage
from polytile.frontend.parse import parse
from polytile.frontend.preprocess import preprocess

PART = """\
static void smooth(int n, double A[n], double B[n])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        B[i] = FACTOR * (A[i - 1] + A[i + 1]);
#pragma endscop
}
void NAME(int n, double A[n], double B[n]) { smooth(n, A, B); }
"""
HALVE, DOUBLE = (PART.replace("NAME", name).replace("FACTOR", by) for name, by in (("halve", "0.5"), ("twice", "2")))
MAIN = """\
#include <stdio.h>
#define N 300
void halve(int n, double A[n], double B[n]);
void twice(int n, double A[n], double B[n]);
int main(void)
{
    static double A[N], B[N];
    for (int i = 0; i < N; i++)
        A[i] = i * i % 17;
    halve(N, A, B);
    twice(N, B, A);
    for (int i = 0; i < N; i++)
        printf("%g %g\\n", A[i], B[i]);
    return 0;
}
"""
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on PATH")


def output(executable: Path) -> str:
    return subprocess.run([executable], capture_output=True, text=True, timeout=60, check=True).stdout


def polytile(source: Path, *options: str | Path) -> None:
    out = source.parent / "out"
    assert main([str(source), "-o", str(out), *map(str, options)]) == 0, f"{source} with {options}"


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize(
    "files",
    [
        {"a/part.c": HALVE, "b/part.c": DOUBLE, "c/main.c": MAIN},  # equal stems
        {"a/halve.c": HALVE, "b/main.c": DOUBLE + MAIN},
    ],
    ids=["neither has main", "one has main"],
)
def test_files_with_a_static_function_of_the_same_name_are_linked(files: dict[str, str], tmp_path: Path) -> None:
    sources = [tmp_path / name for name in files]
    for source, text in zip(sources, files.values(), strict=True):
        source.parent.mkdir()
        source.write_text(text)
    subprocess.run(["gcc", *sources, "-o", tmp_path / "before"], check=True, timeout=60)

    first, second, *others = sources
    polytile(first)
    made = [first.parent / "out" / f"{first.stem}_{ending}" for ending in ("host.c", "kernel.cu")]
    link = [word for file in (*made, *others) for word in ("--link", file)]
    polytile(second, "--build", tmp_path / "after", "--on", "emulator", *link)
    assert output(tmp_path / "after") == output(tmp_path / "before")


def linkage(text: str) -> Linkage:
    return Linkage.of(parse(preprocess("part.c", text)))


@pytest.mark.parametrize(
    "text",
    [
        "static void f(void) {} void g(void) { f(); }",
        "static void f(void); void f(void) {} void g(void) { f(); }",
        "inline void f(void) {} void g(void) { f(); }",
        "static void f(void) {}",
    ],
)
def test_functions_that_other_files_may_have_too_are_marked(text: str) -> None:
    found = linkage(text)
    assert found.unique("f") == f"f_{found.mark}" and len(found.mark) == 8
    assert found.unique("g") == "g"


def test_the_mark_is_that_of_the_definitions_which_the_linker_sees() -> None:
    text = "extern int from; int of(void); static int own; static void f(int n) {} int g;"
    found = linkage(text)
    assert found.mark == linkage(text.replace("own", "mine").replace("int of(void);", "")).mark
    assert found.mark != linkage(text.replace("int g", "int h")).mark
    assert found.mark != linkage(text + " void h(void) {}").mark


def test_a_file_with_main_has_names_of_its_own_without_marks() -> None:
    assert linkage("static void f(void) {} int main(void) { f(); }").unique("f") == "f"
