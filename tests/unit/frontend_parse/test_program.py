"""Reading whole files: several SCoPs, spans, names, refusals, assumptions."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from pycparser.c_generator import CGenerator

from polytile.diagnostics import Location, UserError
from polytile.frontend.program import read_program
from polytile.frontend.source import read_regions

SUITE = sorted((Path(__file__).parents[3] / "polybench" / "polybench").glob("*.c"))
TWO = """#include <stdio.h>
int scop_count;
int f_scop0;

void f(int n, double *a)
{
  #pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
  #pragma endscop // done
    scop_count++;
#pragma scop
    for (int i = 0; i < n; i++)
        puts("no");
#pragma endscop
}

void g(int n, double *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 1;
#pragma endscop
}
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_spans_cover_whole_lines(ends: str) -> None:
    text = TWO.replace("\n", ends)
    program = read_program("x.c", text)
    assert program.text == text
    first, last = (text[s.span.start : s.span.end] for s in program.scops if s.span is not None)
    assert first.startswith("  #pragma scop")
    assert first.endswith("#pragma endscop // done")
    assert last == ends.join(TWO.split("\n")[19:23])


def test_names_are_unique_and_free() -> None:
    program = read_program("x.c", TWO)
    assert [s.name for s in program.scops] == ["f_scop1", "g_scop0"]


def test_a_refused_scop_does_not_stop_the_others() -> None:
    (refusal,) = read_program("x.c", TWO).refusals
    assert refusal.span is not None
    assert (refusal.span.first_line, refusal.span.last_line) == (12, 15)
    assert refusal.error.location == Location("x.c", 14, 9)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(TWO.encode())))
    program = read_program("-")
    assert program.path == "<stdin>"
    assert len(program.scops) == 2
    assert "puts" in str(program.refusals[0].error)


def test_bytes_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "x.c"
    content = b'/* caf\xe9 */ const char *s = "\xe9";\n' + TWO.encode()
    file.write_bytes(content)
    assert read_program(str(file)).text.encode("utf-8", "surrogateescape") == content


def test_assumptions_in_force() -> None:
    text = """
#define N 100
#pragma polytile assume(n >= 2 * N)
void f(int n, int m, double *a)
{
#pragma polytile assume(m >= 4)
    __builtin_assume(n < 1000);
    __builtin_assume(m < 1000);
    m = 2 * m;
    if (n) { __builtin_assume(n < 500); }
#pragma scop
#pragma polytile assume(m > n)
    for (int i = 0; i < n; i++) {
        __builtin_assume(i < m);
        a[i] = 1;
    }
#pragma endscop
}
"""
    (region,) = read_regions("x.c", text)
    printed = [CGenerator().visit(a) for a in region.assumptions]
    assert printed == ["n >= (2 * 100)", "n < 1000", "m > n"]
    assert "assume" not in CGenerator().visit(region.body[0])


def test_labels_cases_and_nested_blocks_may_hold_scops() -> None:
    loop = "#pragma scop\nfor (int i = 0; i < n; i++) a[i] = 0;\n#pragma endscop\n"
    text = (
        f"void f(int n, double *a) {{\nstart:\n{loop}switch (n) {{ case 1:\n{loop}break; }}\nif (n) {{\n{loop}}}\n}}\n"
    )
    assert len(read_program("x.c", text).scops) == 3


def test_old_style_definitions() -> None:
    loop = "for (int i = 0; i < n; i++) a[i] = 0;"
    text = f"void f(n, a)\n int n; double *a;\n{{\n#pragma scop\n {loop}\n#pragma endscop\n}}\n"
    assert len(read_program("x.c", text).scops) == 1


def test_long_expressions_are_read() -> None:
    total = " + ".join(f"b[i + {k}]" for k in range(400))
    loop = f"for (int i = 0; i < n; i++) a[i] = {total};"
    text = f"void f(int n, double *a, double *b) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    assert len(read_program("x.c", text).scops) == 1


@pytest.mark.slow(but="jacobi-2d")
@pytest.mark.parametrize("file", SUITE, ids=lambda f: f.stem)
def test_both_preprocessors_read_the_suite_alike(file: Path) -> None:
    system, fallback = read_program(str(file)), read_program(str(file), preprocessor="pcpp")
    assert [s.source for s in system.scops] == [s.source for s in fallback.scops]
    assert [s.location for s in system.scops] == [s.location for s in fallback.scops]


def test_no_input_file() -> None:
    with pytest.raises(UserError, match="cannot read"):
        read_program("/nowhere/x.c")
