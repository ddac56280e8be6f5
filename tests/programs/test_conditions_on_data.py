"""Scalars that are set again, and sums that are added to, under conditions on data leave their loops parallel."""

from __future__ import annotations

import pytest

import polytile

CHECKS = "address,undefined,race,uninitialised"
PROGRAMS = {
    "a scalar set again": (
        "int n, double a[n], double b[n]",
        "for (int i = 0; i < n; i++) { double s = a[i]; if (s < 0) s = -s; b[i] = 2 * s; }",
    ),
    "of the function": (
        "int n, float a[n], float b[n]",
        "for (int i = 0; i < n; i++) { x = a[i]; if (x > 0.5f) { x = 0.5f; b[i] = x; } else if (x < 0) b[i] = -x; }",
    ),
    "of the function, where the condition holds": (
        "int n, float a[n], float b[n], float c[n]",
        "for (int i = 0; i < n; i++) if (a[i] > b[i]) { x = a[i] - b[i] * c[i]; c[i] += x; a[i] = x;"
        " for (int j = 0; j < 2; j++) { x = c[i] + j; b[i] += x; } }",
    ),
    "two scalars": (
        "int n, int a[n], int b[n]",
        "for (int i = 0; i < n; i++) { int s = a[i], t = 1; if (s < 0) { s = -s; t = -1; } if (s > 3) t += s;"
        " b[i] = s * t; }",
    ),
    "an inner loop resets it": (
        "int n, double a[n][n], double b[n]",
        "for (int i = 0; i < n; i++) { x = 0; for (int j = 0; j < n; j++) { x += a[i][j]; if (x > 1) x = 0; }"
        " b[i] = x; }",
    ),
    "a sum of some": (
        "int n, double a[n], double b[1]",
        "for (int i = 0; i < n; i++) if (a[i] > 0) b[0] += a[i];",
    ),
    "a count": (
        "int n, float a[n], int b[1]",
        "for (int i = 0; i < n; i++) if (a[i] > 0 && a[i] < 0.7f) b[0]++;",
    ),
    "sums of some in rows": (
        "int n, double a[n][n], double b[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (a[i][j] < 0) b[i] -= a[i][j] * a[i][j];",
    ),
    "a sum of several terms": (
        "int n, double a[n], double b[1]",
        "for (int i = 0; i < n; i++) b[0] = b[0] + a[i] - 0.5 * a[n - 1 - i] + 1;",
    ),
    "a sum of several terms of narrower types": (
        "int n, unsigned a[n], float b[n], long c[1], double d[1]",
        "for (int i = 0; i < n; i++) { c[0] = c[0] + a[i] - a[n - 1 - i] * 3; d[0] = d[0] + b[i] - a[i] + 1e8f; }",
    ),
    "terms whose sum would overflow": (
        "int n, int a[n], int b[1]",
        "b[0] = -1500000000; for (int i = 0; i < n; i++)"
        " b[0] = b[0] + (1 - i % 2 * 2) * 1500000000 - (i % 2 * 2 - 1) * 1500000000 + 0 * a[i];",
    ),
    "a product of some": (
        "int n, unsigned a[n], unsigned b[1]",
        "for (int i = 0; i < n; i++) if (a[i] % 2) b[0] = b[0] * a[i] * 3;",
    ),
    "sum, count and greatest of some": (
        "int n, double a[n][n], unsigned char mask[n][n], double b[2], int c[1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { if (!mask[i][j]) continue;"
        " b[0] += a[i][j]; c[0]++; }"
        " for (int i = 0; i < n; i++) if (mask[i][0]) { b[1] = 2 * b[1] - b[1] * 1; if (a[i][0] > x) x = a[i][0]; }",
    ),
    "the greatest of few, in wider types": (
        "int n, int a[n], long b[1], double c[1], unsigned d[1], unsigned char e[n]",
        "b[0] = -5000000000; c[0] = -1e300; d[0] = 3; for (int i = 0; i < n; i++) {"
        " if (a[i] > 1000) { if (a[i] > b[0]) b[0] = a[i]; c[0] = c[0] < a[i] ? a[i] : c[0]; }"
        " if (e[i] % 4 == 1 && e[i] > d[0]) d[0] = e[i]; }",
    ),
    "bits that some have, in a wider type": (
        "int n, unsigned a[n], unsigned long b[1]",
        "b[0] = 0x123456789abcdef0; for (int i = 0; i < n; i++) if (a[i] > 1000000) b[0] &= a[i];",
    ),
    "a branch that decides on what it changes": (
        "int n, double a[n], double b[n]",
        "for (int i = 0; i < n; i++) if (a[i] > 0.5) { a[i] -= 0.5; b[i] += a[i]; }",
    ),
    "the greatest of some": (
        "int n, double a[n], double b[1]",
        "for (int i = 0; i < n; i++) if (a[i] < 0.9) b[0] = a[i] > b[0] ? a[i] : b[0];",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_are_parallel_and_right(name: str) -> None:
    arguments, body = PROGRAMS[name]
    element = "float" if "float" in arguments else "double"
    text = f"void f({arguments})\n{{\n{element} x = 0;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    scop = polytile.compile(text, name="f.c").scops[0]
    assert scop.program is not None, [remark.message for remark in scop.compilation.remarks]
    for n in (0, 1, 37, 300):
        assert scop.validate(on="emulator", parameters={"n": n}, seed=n + 1, sanitize=CHECKS)


@pytest.mark.quick
def test_a_value_from_the_iteration_before_keeps_a_loop_in_order() -> None:
    """Where the condition does not hold, x is that of the iteration before."""
    text = """
    void f(int n, double a[n], double b[n])
    {
        double x = 0;
    #pragma scop
        for (int i = 0; i < n; i++) { if (a[i] > 0) x = a[i]; b[i] = x; }
    #pragma endscop
    }
    """
    assert polytile.compile(text, name="f.c").scops[0].program is None
