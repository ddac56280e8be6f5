"""Values that kernels get as they are, and writes through pointers that may reach them: the host compares addresses."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import polytile
from tests.same_output import prints_the_same

FILE = """
#include <stdio.h>
#include <stdlib.h>
#include <complex.h>
struct inner { double s; int n; };
struct cfg { double s; int n; unsigned flags; char c; double v[3]; struct inner in; };
struct image { int w, h; unsigned char *data; };
double g = 1;
double data[64];
int w = 8;
unsigned u = 7;
char letter = 3;
static int hidden = 6, known = 5;
extern const int fixed;
const int fixed = 4;
int grid[3] = {2, 5, 7};
struct cfg whole = {1, 6, 5, 4, {1, 2, 3}, {2, 5}};
double _Complex z = 1 + 2 * I;
unsigned char *bytes;
"""
SHOW = 'for (int i = 0; i < 64; i++) printf("%g ", data[i]); printf("\\n");'


@dataclass(frozen=True)
class Case:
    function: str  # with one SCoP
    calls: tuple[str, ...]  # each after data is set to 0
    checks: tuple[tuple[str, tuple[str, ...]], ...]  # the places that the host compares, with arrays
    kernels: tuple[int, ...]  # the calls in which kernels run


def case(function: str, calls: list[str], checks: Mapping[str, tuple[str, ...]], kernels: list[int]) -> Case:
    return Case(function, tuple(calls), tuple(checks.items()), tuple(kernels))


CASES: Mapping[str, Case] = {
    "a scalar": case(
        "void f(double *q, int n, double *restrict a) { SCOP for (int i = 0; i < n; i++) { *q += 1; a[i] = g; } END }",
        ["f(&g, 5, data);", "double x = 0; f(&x, 5, data);", "f(NULL, 0, data);", "f(&g, 0, data);"],
        {"g": ("q",)},
        [1, 2, 3],
    ),
    "a size": case(
        "void f(int *p, double *restrict a) { SCOP p[0] = 3; for (int i = 0; i < w; i++) a[i] = 9; END }",
        ["f(&w, data); w = 8;", "int x; f(&x, data);"],
        {"w": ("p",)},
        [1],
    ),
    "a size whose sign is another": case(
        "void f(int *p, double *restrict a) { SCOP p[0] = 3; for (int i = 0; i < u; i++) a[i] = 9; END }",
        ["f((int *)&u, data); u = 7;", "int x; f(&x, data);"],
        {"u": ("p",)},
        [1],
    ),
    "a field": case(
        "void f(int n, double *restrict a) { struct cfg c = {1, 2}; double *q = &c.s;"
        " SCOP for (int i = 0; i < n; i++) { q[0] += 1; a[i] = c.s; } END }",
        ["f(5, data);"],
        {"c.s": ("q",)},
        [],
    ),
    "another field": case(
        "void f(int n, double *restrict a) { struct cfg c = {1, 2}; double *q = &c.v[1];"
        " SCOP for (int i = 0; i < n; i++) { q[0] += 1; a[i] = c.s + c.in.s; } END }",
        ["f(5, data);"],
        {"c.s": ("q",), "c.in.s": ("q",)},
        [0],
    ),
    "arrays inside a struct": case(
        "void f(int n, double *q, double *restrict a) {"
        " SCOP for (int i = 0; i < n; i++) q[i] = 1; for (int i = 0; i < 3; i++) a[i] = whole.v[i]; END }",
        ["f(2, &whole.v[1], data);", "f(1, &whole.s, data);"],
        {"whole.v": ("q",)},
        [1],
    ),
    "structs as a whole": case(
        "void f(int n, double *q, struct cfg *b, double *restrict a) {"
        " SCOP for (int i = 0; i < n; i++) { q[0] += 1; b[i] = whole; } END"
        " for (int i = 0; i < n; i++) a[i] = b[i].v[2]; }",
        ["struct cfg b[4]; f(4, whole.v + 2, b, data);", "struct cfg b[4]; f(4, data + 20, b, data);"],
        {"whole": ("q", "b")},
        [1],
    ),
    "a struct that is written as a whole": case(
        "void f(int n, struct cfg *b, double *restrict a) { struct cfg c = {9};"
        " SCOP b[0] = c; for (int i = 0; i < n; i++) a[i] = whole.in.s; END }",
        ["f(4, &whole, data); whole.in.s = 2;", "struct cfg b; f(4, &b, data);"],
        {"whole.in.s": ("b",)},
        [1],
    ),
    "complex numbers": case(
        "void f(int n, double *q, double *restrict a) {"
        " SCOP for (int i = 0; i < n; i++) q[i] = 4; for (int i = 0; i < 3; i++) a[i] = cimag(z); END }",
        ["f(2, (double *)&z, data);", "f(2, data + 20, data);"],
        {"z": ("q",)},
        [1],
    ),
    "a local variable whose address is known": case(
        "static void set(int *x) { *x = 5; }\n"
        "void f(int *p, double *restrict a) { int n; set(&n); if (!p) p = &n;"
        " SCOP *p = 2; for (int i = 0; i < n; i++) a[i] = n; END }",
        ["f(NULL, data);", "int x; f(&x, data);"],
        {"n": ("p",)},
        [1],
    ),
    "elements of an array": case(
        "void f(int *restrict p, unsigned *q, double *restrict a) {"
        " SCOP for (int i = 0; i < 2; i++) p[i] = i; for (int i = 0; i < grid[2]; i++) a[i] = 1; END }",
        ["int x[2]; unsigned y; f(x, &y, data);"],
        {},
        [0],
    ),
    "through a pointer": case(
        "int own[4] = {1, 2, 3, 4};\n"
        "void f(const int *n, double *restrict a) {"
        " SCOP for (int i = 0; i < n[0]; i++) a[i] = n[0]; for (int i = 0; i < 4; i++) own[i] = i; END }",
        ["int x = 3; f(&x, data);", "own[1] = 9; f(&own[1], data);"],
        {"n[0]": ("own",)},
        [0],
    ),
    "a field through a pointer, where loops run": case(
        "int own[4] = {1, 2, 3, 4};\n"
        "void f(int m, const struct cfg *p, double *restrict a) {"
        " SCOP for (int i = 0; i < m; i++) for (int j = 0; j < p->n; j++) a[8 * i + j] += p->n;"
        " for (int i = 0; i < 4; i++) own[i] = i; END }",
        ["f(2, &whole, data);", "f(0, NULL, data);"],
        {"p->n": ("own",)},
        [0, 1],
    ),
    "the size of what is written": case(
        "void f(int *p, double *restrict a) { SCOP for (int i = 0; i < grid[2]; i++) { p[i] = i - 1; a[i] = 1; } END }",
        ["int x[9]; f(x, data);", "f(grid, data); grid[2] = 7;", "grid[2] = 2; f(grid, data);"],
        {"grid[2]": ("p",)},
        [0, 2],
    ),
    "a field beside what is written": case(
        "void f(struct cfg *p, int *q) { SCOP for (int i = 0; i < p->n; i++) { q[i] = i + 1; data[i] = 1; } END }",
        [
            "int x[9]; f(&whole, x);",
            "struct cfg c = {1, 3}; int x[9]; f(&c, &c.n);",
            "whole.n = 1; f(&whole, &whole.n);",
        ],
        {"p->n": ("q",)},
        [0],
    ),
    "fields beside one another": case(
        "struct vec { int n; int v[10]; struct { int k; } in; } vec = {5, {1, 2}, {3}};\n"
        "void f(struct vec *p) { SCOP for (int i = 0; i < p->n; i++) p->v[i] += p->in.k;"
        " for (int i = 0; i < vec.n; i++) vec.v[i] *= 2; END"
        " for (int i = 0; i < 10; i++) data[i] = vec.v[i] + p->v[i]; }",
        ["struct vec v = {3, {7, 8, 9, 10}, {4}}; f(&v);"],
        {"p->n": ("vec",), "vec.n": ("p",)},
        [0],
    ),
    "an image": case(
        "void f(struct image *m, int v) {"
        " SCOP for (int y = 0; y < m->h; y++) for (int x = 0; x < m->w; x++) m->data[y * m->w + x] = v + y - x; END"
        " for (int i = 0; i < 8; i++) data[i] = m->data[i]; }",
        [
            "unsigned char x[20]; struct image m = {5, 4, x}; f(&m, 9);",
            "union { struct image m; unsigned char all[64]; } u = {{3, 1}}; u.m.data = u.all; f(&u.m, 0);",
        ],
        {"m->h": ("m_data",), "m->w": ("m_data",), "m->data": ("m_data",)},
        [0],
    ),
    "an image that is not there": case(
        "void f(struct image *m, int n) {"
        " SCOP for (int i = 0; i < n; i++) for (int x = 0; x < m->w; x++) m->data[i * m->w + x] = n + x; END"
        " for (int i = 0; i < 5 * n; i++) data[i] = m->data[i]; }",
        ["unsigned char x[20]; struct image m = {5, 4, x}; f(&m, 2);", "f(NULL, 0);"],
        {"m->w": ("m_data",), "m->data": ("m_data",)},
        [0, 1],
    ),
    "characters change everything": case(
        "void f(int n, char *q, double *restrict a) {"
        " SCOP for (int i = 0; i < n; i++) q[i] = 1; for (int i = 0; i < 9; i++) a[i] = g; END }",
        ["f(8, (char *)&g, data); g = 1;", "char x[8]; f(8, x, data);"],
        {"g": ("q",)},
        [1],
    ),
    "a pointer": case(
        "void f(int n) { SCOP for (int i = 0; i < n; i++) { bytes[i] = 0; data[i] = i; } END }",
        ["unsigned char x[9]; bytes = x; f(9);"],
        {"bytes": ("bytes",)},
        [0],
    ),
    "a part of it": case(
        "void f(int n, int m, double *q, double *restrict a) {"
        " SCOP for (int i = m; i < n; i++) q[i] = i; for (int i = 0; i < 9; i++) a[i] = g; END }",
        ["f(3, 2, &g - 2, data); g = 1;", "f(9, 1, data + 20, data);", "f(0, 1, data + 20, data);"],
        {"g": ("q",)},
        [1, 2],
    ),
    "rows": case(
        "void f(int n, int m, double (*q)[m], double *restrict a) {"
        " SCOP for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i][j] = i;"
        " for (int i = 0; i < 9; i++) a[i] = g; END }",
        ["f(1, 1, (double (*)[1])&g, data); g = 1;", "f(2, 3, (double (*)[3])(data + 20), data);"],
        {"g": ("q",)},
        [1],
    ),
    "linearised, with a condition on sizes": case(
        "void f(int n, int m, double *q, double *restrict a) {"
        " SCOP for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i * w + j] = i;"
        " for (int i = 0; i < 9; i++) a[i] = g; END }",
        ["f(1, 1, &g, data); g = 1;", "f(2, 3, data + 20, data);", "f(2, 9, data + 20, data);"],
        {"g": ("q",)},
        [1],
    ),
    "a function of the file": case(
        "static void add(double *x, double y) { *x += y; }\n"
        "static void run(double *q, int n, double *a) {"
        " SCOP for (int i = 0; i < n; i++) { a[i] = g; } add(q, 2); END }\n"
        "void f(double *q, int n, double *a) { run(q, n, a); }",
        ["f(&g, 5, data); g = 1;", "double x = 0; f(&x, 5, data);", "f(data + 9, 5, data);"],
        {"g": ("a", "q")},
        [1, 2],
    ),
    "products": case(
        "void f(int n, int *q, double *restrict a) { SCOP for (int i = 0; i < n * w; i++) a[i] = 1; q[0] = 2; END }",
        ["f(2, &w, data); w = 8;", "int x; f(2, &x, data);"],
        {"w": ("q",)},
        [1],
    ),
}
NOTHING = {
    "a parameter": "void f(double *q, double x, int n, double *a) { SCOP for (int i = 0; i < n; i++) a[i] = x; END }",
    "a local": "void f(double *q) { double x = q[3]; SCOP for (int i = 0; i < 9; i++) q[i] = x; END }",
    "a variable of the file": "void f(int *q) { SCOP for (int i = 0; i < known; i++) q[i] = hidden; END }",
    "a constant": "void f(int *q) { SCOP for (int i = 0; i < fixed; i++) q[i] = fixed; END }",
    "another type": "void f(double *q) { SCOP for (int i = 0; i < w; i++) q[i] = u; END }",
    "restrict": "void f(double *restrict q) { SCOP for (int i = 0; i < 9; i++) q[i] = g; END }",
    "arrays": "void f(void) { SCOP for (int i = 0; i < 9; i++) data[i] = g; END }",
    "memory of its own": (
        "void f(void) { double *q = malloc(72); SCOP for (int i = 0; i < 9; i++) q[i] = g; END"
        " data[0] = q[8]; free(q); }"
    ),
    "only read": (
        "void f(const double *restrict q, double *restrict a) { SCOP for (int i = 0; i < w; i++) a[i] = g + *q; END }"
    ),
    "restrict as a pointer to a struct": (
        "void f(const struct cfg *restrict p) { SCOP for (int i = 0; i < p->n; i++) grid[1] += i; END }"
    ),
    "a character": "void f(int *q) { SCOP for (int i = 0; i < 9; i++) q[i] = letter; END }",
}


def _text(function: str, calls: tuple[str, ...] = ()) -> str:
    """A program that makes all calls, or the one whose number it is given."""
    function = function.replace("SCOP", "\n#pragma scop\n").replace("END", "\n#pragma endscop\n")
    clear = "for (int i = 0; i < 64; i++) data[i] = 0;"
    made = (f"if (argc < 2 || atoi(argv[1]) == {k}) {{ {clear} {call} {SHOW} }}\n" for k, call in enumerate(calls))
    return f"{FILE}{function}\nint main(int argc, char **argv) {{\n{''.join(made)}return 0;\n}}\n"


def _found(program: polytile.Program) -> list[tuple[tuple[str, tuple[str, ...]], ...]]:
    return [tuple((c.lvalue, c.arrays) for c in scop.scop.alias_checks) for scop in program.scops]


@pytest.mark.parametrize("name", CASES)
def test_the_program_prints_what_gcc_makes_it_print(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under gcc's sanitizers; kernels run wherever nothing that they get may change."""
    wanted = CASES[name]
    compiled = prints_the_same(_text(wanted.function, wanted.calls), "address,undefined", tmp_path, monkeypatch)
    assert _found(compiled) == [wanted.checks]
    monkeypatch.setenv("POLYTILE_TIMING", "1")
    runs = (subprocess.run([tmp_path / "after", str(k)], capture_output=True) for k in range(len(wanted.calls)))
    assert tuple(k for k, run in enumerate(runs) if b"kernels" in run.stderr) == wanted.kernels


