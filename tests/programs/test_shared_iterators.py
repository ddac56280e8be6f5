"""Iterators that several loops share with loops that data end, and with other code."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (7, 9), (40, 30)))
ARGUMENTS = "double a[n + 1][n + 1], double y[n + 9], const int p[n + 1]"
WHILE = "i = 0; while (i < n && a[j][i] > 0) i++; y[j] = i;"
PROGRAMS = {
    "dead before it is set": f"for (i = 0; i < n; i++) y[i] = 1; for (j = 0; j < n; j++) {{ {WHILE} }}",
    "dead in the loop": f"for (j = 0; j < n; j++) {{ for (i = 0; i < n; i++) a[j][i] *= 2; {WHILE} }}",
    "a loop with a break": (
        "for (j = 0; j < n; j++) { for (i = 0; i < n; i++) a[j][i] += i;"
        " for (i = 0; i < n; i++) if (a[j][i] > 3) break; y[j] = i; }"
    ),
    "read behind it": f"for (j = 0; j < n; j++) {{ {WHILE} for (i = 1; i <= n; i += 2) y[i] += a[j][i]; y[j] += i; }}",
    "read in the next iteration": (
        f"i = 1; for (j = 0; j < n; j++) {{ y[j + 1] = i; {WHILE} for (i = n; i > m; i--) a[i][j] = 3; }}"
    ),
    "set in one branch": (
        f"for (j = 0; j < n; j++) {{ {WHILE} for (i = 0; i < n; i++) a[j][i] = 1; if (p[j] > 4) i = 3; y[j] += i; }}"
    ),
    "set in both branches": (
        f"for (j = 0; j < n; j++) {{ {WHILE} for (i = 0; i < p[j]; i++) y[j] += 1;"
        " if (p[j] > 4) i = 3; else i = j; y[j] += i; }"
    ),
    "not set where a jump goes": (
        f"for (j = 0; j < n; j++) {{ {WHILE} for (i = 0; i < n; i++) a[j][i] = 1;"
        " int k = 0; while (k < 3) { k++; if (a[j][k % (n + 1)] > 0) break; i = 2; } y[j] += i; }"
    ),
    "in a loop that data end": (
        f"for (j = 0; j < n; j++) {{ int k = 0; while (k < p[j]) {{ for (i = 0; i < 3; i++) y[i + j] += k; k++; }}"
        f" {WHILE} }}"
    ),
    "up to an iterator": (
        f"for (int k = 0; k < n; k++) {{ for (i = 0; i < k; i++) y[k] += i; y[i] += 2; j = k; {WHILE} }}"
    ),
}


def source(body: str, end: str = "return 0;") -> str:
    return f"int f(int n, int m, {ARGUMENTS})\n{{\nint i, j;\n#pragma scop\n{body}\n#pragma endscop\n{end}\n}}\n"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    (scop,) = polytile.compile(source(PROGRAMS[name]), name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    same_as_c(scop, SIZES)


@pytest.mark.usefixtures("emulator")
def test_the_last_value_after_the_scop() -> None:
    text = source(f"for (j = 0; j < n; j++) {{ {WHILE} }} for (i = 2; i < n; i++) y[i] *= 2;", "return i;")
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None
    same_as_c(scop, SIZES)


REFUSED = {
    "a last value of two ends, read behind it": (
        f"for (j = 0; j < n; j++) {{ {WHILE} for (i = 0; i < n && i < m; i++) y[i] = 1; y[0] = i; }}"
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        polytile.compile(source(REFUSED[name]), name="f.c")
