"""`while` and `do` loops that count are `for` loops."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (7, 9), (70, 40)))
PROGRAMS = {
    "while": ("double a[n + 9], double b[n]", "i = 0; while (i < n) { a[i] = 2 * b[i]; i++; }"),
    "counting down": ("double a[n + 9], double b[n]", "i = n - 1; while (i >= 0) { a[i] = 2 * b[i]; i = i - 1; }"),
    "in steps": ("double a[n + 9], double b[n]", "int k = 1; while (n > k) { a[k] = 2 * b[k]; k += 3; }"),
    "in loops": (
        "double a[n][m], double b[n][m]",
        "i = 0; while (i < n) { int j = 0; while (j <= m - 1) { a[i][j] = b[i][j]; j++; } i++; }",
    ),
    "in a for loop": (
        "double a[n][m], double b[n][m]",
        "for (i = 0; i < n; i++) { j = i; while (j < m) { if (i > 2) a[i][j] += b[i][j]; ++j; } }",
    ),
    "something between": (
        "double a[n + 9], double b[n]",
        "i = 1; a[0] = 3; for (j = 0; j < m; j++) a[0] += 1; while (i < n) { a[i] = b[i]; i++; }",
    ),
    "do": ("double a[n + 9], double b[n + 1]", "i = 0; do { a[i] = 2 * b[i]; i++; } while (i < n);"),
    "do downwards": ("double a[n + 9], double b[n + 9]", "i = n; do { a[i] = b[i]; i -= 2; } while (i > 0);"),
    "do from a size": ("double a[n + m + 9], double b[n + m + 9]", "i = m; do { a[i] = b[i]; i++; } while (i < n);"),
    "do in a loop": (
        "double a[n + 9][m + 9], double b[m + 9]",
        "for (i = 0; i < n; i++) { j = i; do { a[i][j] = b[j]; j++; } while (j < m && j < i + 5); }",
    ),
    "a loop with a break in it": (
        "double a[n + 9], double b[n + 1]",
        "for (i = 0; i < n; i++) a[i] = i; i = 0;"
        " while (i < n) { for (j = 0; j < n; j++) { if (b[j] > 1) break; a[i] += b[j]; } i++; }",
    ),
    "up to a product": (
        "double a[n + 9], double b[n + 1]",
        "for (j = 0; j < n; j++) { i = 0; while (i * j < n && i < n) { a[j] += b[i]; i++; } a[j] *= 2; }",
    ),
    "up to a square, used behind it": (
        "int a[n + 9], int b[n + 1]",
        "for (j = 0; j < n; j++) { i = 0; while (i < n && i * i < j) { a[j] += b[i]; i += 2; } a[j] -= i; b[j] = i; }",
    ),
    "up to a product alone, used behind it": (
        "int a[n + 9], const int b[n + 1]",
        "for (j = 0; j < n; j++) { i = 1; while (i < j * j) { a[j] += b[j] * i; i++; } a[j] += i; }",
    ),
    "a loop in it": (
        "double a[n + 9], double b[n + 1]",
        "for (j = 0; j < n; j++) { i = 0; while (i < n - j * j) { for (int k = 0; k < i; k++) a[j] += b[k]; i++; } }",
    ),
    "do to a product": (
        "double a[n + 9], double b[n + 1]",
        "for (j = 0; j < n; j++) { i = j; do { a[j] += b[i]; i++; } while (i < n && i * j < m); }",
    ),
    "a step that doubles": (
        "double a[n + 9], double b[n + 1]",
        "for (j = 0; j < n; j++) { i = j; while (i < n) { a[j] += b[i]; i = i * 2 + 1; } }",
    ),
    "a step that hides another variable": (
        "double a[n + 9], double b[n + 1]",
        "for (j = 0; j < m; j++) { i = 0; while (i < n) { int j = 2; a[i] += b[i] * j; i += j; } }",
    ),
    "a value that only the body has": (
        "int a[n + 9], const int b[n + 1]",
        "for (j = 0; j < n; j++) { int x = b[j], y = 12; while (y) { int t = x % y; x = y; y = t; } a[j] = x; }",
    ),
    "a header without a first value": ("double a[n + 9], double b[n]", "i = 2; for (; i < n; i++) a[i] = 2 * b[i];"),
    "a header with two variables": (
        "double a[n + 9], double b[n + 9]",
        "for (int k = 0, l = n - 1; k < n; ++k, l--) { if (b[k] < 0) continue; a[k] = b[l]; }",
    ),
    "a header with two variables in a loop": (
        "double a[n + 9], double b[n + 9]",
        "for (j = 0; j < m; j++) for (int l = 3, k = 0; k < n; k += 2, l++) a[k] += l * b[k];",
    ),
    "a header with two variables, one of them hidden": (
        "double a[n + 9], double b[n + 9]",
        "for (i = 0, j = 5; i < n; i++, j++) { b[i] = j; int j = 3; a[i] = j; }",
    ),
    "down to 0 in the condition": (
        "double a[n + 9], double b[n + 9]",
        "for (int k = n; k--;) a[k] = 2 * b[k];"
        " for (unsigned k = m; k-- > 0;) { if (b[k % 9] < 0) continue; a[k % 9] += k; }",
    ),
    "under a condition on data": (
        "double a[n + 9], double b[n + 1]",
        "for (j = 0; j < n; j++) if (b[j] > 0) { int k = 0; while (k < n / 2 && k * m < j) { a[j] += b[k]; k++; } }",
    ),
}


def source(arguments: str, body: str) -> str:
    return f"void f(int n, int m, {arguments})\n{{\nint i, j;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    text = source(*PROGRAMS[name])
    if name == "do in a loop":
        text = text.replace("#pragma scop\n", "#pragma scop\n#pragma polytile assume(m >= n)\n")
    scop = polytile.compile(text, name="f.c", strict=True).scops[0]
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    same_as_c(scop, [s for s in SIZES if name != "do in a loop" or s["m"] >= s["n"]])


BEFORE = {
    "a number": ("int i = 3;", "for (; i < n; i++) a[i] = 2 * b[i];"),
    "another variable": ("int i = m;", "while (i < n) { a[i] = 2 * b[i]; i++; }"),
    "a value that is computed": ("int i = (m * m) % 5;", "for (; i < n; i += 2) a[i] = 2 * b[i];"),
    "a parameter": ("", "while (m < n) { a[m] = 2 * b[m]; ++m; }"),
    "something between": ("int i = 1, j;", "for (j = 0; j < n; j++) a[j] = 7; while (i < n) { a[i] -= b[i]; i++; }"),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", BEFORE)
def test_first_values_from_before(name: str) -> None:
    before, body = BEFORE[name]
    text = f"void f(int n, int m, double *a, double *b)\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    first = [p.name for p in scop.scop.parameters if p.name.endswith("_first")]
    assert bool(first) == (name in ("a value that is computed", "a parameter"))
    same_as_c(scop, [{"n": n, **dict.fromkeys(["m", *first], m)} for n, m in ((0, 0), (1, 1), (9, 2), (70, 40))])


FUNCTIONS = "int i;\nstatic double value(void) { return i; }\nstatic void set(void) { i = 3; }\n"
CALLS = {
    "sees the first value": "i = 0; a[0] = value(); while (i < n) { a[i + 1] = i; i++; }",
    "sets another one": "i = 0; set(); while (i < n) { a[i] = i; i++; }",
    "sets the first one": "set(); for (; i < n; i++) a[i] = i;",
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", CALLS)
def test_a_function_uses_the_iterator(name: str) -> None:
    body = f"{CALLS[name]}\nfor (int k = 0; k < 9; k++) b[k] = k;"
    text = f"{FUNCTIONS}void f(int n, double a[n + 9], double b[9])\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    for n in (0, 2, 9):
        assert all(report.bitwise for report in scop.validate(on="emulator", parameters={"n": n}, seed=n))


def test_a_first_value_of_a_name_that_is_declared_behind_it() -> None:
    text = source("double a[n + 9]", "for (int k = m, m = 5; k < n; k++) a[k] = m;")
    with pytest.raises(UserError):
        polytile.compile(text, name="f.c")


def test_loops_that_count_are_detected() -> None:
    text = (
        "void f(int n, double *a)\n{\nint i = 0;\nwhile (i < n) { a[i] = 1; i++; }\n"
        "i = n; do { i--; a[i] = 2; } while (a[i] < 1);\n}\n"
    )
    (scop,) = polytile.compile(text, name="f.c", autodetect=True).scops
    assert scop.program is not None and scop.scop.span is not None and scop.scop.span.first_line == 4


REFUSED = {
    "return": ("i = 0; while (i < n) { if (x[i] > 0) return; i++; }", "`return` is not allowed"),
    "goto": ("i = 0; again: while (x[i] > 1) { x[i] = x[i] / 2; if (i < n) goto again; }", "a label is not allowed"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    text = f"void f(int n, double x[n + 1])\n{{\nint i = 3, j, k = 2;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    with pytest.raises(UserError) as error:
        polytile.compile(text, name="f.c")
    shown = str(error.value)
    assert message in shown
    assert "\n  note: " in shown
    assert shown.splitlines()[2].strip() == "^"
