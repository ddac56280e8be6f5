"""Finding SCoPs without pragmas."""

from __future__ import annotations

import pytest

from polytile.diagnostics import UserError
from polytile.frontend.program import SourceProgram, read_program


def _read(text: str) -> SourceProgram:
    return read_program("x.c", text, autodetect=True)


def _found(text: str) -> list[str]:
    return [text[s.span.start : s.span.end] for s in _read(text).scops if s.span is not None]


def test_one_loop_with_its_exact_text() -> None:
    loop = "for (int i = 0; i < n; i++) /* } */\n    { a[i] = ')'; }"
    assert _found(f"void f(int n, double *a)\n{{\n  n = n; {loop} n++;\n}}\n") == [loop]


def test_a_loop_without_braces_ends_at_its_semicolon() -> None:
    loop = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (i > j) a[i] = 0; else a[j] = a[i] + 1;"
    assert _found(f"void f(int n, double *a) {{ {loop} }}") == [loop]


def test_neighbours_are_joined() -> None:
    first, second = "for (int i = 0; i < n; i++) a[i] = 0;", "for (int j = 1; j < n; j++) a[j] += a[j - 1];"
    assert _found(f"void f(int n, double *a) {{ {first}\n\n{second} }}") == [f"{first}\n\n{second}"]


def test_a_neighbour_that_is_no_scop_stays_alone() -> None:
    good = "for (int i = 0; i < n; i++) a[i] = 0;"
    bad = "for (int i = 0; i < n; i++) puts(s);"
    text = f"#include <stdio.h>\nvoid f(int n, double *a, char *s) {{ {good} {good} {bad} {good} }}"
    program = _read(text)
    assert [text[s.span.start : s.span.end] for s in program.scops if s.span] == [f"{good} {good}", good]
    assert len(program.remarks) == 1
    assert not program.refusals


def test_inner_loops_of_a_refused_loop_are_tried() -> None:
    inner = "for (int i = 0; i < n; i++) a[i] += t;"
    text = f'#include <stdio.h>\nvoid f(int n, double *a) {{ for (int t = 0; t < 9; t++) {{ puts(""); {inner} }} }}'
    assert _found(text) == [inner]


def test_loops_that_macros_make_are_refused() -> None:
    text = "#define FOR(i, n) for (int i = 0; i < n; i++)\nvoid f(int n, double *a) { FOR(i, n) a[i] = 0; }"
    with pytest.raises(UserError, match="a macro or a directive hides"):
        _read(text)


def test_loops_across_directives_are_refused() -> None:
    text = (
        "void f(int n, double *a) {\nfor (int i = 0; i < n; i++) {\n#ifdef X\na[i] = 1;\n#else\na[i] = 2;\n#endif\n}\n}"
    )
    with pytest.raises(UserError, match="a macro or a directive hides"):
        _read(text)


def test_functions_with_pragmas_are_left_to_them() -> None:
    loop = "for (int i = 0; i < n; i++) a[i] = 0;"
    marked = f"void f(int n, double *a) {{ {loop}\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    text = f"{marked}void g(int n, double *a) {{ {loop} }}\n"
    assert [s.name for s in _read(text).scops] == ["f_scop0", "g_scop0"]


def test_nothing_found() -> None:
    with pytest.raises(UserError, match="no SCoP in this file"):
        _read("int main(void) { return 0; }")


def test_loops_beside_a_line_directive_are_refused_at_the_directive() -> None:
    loops = "void {}(int n, double *A) {{\n    for (int i = 0; i < n; i++) A[i] = 1;\n}}\n"
    with pytest.raises(UserError, match=r"x\.c:7:1: beside '#line' no SCoP"):
        _read(loops.format("f") + "/*\n#line 9\n*/\n#line 1\n" + loops.format("g"))
