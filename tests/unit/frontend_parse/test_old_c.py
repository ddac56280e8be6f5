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


OLD = {
    "functions": f"main(argc) int argc; {{ return 0; }}\nvoid f(int n, double *a)\n{{\n{LOOP}}}\n",
    "a function without parameters": f"void f(int n, double *a)\n{{\n{LOOP}}}\nmain()\n{{ return 0; }}\n",
    "a pointer": f"*g(k) {{ return 0; }}\nstatic *p;\nvoid f(int n, double *a)\n{{\n{LOOP}}}\n",
    "declarations of functions": f"g(); static h(int x), k();\nvoid f(int n, double *a)\n{{\n{LOOP}}}\n",
    "objects": f"n; extern m; static t[4]; const one = 1;\nvoid f(double *a)\n{{\n{LOOP}}}\n",
    "locals": f"void f(double *a)\n{{\nauto j; register n = 10; static k;\n{LOOP}}}\n",
    "listed parameters": f"f(a, n) double *a;\n{{\n{LOOP}return 0;\n}}\n",
    "a parameter": f"static f(register n, double *a)\n{{\n{LOOP}return 0;\n}}\n",
    "members and names of types": f"typedef T; struct s {{ const k; }};\nvoid f(T n, double *a)\n{{\n{LOOP}}}\n",
}


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", OLD)
def test_what_has_no_type_is_an_int(name: str) -> None:
    (scop,) = polytile.compile(OLD[name], strict=True).scops
    assert [array.name for array in scop.scop.arrays] == ["a"]
    sizes = {} if name == "locals" else {"n": 9}
    for report in scop.validate(on="emulator", parameters=sizes, seed=1):
        assert report.bitwise and not report.note


def test_the_first_declaration_that_no_type_mends_is_named() -> None:
    program = polytile.compile(f"static p;\nstatic (*q)(void);\nvoid f(int n, double *a)\n{{\n{LOOP}}}\n")
    (lost,) = program.unread
    assert lost.error.message == "'q' is declared without a type, as C before C99 allowed"
    assert lost.error.location is not None
    assert (lost.error.location.line, lost.error.location.column) == (2, 9)
    assert lost.error.hint is not None and "`int q`" in lost.error.hint


def test_very_many_declarations_without_a_type_are_read() -> None:
    many = "".join(f"static n{k};\n" for k in range(40))
    program = polytile.compile(f"{many}void f(int n, double *a)\n{{\n{LOOP}}}\n")
    assert not program.unread and len(program.scops) == 1


@pytest.mark.parametrize("text", ["FOO(x)\n", "int (\n"])
def test_other_errors_stay_what_they_are(text: str) -> None:
    with pytest.raises(UserError, match="syntax error"):
        polytile.compile(f"{text}void f(int n, double *a)\n{{\n{LOOP}}}\n")


@pytest.mark.parametrize("text", ["missing x;\n", "static n;\nint k = = 2;\n"])
def test_other_errors_in_declarations_cost_these(text: str) -> None:
    program = polytile.compile(f"{text}void f(int n, double *a)\n{{\n{LOOP}}}\n")
    (lost,) = program.unread
    assert "syntax error" in lost.error.message and len(program.scops) == 1
    assert lost.error.location is not None and lost.error.location.line == text.count("\n")
