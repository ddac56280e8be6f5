"""Loops in the arguments of macros: kernels where the macro puts them into the program once, the C elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import NoScopError, UserError
from tests.same_output import prints_the_same

HEAD = """#include <stdio.h>
#define ID(...) __VA_ARGS__
#define INNER(x) ID(x)
#define NESTED(x) { INNER(x) }
#define WHEN(c, x) if (c) { x }
#define NAMED(k, x) { int v##k = 3; x }
#define AROUND(x) for (int r = 0; r < 3; r++) { c[r] += 1; printf("%d ", c[r]); x c[0] += r; }
#define PICK(a, b) b
#define TWICE(x) x x
#define WITH_TYPES(x) { int *p = b; x } { double *p = d; x }
#define SHOW(x) x puts(#x);
#define SAME(x) for (int i = 0; i < n; i++) b[i] += c[i]; x
#define SWAP(x, y) y x
#define AT(a, i) a[i]
int b[32], c[32];
double d[32];
"""
LOOP = "for (int i = 0; i < n; i++) b[i] += c[i];"
TAKEN = {
    "variadic": "ID(for (int i = 0; i < n; i++) { c[i] -= 1, b[i] += 1; }) b[0] += 5;",
    "nested": f"NESTED({LOOP}) c[1] += 4;",
    "second": f"WHEN(n > 10, {LOOP}) c[2] += 1;",
    "pasted_beside": "NAMED(1, for (int i = 0; i < n; i++) b[i] += c[i] * v1;)",
    "inside_of_a_loop": f"AROUND({LOOP})",
    "picked": f"PICK(for (int i = 0; i < n; i++) b[i] += 7;, {LOOP})",
    "macros_inside": "ID(for (int i = 0; i < n; i++) AT(b, i) += AT(c, i);)",
    "in_front_of_a_loop": f"ID({LOOP}) for (int i = 0; i < n; i++) b[i] *= 3;",
}
# Compilers number all lines of a call like its first one.
ON_LINES = "ID(\n  c[0] += 1; // first\n  for (int i = 0; i < n; i++) // each\n    b[i] += c[i];\n  c[3] += 2;\n)"
LEFT = {
    "twice": "TWICE(for (int i = 0; i < n; i++) b[i] += c[i];)",
    "twice_of_two_types": "WITH_TYPES(for (int i = 0; i < n; i++) p[i] += c[i];)",
    "printed": "SHOW(for (int i = 0; i < n; i++) b[i] += c[i];)",
    "the_same_loop_before": "SAME(for (int i = 0; i < n; i++) b[i] += c[i];)",
}


def test_loops_that_a_macro_puts_into_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = {**TAKEN, "on_lines": ON_LINES}
    functions = "".join(f"void {name}(int n)\n{{\n    {body}\n}}\n" for name, body in bodies.items())
    calls = " ".join(f"{name}(20); {name}(7);" for name in bodies)
    end = 'printf("%d\\n", __LINE__); for (int k = 0; k < 32; k++) printf("%d %d ", b[k], c[k]); return 0;'
    start = "for (int k = 0; k < 32; k++) { b[k] = k; c[k] = 3 * k; }"
    text = f"{HEAD}{functions}int main(void)\n{{\n{start}\n{calls}\n{end}\n}}\n"
    program = prints_the_same(text, "", tmp_path, monkeypatch, autodetect=True)
    compiled = {scop.name.rpartition("_scop")[0]: scop for scop in program.scops}
    assert compiled.keys() >= TAKEN.keys()
    for name in TAKEN:
        (found,) = compiled[name].validate(on="emulator", seed=1)
        assert not found.note


@pytest.mark.parametrize("name", LEFT)
def test_loops_that_a_macro_puts_elsewhere_stay_c(name: str) -> None:
    with pytest.raises(NoScopError, match="more with it than putting it into the program once"):
        polytile.compile(f"{HEAD}void f(int n)\n{{\n    {LEFT[name]}\n}}\n", autodetect=True)


@pytest.mark.quick
def test_macros_cannot_be_put_aside_in_arguments() -> None:
    with pytest.raises(NoScopError, match="cannot stand in the arguments of a macro"):
        polytile.compile(f"#define exit leave\n{HEAD}void f(int n) {{ ID({LOOP}) }}\n", autodetect=True)


def test_pragmas_stand_around_the_call() -> None:
    inside = f"void f(int n)\n{{\n    ID(\n#pragma scop\n    {LOOP}\n#pragma endscop\n    )\n}}\n"
    with pytest.raises(UserError, match="in the arguments of a macro"):
        polytile.compile(HEAD + inside)
    around = f"void f(int n)\n{{\n#pragma scop\n    ID({LOOP})\n#pragma endscop\n}}\n"
    assert polytile.compile(HEAD + around).scops
