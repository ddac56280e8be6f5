"""Pointers to rows of arrays and to arrays in structs, which blocks declare."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule

STRUCT = "struct body { double at[3], mass; struct { float w[2][4]; } more; };\n"
PROGRAMS: Mapping[str, tuple[str, str]] = {
    "a row": (
        "double a[n][m]",
        "for (int i = 0; i < n; i++) { double *row = a[i]; for (int j = 0; j < m; j++) row[j] += j; }",
    ),
    "from an element on": (
        "double a[n][m + 1], double b[n][m + 1]",
        "for (int i = 0; i < n; i++) { const double *v = &b[i][1]; double *w = &a[i][0];"
        " for (int j = 0; j < m; j++) w[j] = v[j] - *v; *w = 0; }",
    ),
    "vectors": (
        "float a[n][3]",
        "for (int i = 0; i < n; i++) { float *v = a[i]; float l = 1 + v[0] * v[0] + v[1] * v[1] + v[2] * v[2];"
        " v[0] /= l; v[1] /= l; v[2] /= l; }",
    ),
    "arrays in structs": (
        "struct body p[n]",
        "for (int i = 0; i < n; i++) { double *x = p[i].at; float *w = p[i].more.w[1];"
        " x[0] += p[i].mass; x[2] = x[1]; w[3] = x[0]; }",
    ),
    "a struct in a row": (
        "struct body p[n][4]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) {"
        " struct body *q = &p[i][j]; q->mass = 2; q->at[1] = j; }",
    ),
    "its first element": (
        "double a[n][m + 1]",
        "for (int i = 0; i < n; i++) { double *row = a[i]; *row = i; for (int j = 0; j < m; j++) row[j] += *row; }",
    ),
    "several of one array": (
        "double a[n][m + 2]",
        "for (int i = 0; i < n; i++) { double *u = a[i], *v = &a[i][1], *w = &a[i][2];"
        " for (int j = 0; j < m; j++) w[j] = v[j] - *u; }",
    ),
    "one in another": (
        "double a[n][m][3]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { double *v = a[i][j]; { double *w = a[i][j];"
        " w[0] = v[1]; } v[2] += 1; }",
    ),
}
SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (7, 9), (70, 40)))


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_c(name: str) -> None:
    assert not same_in_every_schedule(STRUCT + _source(*PROGRAMS[name]), SIZES)


OTHERS = {
    "it moves": "double *v = a[i]; v++; *v = 0;",
    "its row changes": "int k = i; double *v = a[k]; k = 0; v[0] = k;",
    "it is handed on": "double *v = a[i]; double *w = v; w[0] = 0;",
    "its subscript is read": "double *v = a[(int)a[i][0]]; v[0] = 0;",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", OTHERS)
def test_other_pointers_stay(name: str) -> None:
    text = _source("double a[n][m]", f"for (int i = 0; i < n; i++) {{ {OTHERS[name]} }}")
    with pytest.raises(UserError, match="pointer"):
        polytile.compile(text, name="f.c")


def test_its_row_changes_in_a_function() -> None:
    text = (
        "int at;\nvoid move(void) { at = 7; }\nvoid f(double a[9][9])\n{\n"
        "#pragma scop\nat = 2;\n{ double *v = a[at]; move(); v[0] = 1; }\n#pragma endscop\n}\n"
    )
    with pytest.raises(UserError, match="pointer"):
        polytile.compile(text, name="f.c")


def _source(arguments: str, body: str) -> str:
    return f"void f(int n, int m, {arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
