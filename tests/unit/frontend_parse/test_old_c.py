"""Headers of POSIX, `[static 1]`, and C from before C99."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError

LOOP = "#pragma scop\nfor (int i = 0; i < n; i++) a[i] = 1;\n#pragma endscop\n"


def test_headers_of_files() -> None:
    text = (
        "#include <fcntl.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
        "int f(int n, double *a, const char *path)\n{\nstruct stat found;\n"
        "int file = open(path, O_RDONLY | O_CREAT, S_IRUSR);\nif (fstat(file, &found) != 0) return 1;\n"
        f"{LOOP}return close(file) + (int) found.st_size;\n}}\n"
    )
    (scop,) = polytile.compile(text).scops
    assert scop.program is not None


def test_a_least_extent_is_no_extent() -> None:
    (scop,) = polytile.compile(f"void f(int n, double a[static 1])\n{{\n{LOOP}}}\n", strict=True).scops
    assert scop.scop.array("a").extents == (None,)
    for report in scop.validate(on="emulator", parameters={"n": 9}, seed=1):
        assert report.bitwise and not report.note


def test_a_least_extent_of_a_size_is_taken_for_the_extent() -> None:
    (scop,) = polytile.compile(f"void f(int n, double a[static n])\n{{\n{LOOP}}}\n").scops
    assert scop.scop.array("a").extents != (None,)


@pytest.mark.parametrize("definition", ["main(argc) int argc; { return 0; }", "main()\n{ return 0; }"])
def test_functions_without_a_type(definition: str) -> None:
    try:
        polytile.compile(f"void f(int n, double *a)\n{{\n{LOOP}}}\n{definition}\n")
    except UserError as error:
        assert "'main' is defined without a type" in error.message
        assert error.hint is not None and "int main(...)" in error.hint
