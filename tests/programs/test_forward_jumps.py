"""`goto` forwards in a block is a condition, out of a loop to what follows it is `break`."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 130, "m": 40})
ARRAYS = "double a[n], double b[n], double c[n]"
PROGRAMS = {
    "over one statement": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (b[i] < 0) goto next; a[i] = b[i]; next: c[i] = a[i] + 1; }",
    ),
    "to the end": (ARRAYS, "for (int i = 0; i < n; i++) { if (b[i] < 0) goto end; a[i] = b[i]; end: ; }"),
    "two ways that meet": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (b[i] < 0) goto less; a[i] = b[i]; goto both; less: a[i] = -b[i];"
        " both: c[i] = a[i] * 2; }",
    ),
    "two labels": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (a[i] > 0) goto L2; if (b[i] > 0) goto L1; a[i] += c[i]; L1: b[i] += 1;"
        " L2: c[i] += b[i]; }",
    ),
    "both branches": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (a[i] > 0) { goto L1; } else { goto L2; } L1: b[i] = 1; goto L3;"
        " L2: c[i] = 2; L3: ; }",
    ),
    "under conditions on iterators": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (i % 3 == 1) goto L1; if (i > m) { a[i] = 2; goto L2; } b[i] = 3;"
        " L1: c[i] = 4; L2: a[i] += i; }",
    ),
    "with continue": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (b[i] < 0) goto L1; if (a[i] < 0) continue; a[i] = 1; L1: c[i] = a[i]; }",
    ),
    "several labels at one place": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { if (b[i] < 0) goto L1; if (a[i] < 0) goto L2; a[i] = 1; L1: L2: c[i] = a[i]; }",
    ),
    "a switch that jumps": (
        "int k[n], " + ARRAYS,
        "for (int i = 0; i < n; i++) { switch (k[i]) { case 1: goto L1; case 2: goto L2; case -1: goto L3; }"
        " L1: a[i] = 1; goto L4; L2: b[i] = 2; goto L4; L3: c[i] = 3; L4: ; }",
    ),
    "declared before it": (
        ARRAYS,
        "for (int i = 0; i < n; i++) { double t = a[i] * b[i]; if (t < 0) goto L; t = t * t; L: c[i] = t; }",
    ),
    "out of a loop": (
        "double a[n][m + 1], int b[n]",
        "for (int i = 0; i < n; i++) { b[i] = -1; for (int j = 0; j < m; j++) if (a[i][j] > 0.5) { b[i] = j; goto L; }"
        " L: b[i] += 10; }",
    ),
    "around loops": (
        "double a[n][m + 1], double b[n]",
        "for (int i = 0; i < n; i++) { if (i == m) goto L; for (int j = 0; j < m; j++) a[i][j] = i + j;"
        " L: b[i] = a[i][0]; }",
    ),
    "in the block of the SCoP": (
        ARRAYS,
        "if (n < m) goto small; for (int i = 0; i < n; i++) a[i] = b[i]; goto end;"
        " small: for (int i = 0; i < n; i++) a[i] = c[i]; end: ;",
    ),
}
SERIAL: dict[str, list[str]] = {}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    assert same_in_every_schedule(source(*PROGRAMS[name]), SIZES) == SERIAL.get(name, [])


REFUSED = {
    "backwards": "int i = 0; L: a[i] = 1; i++; if (i < n) goto L;",
    "out of two loops": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (a[j] > i) goto L; L: a[0] = 1;"
    ),
    "over a declaration": (
        "for (int i = 0; i < n; i++) { if (a[i] > 0) goto L; double t = 1; a[i] = t; L: t = 3; a[i] += t; }"
    ),
    "to a label outside": "for (int i = 0; i < n; i++) if (a[i] > 0) goto end;",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    text = f"void f(int n, double a[n])\n{{\n#pragma scop\n{REFUSED[name]}\n#pragma endscop\nend: a[0] = 2;\n}}\n"
    with pytest.raises(UserError, match=r"(`goto`|a label) is not allowed"):
        polytile.compile(text, name="f.c")


def test_a_label_that_is_reached_from_outside_is_refused() -> None:
    text = (
        "void f(int n, double a[n + 1])\n{\nif (n > 9) goto in;\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] = 0;\n"
        "in: a[n] = 1;\n#pragma endscop\n}\n"
    )
    with pytest.raises(UserError, match="a label is not allowed"):
        polytile.compile(text, name="f.c")
