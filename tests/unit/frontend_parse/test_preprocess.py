"""Preprocessing: macros, headers, and the way back to the user's lines and columns."""

from __future__ import annotations

import platform
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pycparser import c_ast

from polytile.diagnostics import Location, UserError
from polytile.frontend import preprocess as module
from polytile.frontend.parse import location_of, nodes_below, parse
from polytile.frontend.preprocess import INCLUDE, preprocess

BOTH = pytest.mark.parametrize("preprocessor", ["auto", "pcpp"])
HEADERS = sorted(str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob("*.h"))


def _places(text: str, preprocessor: str) -> dict[str, Location]:
    """Where each identifier first stands."""
    tree = parse(preprocess("x.c", text, preprocessor=preprocessor)).tree
    places: dict[str, Location] = {}
    for node in nodes_below(tree):
        if isinstance(node, c_ast.ID):
            places.setdefault(node.name, location_of(node))
    return places


@BOTH
def test_every_shipped_header_parses_alone_and_twice(preprocessor: str) -> None:
    for header in HEADERS:
        parse(preprocess("x.c", f"#include <{header}>\n#include <{header}>\n", preprocessor=preprocessor))


@BOTH
def test_all_shipped_headers_parse_together(preprocessor: str) -> None:
    text = "".join(f"#include <{h}>\n" for h in HEADERS)
    parse(preprocess("x.c", text + "size_t n; uint8_t b; FILE *f; struct timespec t;\n", preprocessor=preprocessor))


TYPES = (
    "pthread_t", "pthread_attr_t", "pthread_mutex_t", "pthread_mutexattr_t", "pthread_cond_t", "pthread_condattr_t",
    "pthread_rwlock_t", "pthread_rwlockattr_t", "pthread_barrier_t", "pthread_barrierattr_t", "pthread_spinlock_t",
    "pthread_once_t", "pthread_key_t", "sem_t", "jmp_buf", "sigjmp_buf", "fenv_t", "fexcept_t", "mbstate_t", "wint_t",
    "wctype_t", "glob_t", "struct dirent", "struct sysinfo", "struct utsname", "struct tms", "struct timeb",
    "struct winsize", "struct tm", "struct timespec", "struct timeval", "struct lconv", "time_t", "off_t", "ssize_t",
    "mode_t", "pid_t", "clock_t", "useconds_t", "div_t", "ldiv_t",
)  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="sizes of another system")
def test_types_of_shipped_headers_are_as_large_as_the_systems(tmp_path: Path) -> None:
    """Structs with locks in them have elements where C has them."""
    headers = [h for h in HEADERS if h not in ("omp.h", "tgmath.h")]
    text = "#define _GNU_SOURCE\n" + "".join(f"#include <{h}>\n" for h in headers)
    sizes = ", ".join(f"sizeof({t})" for t in TYPES)
    (tmp_path / "sizes.c").write_text(f"{text}const unsigned long sizes[] = {{ {sizes} }};\n")
    found = []
    for options in (["-nostdinc", f"-I{INCLUDE}"], []):
        command = ["gcc", "-w", "-S", *options, "-o", "-", str(tmp_path / "sizes.c")]
        made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found.append(re.findall(r"\.quad\s+(\d+)", made))
    assert len(found[0]) == len(TYPES) and found[0] == found[1]


def test_headers_of_the_system_serve_where_none_is_shipped() -> None:
    if not Path("/usr/include/netdb.h").exists():
        pytest.skip("the C library has no netdb.h")
    tree = parse(preprocess("x.c", "#include <netdb.h>\n#include <stdio.h>\nstruct hostent *found; FILE *f;\n")).tree
    assert [d.name for d in tree.ext if isinstance(d, c_ast.Decl)][-2:] == ["found", "f"]
    with pytest.raises(UserError, match=r"x.c:1:10: .*'no_such.h'"):
        preprocess("x.c", "#include <no_such.h>\n#include <netdb.h>\n")


