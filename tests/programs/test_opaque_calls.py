"""Calls that may do anything run on the host, in their order, and loops without them beside them are kernels: programs
built before and after print the same."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import OpaqueCallError, UserError

DECLARED = """
#include <stdio.h>
#include <stdlib.h>
extern double weigh(double x);
extern int index_of(int i);
extern void change(int n, double *x);
extern int stop(int t, double x);
extern int (*chosen)(int);
double total;
"""
ELSEWHERE = """
extern double total;
static int calls;
double weigh(double x) { total += x; return 0.5 * x + calls++; }
int index_of(int i) { calls += 2; return i / 2; }
void change(int n, double *x) { for (int i = 0; i < n; i++) x[i] += 1 + total + calls; }
int stop(int t, double x) { return t > 5 || x > 1e6; }
static int next(int x) { return x + 1 + calls; }
int (*chosen)(int) = next;
"""
# The body of each SCoP, and how many SCoPs without calls there are in it.
PROGRAMS = {
    "loops between calls": (
        "for (int i = 0; i < n; i++) A[i] = i * 0.25; change(n, A); for (int i = 0; i < n; i++) B[i] = A[i] * 2;",
        2,
    ),
    "a call in a time loop": (
        "for (int t = 0; t < 4; t++) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " C[i][j] = 0.5 * C[i][j] + A[j]; for (int i = 1; i < n; i++) A[i] = C[i][i - 1]; change(n, A); }",
        1,
    ),
    "a value from a call": (
        "for (int i = 0; i < n; i++) A[i] = weigh(B[i]); for (int i = 0; i < n; i++) B[i] = A[i] + total;",
        1,
    ),
    "a subscript from a call": ("for (int i = 0; i < n; i++) A[index_of(i)] = i;", 0),
    "a bound from a call": (
        "for (int i = 0; i < index_of(n); i++) A[i] = i; for (int i = 0; i < n; i++) B[i] = A[i];",
        1,
    ),
    "a condition from a call": (
        "for (int t = 0; t < 9; t++) { if (stop(t, A[0])) break; for (int i = 0; i < n; i++) A[i] = A[i] * 2 + t; }",
        1,
    ),
    "while": (
        "int t = 0; while (!stop(t, A[0])) { for (int i = 0; i < n; i++) A[i] += B[i] * t; t++; }",
        1,
    ),
    "addresses": (
        "for (int i = 0; i < n; i++) { double s = i; change(1, &s); A[i] = s; } change(n > 0, &A[0]);"
        " for (int i = 0; i < n; i++) B[i] = A[i] - 1;",
        1,
    ),
    "memory from a call": (
        "for (int t = 0; t < 3; t++) { double *own = (double *)malloc(n * sizeof(double) + 8); change(n, A);"
        " for (int i = 0; i < n; i++) own[i] = A[i] + t; change(n, own);"
        " for (int i = 0; i < n; i++) A[i] = own[i] * 2; free(own); }",
        2,
    ),
    "through a pointer": (
        "for (int i = 0; i < n; i++) A[i] = chosen(i); chosen(0); for (int i = 0; i < n; i++) B[i] = A[i] - 1;",
        1,
    ),
    "strings": ('for (int i = 0; i < n; i++) B[i] = 1.5 * i; printf("%d\\n", n); printf("%s", "done\\n");', 1),
    "scalars before and behind": (
        "double s = 0; for (int i = 0; i < n; i++) s += A[i]; total = s; s = weigh(s);"
        " for (int i = 0; i < n; i++) B[i] = A[i] + s;",
        2,
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


def whole(body: str, n: int) -> str:
    head = "void f(int n, double A[n], double B[n], double C[n][n])"
    return (
        f"{DECLARED}{head}\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}"
        f"""
int main(void)
{{
    int n = {n};
    double *A = malloc((n + 1) * sizeof *A), *B = malloc((n + 1) * sizeof *B), *C = malloc((n * n + 1) * sizeof *C);
    for (int i = 0; i < n; i++) {{ A[i] = i % 7; B[i] = 0.5 * i; }}
    for (int i = 0; i < n * n; i++) C[i] = i % 5;
    f(n, A, B, (double (*)[n]) C);
    for (int i = 0; i < n; i++) printf("%.17g %.17g\\n", A[i], B[i]);
    for (int i = 0; i < n * n; i++) printf("%.17g\\n", C[i]);
    printf("%.17g\\n", total);
    return 0;
}}
"""
    )


def printed(*command: str | Path) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_prints_the_same(name: str, tmp_path: Path) -> None:
    gcc = shutil.which("gcc") or shutil.which("cc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    body, expected = PROGRAMS[name]
    elsewhere = tmp_path / "elsewhere.c"
    elsewhere.write_text(ELSEWHERE)
    for n in (0, 1, 7, 40):
        source = tmp_path / f"program{n}.c"
        source.write_text(whole(body, n))
        printed(gcc, "-std=gnu99", "-ffp-contract=off", source, elsewhere, "-o", tmp_path / "before", "-lm")
        if expected:
            compiled = polytile.compile(source, strict=True, raise_bugs=True)
            assert len(compiled.scops) == expected
            assert all(isinstance(refusal, OpaqueCallError) for refusal in compiled.refusals)
            compiled.build(tmp_path / "after", on="emulator", link=[elsewhere])
            assert printed(tmp_path / "after") == printed(tmp_path / "before")
        else:
            with pytest.raises(OpaqueCallError):
                polytile.compile(source)


def test_what_is_refused_beside_a_call_stays_refused() -> None:
    text = (
        "void g(int);\nvoid f(int n, double a[n])\n{\n#pragma scop\ng(n);\nfor (int i = 0; i < n; i++) a[i * i] = 1;\n"
        "for (int i = 0; i < n; i++) a[i] = 2;\n#pragma endscop\n}\n"
    )
    program = polytile.compile(text, name="f.c")
    call, product = program.refusals
    assert isinstance(call, OpaqueCallError) and not isinstance(product, OpaqueCallError)
    assert isinstance(product, UserError) and product.location is not None and product.location.line == 6
    assert program.marked == (product,)
    assert len(program.scops) == 1


@pytest.mark.quick
def test_each_call_is_said_once() -> None:
    text = (
        "void g(int);\nvoid h(int);\nvoid f(int n)\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) { g(i); h(i); g(i); }\nfor (int i = 0; i < n; i++) h(i);\n#pragma endscop\n}\n"
    )
    with pytest.raises(OpaqueCallError, match="the call of `g` may do anything"):
        polytile.compile(text, name="f.c")


def test_what_is_passed_to_a_call_need_not_be_what_kernels_can_use() -> None:
    text = (
        "int solve(double **y, long double x);\nvoid f(int n, double ***y, long double *x, double a[n])\n{\nint k;\n"
        "#pragma scop\nfor (int i = 0; i < n; i++) k = solve(y[i], x[i]);\n"
        "for (int i = 0; i < n; i++) a[i] = %s;\n#pragma endscop\n}\n"
    )
    program = polytile.compile(text % "2", name="f.c")
    (call,) = program.refusals
    assert isinstance(call, OpaqueCallError) and call.location is not None and call.location.line == 6
    assert len(program.scops) == 1
    _, pointer = polytile.compile(text % "2; for (int i = 0; i < n; i++) a[i] = x[i]", name="f.c").refusals
    assert not isinstance(pointer, OpaqueCallError) and "cannot be used in a SCoP" in str(pointer)
