"""Reads by products and unrelated strides: any element of an array that the SCoP only reads may be meant."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "a product of iterators": (
        "double y[n][n], const double x[400]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i][j] = x[i * j];",
    ),
    "unrelated strides": (
        "double y[n][n], const double x[400], int s, int w",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i][j] = x[i * w + j * s] + x[i];",
    ),
    "under a condition": (
        "int y[n][n], const int x[400], int s, int w",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int k = j * 2 * w, ok = k < 80 && i > 0;"
        " y[i][j] = ok ? x[k + i * s] : -1; }",
    ),
    "rows that would be single": (
        "int y[n][n], const int x[400], int w",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int k = j * w - i, ok = k >= 0 && k < 80 && i > 0;"
        " y[i][j] = ok ? x[k + i * w] : -1; }",
    ),
    "bits": (
        "double y[n], const double x[64]",
        "for (int i = 0; i < n; i++) y[i] = x[i ^ 1] + x[i | 3] + x[(1 << (i & 3)) + i];",
    ),
    "remainders and quotients": (
        "double y[n], const double x[n], const double w[400], int s, int d",
        "for (int i = 0; i < n; i++) y[i] = x[i * s % n] + w[i / d] + w[i * i / 3] + w[(int)(0.5 * i)];",
    ),
    "unsigned ones": (
        "double y[n], const double x[64], unsigned w",
        "for (unsigned i = 0; i < n; i++) y[i] = x[(i * w) % 64] + x[(i * 2654435761u) >> 26];",
    ),
    "columns": (
        "double y[n][n], const double x[n][32]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i][j] = x[i * j % n][j ^ i];",
    ),
    "data in bit operations": (
        "int y[n], const int p[n], const int x[16], int h[16]",
        "for (int i = 0; i < n; i++) { y[i] = x[(p[i] ^ i) & 15] + x[(int)(0.5 * (p[i] & 7))];"
        " h[(p[i] ^ 1) & 15] += 1; }",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_c(name: str) -> None:
    arguments, body = PROGRAMS[name]
    text = f"void f(int n, {arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert scop.program is not None and scop.scop.checked in ("", "n >= 0")
    same_as_c(scop, [{"n": n, "s": 3, "w": 5, "d": 2} for n in (0, 1, 7, 20)])


@pytest.mark.quick
def test_what_is_written_too_is_refused() -> None:
    arguments, body = PROGRAMS["unrelated strides"]
    arguments, body = arguments.replace("const ", ""), body.replace("x[i];", "i; x[0] = 1;")
    with pytest.raises(UserError, match="unrelated strides"):
        polytile.compile(f"void f(int n, {arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n", name="f.c")


@pytest.mark.usefixtures("emulator")
def test_validation_makes_as_many_elements_as_are_read() -> None:
    text = (
        "void f(int n, int s, double *y, const double *x)\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i * n + j] = x[i * s + j * n];\n#pragma endscop\n}\n"
    )
    (scop,) = polytile.compile(text, name="f.c").scops
    (found,) = scop.validate(on="emulator", parameters={"n": 13, "s": 17})
    assert found.values["x_size"] > 12 * 17 + 12 * 13
    with pytest.raises(UserError, match="uses more elements of x than validation has made"):
        scop.validate(on="emulator", parameters={"n": 13, "s": 17, "x_size": 40})
