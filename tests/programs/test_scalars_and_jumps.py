"""C that computes subscripts in scalars first, and that leaves iterations by `continue`."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError

CHECKS = "address,undefined,race,uninitialised"
PROGRAMS = {
    "a linear subscript in a declared scalar": (
        "int n, int m, double *a, double *b",
        "for (i = 0; i < n; i++) for (j = 0; j < m; j++) { int k = i * m + j; a[k] = 2 * b[k]; }",
    ),
    "a linear subscript in a scalar of the function": (
        "int n, int m, double *a, double *b",
        "for (i = 0; i < n; i++) for (j = 0; j < m; j++) { k = i * m + j; l = k; a[l] = 2 * b[k] + k; }",
    ),
    "scalars assigned once": (
        "int n, int m, float a[n + 1], float b[n]",
        "for (i = 0; i < n; i++) { int p; p = i + 1; k = n - i; a[p] = b[k - 1]; if (b[i] > 0) a[p] += k; }",
    ),
    "a row's first element": (
        "int n, int m, double *a, double b[n]",
        "for (i = 0; i < n; i++) { k = i * m; for (j = 0; j < m; j++) b[i] += a[k + j]; }",
    ),
    "a scalar that an inner loop leaves": (
        "int n, int m, int a[n], int b[n]",
        "for (i = 0; i < n; i++) { int p; p = 7; for (j = 0; j < 3; j++) p = j; b[i] = p * a[i]; }",
    ),
    "continue under a condition on data": (
        "int n, int m, double a[n], double b[n]",
        "for (i = 0; i < n; i++) { if (b[i] < 0) continue; a[i] = b[i]; }",
    ),
    "continue under conditions on iterators": (
        "int n, int m, double a[n][n], double b[n]",
        "for (i = 0; i < n; i++) { for (j = 0; j < n; j++) { if (i == j) continue; b[i] += a[i][j]; }"
        " if (i < 2) continue; for (j = 0; j < i; j++) { if (a[j][i] > 0) { continue; } b[i] -= a[j][i]; } }",
    ),
    "several ways to continue": (
        "int n, int m, float a[n], float b[n], float c[n]",
        "for (i = 0; i < n; i++) { if (i == 3 || i > n - 3) continue; c[i] = b[i];"
        " if (b[i] < 0 || i % 5 == 0) continue; float t = b[i] * 2;"
        " if (t > 0.5f) { a[i] = 1; continue; } else if (t > 0.3f) a[i] = 5; a[i] += t; }",
    ),
    "a scalar that is counted": (
        "int n, int m, double a[n], double b[n]",
        "k = 0; for (i = 0; i < n; i++) { b[i] = a[k]; k++; }",
    ),
    "a label that nothing jumps to": (
        "int n, int m, int a[n], int b[n]",
        "for (i = 0; i < n; i++) { again: k = n - 1 - i; a[i] = b[k]; }",
    ),
    "continue in a block": (
        "int n, int m, int a[n], int b[n]",
        "for (i = 0; i < n; i++) {"
        " { a[i] = 1; if (i > m) { if (b[i] == 0) continue; else a[i] = 2; } } a[i] += b[i]; }",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    arguments, body = PROGRAMS[name]
    text = f"void f({arguments})\n{{\nint i, j, k, l;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    scop = polytile.compile(text, name="f.c").scops[0]
    assert scop.program is not None, [remark.message for remark in scop.compilation.remarks]
    for n, m in ((0, 0), (1, 1), (1, 5), (37, 3), (12, 70)):
        sizes = {p.name: {"n": n, "m": m}[p.name] for p in scop.scop.parameters}
        assert scop.validate(on="emulator", parameters=sizes, seed=n + 1, sanitize=CHECKS)


REFUSED = {
    "continue in a branch whose declaration hides another": (
        "for (i = 0; i < n; i++) { double v = a[i]; if (i > 2) { double v = b[i]; if (v > 0) continue; } b[i] = v; }",
        "`continue` is not allowed",
    ),
    "continue beside a declaration that hides another": (
        "for (i = 0; i < n; i++) { { double b0 = a[i]; if (b0 > 0) continue; } b[i] = a[i]; }",
        "`continue` is not allowed",
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    text = (
        "int f(int n, double a[n], double b[n])\n{\nint i, k = 0, l = 0, q;\n"
        f"#pragma scop\n{body}\n#pragma endscop\nreturn l + k;\n}}\n"
    )
    with pytest.raises(UserError, match=message):
        polytile.compile(text, name="f.c")