@BOTH
def test_columns_survive_comments_tabs_and_macros(preprocessor: str) -> None:
    text = "#define TWICE(x) ((x) + (x))\nint f(int a, int b, int c)\n{\n\treturn /* c */ TWICE(a)   +  b + c;\n}\n"
    places = _places(text, preprocessor)
    line = text.split("\n")[3]
    assert places["b"] == Location("x.c", 4, line.index("b") + 1)
    assert places["c"] == Location("x.c", 4, line.rindex("c") + 1)


@BOTH
def test_what_only_the_macro_says_is_at_the_macro(preprocessor: str) -> None:
    text = "int hidden;\n#define SUM (hidden + 1)\nint f(int a)\n{\n    return a * SUM;\n}\n"
    assert _places(text, preprocessor)["hidden"] == Location("x.c", 5, 16)


@BOTH
def test_lines_after_continuations_and_includes(preprocessor: str) -> None:
    text = "#include <stdlib.h>\n#define A \\\n  1\nint f(int\n  a, int b) {\n  return a\n    + b; }\n"
    places = _places(text, preprocessor)
    assert places["a"] == Location("x.c", 6, 10)
    assert places["b"] == Location("x.c", 7, 7)


@BOTH
def test_gnu_spellings_are_read(preprocessor: str) -> None:
    text = """
    static __inline__ __attribute__((always_inline)) double g(const double *__restrict__ a, double *__restrict b)
    { return __extension__ a[0] + b[0]; }
    __signed__ int x __attribute__((aligned(64)));
    """
    parse(preprocess("x.c", text, preprocessor=preprocessor))


@BOTH
def test_defines_and_include_directories(tmp_path: Path, preprocessor: str) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("#define SIZE (2 * N)\n")
    (tmp_path / "local.h").write_text("int local;\n")
    file = tmp_path / "x.c"
    file.write_text('#include <size.h>\n#include "local.h"\nint size = SIZE;\n')
    result = preprocess(str(file), include_dirs=[str(tmp_path / "inc")], defines=["N=7"], preprocessor=preprocessor)
    assert "int size = (2 * 7);" in result.text
    assert "int local;" in result.text


@BOTH
def test_included_files_are_named_as_the_user_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preprocessor: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "bad.h").write_text("int a = (;\n")
    (tmp_path / "src" / "x.c").write_text('#include "bad.h"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        parse(preprocess("src/x.c", preprocessor=preprocessor))
    assert caught.value.location == Location("src/bad.h", 1, 10)


@BOTH
def test_the_users_own_header_wins_over_the_shipped_one(tmp_path: Path, preprocessor: str) -> None:
    (tmp_path / "math.h").write_text("int mine;\n")
    result = preprocess("x.c", "#include <math.h>\n", include_dirs=[str(tmp_path)], preprocessor=preprocessor)
    assert "int mine;" in result.text


@BOTH
def test_branches_not_taken_say_nothing(preprocessor: str) -> None:
    text = "#if 0\n#error no\n#pragma scop\n#include <nowhere.h>\n#elif 1\nint yes;\n#else\n#error no\n#endif\n"
    assert preprocess("x.c", text, preprocessor=preprocessor).text.split() == ["int", "yes;"]


@BOTH
def test_assumptions_see_macros(preprocessor: str) -> None:
    text = "#define N 8\n  #  pragma  polytile  assume(n >= N)\n"
    assert "#pragma polytile assume(n >= 8)" in preprocess("x.c", text, preprocessor=preprocessor).text


def test_crlf_and_raw_text_are_kept() -> None:
    text = "int a;\r\n#pragma scop\r\nint b;\r\n"
    result = preprocess("x.c", text)
    assert result.raw == text
    assert "#pragma scop" in result.text.split("\n")


def test_foreign_pragmas_are_dropped() -> None:
    result = preprocess("x.c", "#pragma omp parallel\n#pragma GCC ivdep\n#pragma scop\n")
    assert [line for line in result.text.split("\n") if line.strip()] == ["#pragma scop"]


def test_missing_file() -> None:
    with pytest.raises(UserError, match=r"cannot read 'no-such-file\.c'") as caught:
        preprocess("no-such-file.c")
    assert caught.value.hint


def test_a_preprocessor_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "slow-cc"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    with pytest.raises(UserError, match="did not end within"):
        preprocess("x.c", "int a;\n", preprocessor=str(slow))
