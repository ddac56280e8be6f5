"""The host file: the user's text with calls in it, compiled by a strict C compiler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polytile.codegen.hostfile import host_file
from polytile.diagnostics import InternalError
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop, Span

Programs = Mapping[str, Callable[[], HostProgram]]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]

SOURCE = """\
#include <stdio.h>

struct point { double x; _Bool flag; double new; };

static double weight(int k) { return 1.0 / (k + 1); }

static void axpy(int n, double z[n], const double *x, const double *y, double a)
{
    int i;
    if (n > 0) {
#pragma scop
        for (i = 0; i < n; i++)
            z[i] = x[i] + a * y[i];
#pragma endscop
    }
}

static double total(int n, double *x)
{
    double s = 0, w[10];
    #pragma scop
    for (int k = 0; k < 10; k++) w[k] = weight(k);
    for (int i = 0; i < n; i++) s += x[i] * w[0];
    #pragma endscop
    return s;
}

static void shift(int n, struct point *p, struct point o)
{
    for (int i = 0; i < n; i++) p[i].new += o.x;
}

int main(void)
{
    double z[8], x[8] = {1, 2}, y[8] = {3};
    struct point p[2] = {{0, 0, 0}, {0, 0, 0}}, o = {0.5, 0, 0};
    axpy(8, z, x, y, 2.0); shift(2, p, o);
    printf("%g %g line %d\\n", total(8, z), p[1].new, __LINE__); return 0;
}
"""


def scop(text: str, first: str, last: str) -> Scop:
    """A SCoP that takes `text` from the start of `first` to the end of `last`."""
    start = text.index(first)
    end = text.index(last, start) + len(last)
    lines = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
    schedule = isl.Schedule.from_domain(isl.UnionSet("{ }"))
    return Scop("scop", (), isl.Set("{ : }"), (), (), schedule, Span(start, end, *lines))


def replaced(programs: Programs, text: str = SOURCE) -> str:
    axpy = scop(text, "#pragma scop", "#pragma endscop")
    total = scop(text, "    #pragma scop", "#pragma endscop")
    shift = scop(text, "for (int i = 0; i < n; i++) p[i]", "o.x;")
    chosen = [(shift, programs["structs"]()), (total, programs["sum"]()), (axpy, programs["axpy"]())]
    return host_file(text, "folder/user.c", chosen)


def test_text(programs: Programs, golden: Callable[[str, str], None]) -> None:
    golden("codegen/user_host.c", replaced(programs))


def test_everything_else_stays_as_it_was(programs: Programs) -> None:
    pieces = SOURCE.split("#pragma scop")[0], SOURCE[SOURCE.index("int main(void)") :]
    text = replaced(programs)
    assert text.startswith(pieces[0])
    assert text.endswith(pieces[1])


def test_line_ends_of_the_file_are_kept(programs: Programs) -> None:
    text = replaced(programs, SOURCE.replace("\n", "\r\n"))
    assert text.replace("\r\n", "\n") == replaced(programs)
    assert "\n" not in text.replace("\r\n", "")


def test_a_file_without_replacements_is_the_file() -> None:
    assert host_file(SOURCE, "user.c", []) == SOURCE


def test_the_source_that_ends_the_file(programs: Programs) -> None:
    text = "#pragma scop\nx();\n#pragma endscop"
    out = host_file(text, "a\\b.c", [(scop(text, "#pragma scop", "#pragma endscop"), programs["window"]())])
    assert out.splitlines()[-2:] == ['#line 3 "a\\\\b.c"', "}"]
    assert not out.endswith("\n")


def test_overlapping_scops_are_a_bug(programs: Programs) -> None:
    one = scop(SOURCE, "#pragma scop", "#pragma endscop")
    with pytest.raises(InternalError, match="overlap"):
        host_file(SOURCE, "user.c", [(one, programs["axpy"]()), (one, programs["axpy"]())])
    with pytest.raises(InternalError, match="no place"):
        host_file(SOURCE, "user.c", [(replace(one, span=None), programs["axpy"]())])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on PATH")
def test_a_strict_compiler_has_nothing_to_say(programs: Programs, tmp_path: Path) -> None:
    host = tmp_path / "user_host.c"
    host.write_text(replaced(programs))
    command = ["gcc", *STRICT, "-c", str(host), "-o", str(tmp_path / "host.o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