@pytest.mark.quick
@pytest.mark.parametrize("name", NOTHING)
def test_what_no_pointer_leads_to_is_not_asked_for(name: str) -> None:
    program = polytile.compile(_text(NOTHING[name]), name="f.c", strict=True)
    assert _found(program) == [()]
    assert "polytile_apart" not in program.host


TWICE = """
void f(int n, double *a)
{
    for (int i = 0; i < n; i++)
        a[i] = g;
    printf("%g ", g);
    for (int i = 0; i < known; i++)
        a[i] += hidden;
}
int main(void)
{
    f(9, data);
    f(1, &g);
    for (int i = 0; i < 64; i++) printf("%g ", data[i]);
    return 0;
}
"""


def test_two_scops_of_a_function_that_are_detected(tmp_path: Path) -> None:
    """Each asks for what it reads itself."""
    source = tmp_path / "twice.c"
    source.write_text(FILE + TWICE)
    compiled = polytile.compile(source, autodetect=True)
    assert _found(compiled) == [(("g", ("a",)),), ()]
    assert "where g does not lie in a alone" in compiled.explain()
    built = compiled.build(tmp_path / "built", on="emulator")
    subprocess.run(["gcc", "-w", source, "-o", tmp_path / "plain"], check=True)
    printed = [subprocess.run([made], check=True, capture_output=True).stdout for made in (built, tmp_path / "plain")]
    assert printed[0] == printed[1]


def test_calls_from_python_pass_values() -> None:
    (scop,) = polytile.compile(_text(CASES["a scalar"].function), name="f.c").scops
    q, a = np.ones(1), np.zeros(5)
    scop(q=q, n=5, a=a, g=1.0, on="emulator")
    assert q[0] == 6 and a.tolist() == [1] * 5
    assert scop.validate(on="emulator")
